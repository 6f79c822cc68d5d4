"""Roles: what each may do in the portal with which kind of row, and in which brands somebody holds one."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Model, QuerySet, prefetch_related_objects

from brands.models.people import StaffRole, User
from core.db import row_guard

M = TypeVar("M", bound=Model)

VIEW, ADD, CHANGE, DELETE, ACT = "v", "a", "c", "d", "x"  # x: the page's own actions, such as revoke or redeliver
USE = "u"  # takes codes of rewards at the till
STOP = "s"  # cancels what others started
ERASE = "e"  # takes a person out of what the brand holds
SCAN_VALUE = "m"  # sets what scans earn: points, scan limit, expiry, campaign
CORRECT = "n"  # corrects a member's name, and has them asked to confirm a new address
SUPERUSER = "superuser"

ROLES = (StaffRole.Role.OWNER, StaffRole.Role.MANAGER, StaffRole.Role.PRINTER, StaffRole.Role.SUPPORT, SUPERUSER)
# How pages write them.
VERBS = {
    "view": VIEW,
    "add": ADD,
    "change": CHANGE,
    "delete": DELETE,
    "act": ACT,
    "use": USE,
    "stop": STOP,
    "erase": ERASE,
    "set-scan-value": SCAN_VALUE,
    "correct": CORRECT,
}
# A model's label -> role -> what it may do. The portal fills it with what its pages declare (portal.site).
TABLE: dict[str, dict[str, str]] = {}


def declare(label: str, permissions: Mapping[str, str]) -> None:
    """Let roles do with the rows of a model what its page says, such as {"owner": "view add"}.

    A superuser may do what an owner may, unless it is said. Raises KeyError of an unknown verb, ValueError of an
    unknown role.
    """
    if unknown := set(permissions) - set(ROLES):
        message = f"{label}: unknown roles {sorted(unknown)}"
        raise ValueError(message)
    stated = {SUPERUSER: permissions.get(StaffRole.Role.OWNER, ""), **permissions}
    TABLE[label] = {role: "".join(VERBS[verb] for verb in stated.get(role, "").split()) for role in ROLES}


def may(role: str, verb: str, label: str) -> bool:
    """Whether `role` allows `verb` on the model `label`; what the table does not name is allowed to nobody."""
    return label in TABLE and verb in TABLE[label][role]


@dataclass(frozen=True, slots=True)
class BrandScope:
    """The brands in which somebody may do something: these, or every one, and rows of no brand too."""

    brand_ids: frozenset[int] = frozenset()
    everywhere: bool = False

    def __bool__(self) -> bool:
        return self.everywhere or bool(self.brand_ids)

    def __contains__(self, brand_id: int | None) -> bool:
        return self.everywhere or brand_id in self.brand_ids

    def __or__(self, other: "BrandScope") -> "BrandScope":
        return BrandScope(self.brand_ids | other.brand_ids, self.everywhere or other.everywhere)

    def narrowed_to(self, brand_id: int) -> "BrandScope":
        """What of it lies in one brand."""
        return BrandScope(frozenset({brand_id})) if brand_id in self else BrandScope()

    def of(self, rows: "QuerySet[M]", path: str) -> "QuerySet[M]":
        """Those of `rows` that are within reach; `path` leads from a row to its brand."""
        return rows if self.everywhere else rows.filter(**{f"{path}__in": self.brand_ids})


def brand_scope(user: Any, verbs: str, label: str) -> BrandScope:
    """Where `user` may do any of `verbs` on the model `label`: in the brand they chose to look at, or in all of theirs.

    One query per request: the user keeps the answer.
    """
    whole = full_scope(user, verbs, label)
    chosen = getattr(user, "chosen_brand_id", None)
    return whole if chosen is None else whole.narrowed_to(chosen)


def full_scope(user: Any, verbs: str, label: str) -> BrandScope:
    """The same, whichever brand they chose to look at."""
    if not (user.is_active and user.is_staff):
        return BrandScope()
    if user.is_superuser:
        return BrandScope(everywhere=any(may(SUPERUSER, verb, label) for verb in verbs))
    return BrandScope(
        frozenset(it.brand_id for it in staff_roles(user) if any(may(it.role, verb, label) for verb in verbs))
    )


@contextmanager
def guarding(user: Any) -> Iterator[None]:
    """The database's guard for what `user` reads as a member of staff: the brands they work for, whatever their roles.

    Superusers work for all of them, so no guard stands before them.
    """
    if user.is_active and user.is_staff and user.is_superuser:
        yield
        return
    rows = staff_roles(user) if user.is_active and user.is_staff else ()
    with row_guard.within((it.brand_id for it in rows), user_id=user.pk):
        yield


def staff_roles(user: User) -> Iterable[StaffRole]:
    """The roles that the user's session reaches: all of theirs, or those of one brand."""
    if "staff_roles" not in getattr(user, "_prefetched_objects_cache", ()):  # a page asks hundreds of times
        prefetch_related_objects([user], "staff_roles")
    only = user.session_brand_id
    return [it for it in user.staff_roles.all() if only in (None, it.brand_id)]
