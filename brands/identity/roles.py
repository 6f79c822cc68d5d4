"""Roles: what each may do in the portal with which kind of row, and in which brands a user has one."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Model, QuerySet, prefetch_related_objects

from brands.models.people import StaffRole, User
from core.db import row_guard

M = TypeVar("M", bound=Model)

VIEW, ADD, CHANGE, DELETE, ACT = "v", "a", "c", "d", "x"  # x: the page's own actions, such as revoke or redeliver
USE = "u"  # redeems reward codes at the till
STOP = "s"  # cancels what others started
ERASE = "e"  # removes a person from the brand's data
SCAN_VALUE = "m"  # sets what scans earn: points, scan limit, expiry, campaign
CORRECT = "n"  # corrects a member's name, and requests the confirmation of a new address
SUPERUSER = "superuser"

ROLES = (StaffRole.Role.OWNER, StaffRole.Role.MANAGER, StaffRole.Role.PRINTER, StaffRole.Role.SUPPORT, SUPERUSER)
# The names that pages use.
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
# A model's label -> role -> its verbs. The portal fills it with what its model admins declare (portal.site).
TABLE: dict[str, dict[str, str]] = {}


def declare(label: str, permissions: Mapping[str, str]) -> None:
    """Grant roles what a model's page declares, such as {"owner": "view add"}.

    A superuser may do what an owner may, unless declared otherwise. Raises KeyError for an unknown verb, ValueError
    for an unknown role.
    """
    if unknown := set(permissions) - set(ROLES):
        raise ValueError(f"{label}: unknown roles {sorted(unknown)}")
    stated = {SUPERUSER: permissions.get(StaffRole.Role.OWNER, ""), **permissions}
    TABLE[label] = {role: "".join(VERBS[verb] for verb in stated.get(role, "").split()) for role in ROLES}


def may(role: str, verb: str, label: str) -> bool:
    """Whether `role` allows `verb` on the model `label`. Models that are not in the table are allowed to nobody."""
    return label in TABLE and verb in TABLE[label][role]


@dataclass(frozen=True, slots=True)
class BrandScope:
    """The brands in which a user may do something. `everywhere` means every brand, and rows without a brand, too."""

    brand_ids: frozenset[int] = frozenset()
    everywhere: bool = False

    def __bool__(self) -> bool:
        return self.everywhere or bool(self.brand_ids)

    def __contains__(self, brand_id: int | None) -> bool:
        return self.everywhere or brand_id in self.brand_ids

    def __or__(self, other: "BrandScope") -> "BrandScope":
        return BrandScope(self.brand_ids | other.brand_ids, self.everywhere or other.everywhere)

    def narrowed_to(self, brand_id: int) -> "BrandScope":
        """The part of the scope that lies in one brand."""
        return BrandScope(frozenset({brand_id})) if brand_id in self else BrandScope()

    def of(self, rows: "QuerySet[M]", path: str) -> "QuerySet[M]":
        """The `rows` within the scope; `path` leads from a row to its brand."""
        return rows if self.everywhere else rows.filter(**{f"{path}__in": self.brand_ids})


def brand_scope(user: Any, verbs: str, label: str) -> BrandScope:
    """Where `user` may do any of `verbs` on the model `label`: in the brand they selected, or in all of theirs.

    One query per request: the result is cached on the user.
    """
    whole = full_scope(user, verbs, label)
    chosen = getattr(user, "chosen_brand_id", None)
    return whole if chosen is None else whole.narrowed_to(chosen)


def full_scope(user: Any, verbs: str, label: str) -> BrandScope:
    """The same, whichever brand they selected."""
    if not (user.is_active and user.is_staff):
        return BrandScope()
    if user.is_superuser:
        return BrandScope(everywhere=any(may(SUPERUSER, verb, label) for verb in verbs))
    return BrandScope(
        frozenset(it.brand_id for it in staff_roles(user) if any(may(it.role, verb, label) for verb in verbs))
    )


@contextmanager
def guarding(user: Any) -> Iterator[None]:
    """The database guard for what `user` reads as a member of staff: the brands they work for, whatever their roles.

    Superusers work for all brands, so no guard applies to them.
    """
    if user.is_active and user.is_staff and user.is_superuser:
        yield
        return
    rows = staff_roles(user) if user.is_active and user.is_staff else ()
    with row_guard.within((it.brand_id for it in rows), user_id=user.pk):
        yield


def staff_roles(user: User) -> Iterable[StaffRole]:
    """The roles that the user's session covers: all of theirs, or those of one brand."""
    if "staff_roles" not in getattr(user, "_prefetched_objects_cache", ()):  # a page calls this hundreds of times
        prefetch_related_objects([user], "staff_roles")
    only = user.session_brand_id
    return [it for it in user.staff_roles.all() if only in (None, it.brand_id)]
