"""Roles: what each may do in the portal with which kind of row, and in which brands somebody holds one."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Model, QuerySet, prefetch_related_objects

from brands.models import Membership, User

M = TypeVar("M", bound=Model)

VIEW, ADD, CHANGE, DELETE, ACT = "v", "a", "c", "d", "x"  # x: the page's own actions, such as revoke or redeliver
SUPERUSER = "superuser"

# What is written by an action alone (scans, ledger, events) is for reading, whoever reads.
# fmt: off
COLUMNS = (Membership.Role.OWNER, Membership.Role.MANAGER, Membership.Role.PRINTER, Membership.Role.SUPPORT, SUPERUSER)
TABLE = {
    #                                  owner   manager  printer  support  superuser
    "brands.brand":                   ("vc",   "v",     "v",     "v",     "vac"),
    "brands.brandhostname":           ("v",    "v",     "v",     "v",     "vacd"),
    "brands.user":                    ("va",   "v",     "",      "v",     "vac"),
    "brands.membership":              ("vacd", "v",     "",      "",      "vacd"),
    "brands.apikey":                  ("vax",  "v",     "",      "",      "vax"),
    "campaigns.campaign":             ("vac",  "vac",   "v",     "v",     "vac"),
    "campaigns.milestone":            ("vacd", "vacd",  "v",     "v",     "vacd"),
    "campaigns.userloyaltycampaign":  ("v",    "v",     "",      "v",     "v"),
    "campaigns.rewardclaim":          ("v",    "v",     "",      "v",     "v"),
    "loyalty.brandlevel":             ("vacd", "vac",   "",      "v",     "vacd"),
    "loyalty.earningrule":            ("vacd", "vacd",  "",      "v",     "vacd"),
    "loyalty.userpoints":             ("vx",   "vx",    "",      "v",     "vx"),
    "loyalty.loyaltytransaction":     ("v",    "v",     "",      "v",     "v"),
    "loyalty.event":                  ("vx",   "vx",    "",      "v",     "vx"),
    "authcodes.product":              ("vac",  "vac",   "v",     "v",     "vac"),
    "authcodes.batchrange":           ("vac",  "vac",   "vac",   "v",     "vac"),
    "authcodes.authcode":             ("vcx",  "vcx",   "vcx",   "v",     "vcx"),
    "authcodes.recall":               ("vax",  "va",    "v",     "v",     "vax"),
    "authcodes.scan":                 ("v",    "v",     "",      "v",     "v"),
    "authcodes.import":               ("vax",  "vax",   "vax",   "v",     "vax"),
    "authcodes.job":                  ("vx",   "vx",    "vx",    "v",     "vx"),
}
# fmt: on


def may(role: str, verb: str, label: str) -> bool:
    """Whether `role` allows `verb` on the model `label`; what the table does not name is allowed to nobody."""
    return label in TABLE and verb in TABLE[label][COLUMNS.index(role)]


@dataclass(frozen=True, slots=True)
class Reach:
    """The brands in which somebody may do something: these, or every one, and rows of no brand too."""

    brand_ids: frozenset[int] = frozenset()
    everywhere: bool = False

    def __bool__(self) -> bool:
        return self.everywhere or bool(self.brand_ids)

    def __contains__(self, brand_id: int | None) -> bool:
        return self.everywhere or brand_id in self.brand_ids

    def __or__(self, other: "Reach") -> "Reach":
        return Reach(self.brand_ids | other.brand_ids, self.everywhere or other.everywhere)

    def of(self, rows: "QuerySet[M]", path: str) -> "QuerySet[M]":
        """Those of `rows` that are within reach; `path` leads from a row to its brand."""
        return rows if self.everywhere else rows.filter(**{f"{path}__in": self.brand_ids})


def reach(user: Any, verbs: str, label: str) -> Reach:
    """Where `user` may do any of `verbs` on the model `label`. One query per request: the user keeps the answer."""
    if not (user.is_active and user.is_staff):
        return Reach()
    if user.is_superuser:
        return Reach(everywhere=any(may(SUPERUSER, verb, label) for verb in verbs))
    return Reach(frozenset(it.brand_id for it in memberships(user) if any(may(it.role, verb, label) for verb in verbs)))


def memberships(user: User) -> Iterable[Membership]:
    prefetch_related_objects([user], "memberships")
    return user.memberships.all()
