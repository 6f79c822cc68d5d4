"""The movements of points in the accounting, each defined by an entry's reason and the prefix of its reason id.

A new movement is one line in MOVEMENTS: rollups, the roll-forward, the list's filter and the checks follow it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from loyalty.models.ledger import AMOUNTS
from loyalty.points import ledger

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Names of movements as column values, so that other apps can read them without this table.
BROUGHT_ALONG, EARNED, RELEASED, REFUNDED = "brought_along", "earned", "released", "refunded"
REDEEMED, EXPIRED, RETURNED, ADJUSTED_UP, ADJUSTED_DOWN = (
    "redeemed",
    "expired",
    "returned",
    "adjusted_up",
    "adjusted_down",
)
PENDING, CANCELLED, RECEIVED, SENT = "pending", "cancelled", "received", "sent"
MERGED_IN, MERGED_OUT = "merged_in", "merged_out"


@dataclass(frozen=True, slots=True)
class Movement:
    """One kind of ledger entry. `sign` is its effect on the balance; `prefix` of the reason id is empty for all others.

    `pending` is its effect on the pending points; `is_activity` marks actions that make a member active.
    """

    name: str
    label: "StrOrPromise"
    sign: int
    reason: str
    prefix: str = ""
    pending: int = 0
    is_activity: bool = False

    @property
    def condition(self) -> Q:
        """A filter for the movement's entries."""
        rows = Q(reason=self.reason)
        if self.prefix:
            return rows & Q(reason_id__startswith=self.prefix)
        for other in MOVEMENTS:
            if other.reason == self.reason and other.prefix:
                rows &= ~Q(reason_id__startswith=other.prefix)
        return rows


# In the order of the roll-forward. A prefix always takes precedence over the same reason without one.
MOVEMENTS = (
    Movement(BROUGHT_ALONG, _("Brought along"), 1, "earned", ledger.OPENING),
    Movement(EARNED, _("Earned"), 1, "earned", is_activity=True),
    Movement(RELEASED, _("Released"), 1, "released", pending=-1),
    Movement(REFUNDED, _("Refunded"), 1, "earned", ledger.RETURNED),
    Movement(REDEEMED, _("Redeemed"), -1, "redeemed", is_activity=True),
    Movement(EXPIRED, pgettext_lazy("points", "Expired"), -1, "expired"),
    Movement(RETURNED, _("Returned"), -1, "reversed"),
    Movement(ADJUSTED_UP, _("Adjusted up"), 1, "earned", ledger.ADJUSTED),
    Movement(ADJUSTED_DOWN, _("Adjusted down"), -1, "redeemed", ledger.ADJUSTED),
    # Each transfer appears as both, on two accounts of the brand, so the two cancel out.
    Movement(RECEIVED, _("Received from members"), 1, "earned", ledger.TRANSFERRED),
    Movement(SENT, _("Given to members"), -1, "redeemed", ledger.TRANSFERRED, is_activity=True),
    # Likewise for merges: the source's points move to the target.
    Movement(MERGED_IN, _("Merged in"), 1, "merged", ledger.MERGED_IN),
    Movement(MERGED_OUT, _("Merged out"), -1, "merged", ledger.MERGED_OUT),
    Movement(PENDING, _("Pending"), 0, "pending", pending=1, is_activity=True),
    Movement(CANCELLED, _("Pending, cancelled"), 0, "cancelled", pending=-1),
)
# The movements in a line of the roll-forward.
OF_BALANCE = tuple(each for each in MOVEMENTS if each.sign)
# An entry has one amount, or the same amount twice. For a merge, it is the change of the balance.
AMOUNT_SQL = (
    f"CASE t.reason WHEN 'merged' THEN abs(t.points_earned - t.points_redeemed - t.points_expired - t.points_reversed) "
    f"ELSE greatest({', '.join(f't.{name}' for name in AMOUNTS)}) END"
)
BY_NAME = {each.name: each for each in MOVEMENTS}
CHOICES = {each.name: each.label for each in MOVEMENTS}
# Earned without an action of the member: a birthday makes no member active.
WITHOUT_ACTIVITY = ("birthday:",)


def case_sql() -> str:
    """SQL for the name of the movement of a ledger entry `t`."""
    ordered = sorted(MOVEMENTS, key=lambda each: not each.prefix)
    lines = [f"WHEN {_when(each)} THEN '{each.name}'" for each in ordered]
    return f"CASE {' '.join(lines)} END"


def activity_sql() -> str:
    """SQL for whether a ledger entry `t` makes its member active."""
    active = ", ".join(f"'{each.name}'" for each in MOVEMENTS if each.is_activity)
    idle = "".join(f" AND NOT starts_with(t.reason_id, '{prefix}')" for prefix in WITHOUT_ACTIVITY)
    return f"{case_sql()} IN ({active}){idle}"


def _when(movement: Movement) -> str:
    reason = f"t.reason = '{movement.reason}'"
    return f"{reason} AND starts_with(t.reason_id, '{movement.prefix}')" if movement.prefix else reason
