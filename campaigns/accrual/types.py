"""The data types of an accrual: the action, the request, the result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from campaigns.accrual.snapshot import AccrualSnapshot
from campaigns.earning.action_context import ActionContext
from campaigns.progress.advance import ProgressStep
from core import json_values
from core.db.sql import Fragment
from core.json_values import json_number
from events import messages
from loyalty.orders.holds import Hold
from loyalty.points.ledger import LedgerEntry
from loyalty.points.point_limits import RemainingLimit

ZERO = Decimal(0)


class AccrualReason(NamedTuple):
    """One reason to credit points: `reason_id` is the auth code of a scan, otherwise a namespaced ID.

    `profile_field`: the field of a profile change that this reason is about. `names`: translations of the values in the
    note.
    """

    reason_id: str
    note: str
    profile_field: str = ""
    names: Mapping[str, Mapping[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class QualifyingAction:
    """What a customer did, the context that decides what it earns, and the reasons that make it count once.

    `happened_at` decides which campaigns and rules were running; `at` is when the points are credited. An action that
    is not `limited` is credited in full, whatever the brand's daily and monthly limits are. `needs_approval`: the
    brand's external loyalty system is asked first, if it has one. `needs_confirmed_email`: the brand may require a
    confirmed address. `hold`: its points are pending at first.
    """

    brand_id: int
    user_id: int
    campaign_type: str
    reasons: Sequence[AccrualReason]
    context: ActionContext
    at: datetime
    own_campaign_id: int | None = None
    limited: bool = True
    needs_approval: bool = True
    needs_confirmed_email: bool = True
    hold: Hold | None = None

    @property
    def happened_at(self) -> datetime:
        return self.context.happened_at

    @property
    def reason_ids(self) -> list[str]:
        return [reason.reason_id for reason in self.reasons]

    @property
    def requested_contexts(self) -> list[ActionContext]:
        """The context of each reason."""
        return [context_of(reason, self.context) for reason in self.reasons]


def context_of(reason: AccrualReason, context: ActionContext) -> ActionContext:
    return context._replace(profile_field=reason.profile_field) if reason.profile_field else context


@dataclass(frozen=True, slots=True)
class AccrualRequest:
    """An action and its leased event. `extra_cte` builds what the caller writes in the same statement, from the
    credited points and the limit that cut them."""

    event: messages.LeasedEvent
    action: QualifyingAction
    extra_cte: Callable[[Decimal, RemainingLimit | None], Fragment] | None = None


@dataclass(frozen=True, slots=True)
class AccrualResult:
    """What an action earns: ledger entries, points, progress and the level; `limit` if a point limit cut it."""

    entries: tuple[LedgerEntry, ...]
    points_earned: Decimal
    new_balance: Decimal
    progress: tuple[ProgressStep, ...]
    own_campaign_id: int | None
    level_updated: bool
    current_level: str
    next_level_threshold: Decimal | None
    limit: RemainingLimit | None
    uses: "RuleUses"
    points_pending: Decimal = ZERO
    settled: Decimal = ZERO  # points owed by the account, settled with the points earned
    release_at: datetime | None = None
    level_change: "LevelRise | None" = None  # None unless levels have periods

    @property
    def transaction_id(self) -> int | None:
        return self.entries[-1].number if self.entries else None

    def answer(self) -> dict[str, Any]:
        """`data` of spec 4.1, which is also stored on the event."""
        answer: dict[str, Any] = {
            "points_earned": json_number(self.points_earned),
            "new_balance": json_number(self.new_balance),
            "transaction_id": str(self.transaction_id) if self.transaction_id else None,
            "level_updated": self.level_updated,
            "current_level": self.current_level,
            "next_level_threshold": json_number(self.next_level_threshold),
        }
        if self.points_pending:
            release_at = json_values.iso(self.release_at) if self.release_at else None
            answer["pending"] = {"points": json_number(self.points_pending), "release_at": release_at}
        if self.settled:
            answer["points_settled"] = json_number(self.settled)
        if self.progress:
            campaigns = [serialize_progress(step) for step in self.progress]
            own = [each for each in campaigns if each["campaign_id"] == self.own_campaign_id]
            answer |= {"campaign_progress": (own or campaigns)[0], "campaigns": campaigns}
        if self.limit:
            answer["limit"] = {
                "period": self.limit.period,
                "max": json_number(self.limit.max),
                "used": json_number(self.limit.used),
                "resets_at": json_values.iso(self.limit.resets_at),
            }
        return answer


def serialize_progress(step: ProgressStep) -> dict[str, Any]:
    """Progress as in answers and outcomes; `progress` is in whole steps or units of the currency."""
    result = {
        "campaign_id": step.campaign.campaign_id,
        "campaign_name": step.campaign.campaign_name,
        "progress": int(step.progress),
        "target": step.campaign.target,
        "milestone_achieved": bool(step.newly_reached),
        "next_reward": step.next_reward,
    }
    if not step.campaign.is_plain:
        result |= {"exact_progress": json_number(step.progress), "step": json_number(step.step), "round": step.round}
    if step.products:
        result["products"] = list(step.products)
    return result


@dataclass(frozen=True, slots=True)
class RuleUses:
    """What rules with limits give in an accrual, as write_accruals.sql takes it: to the member, and from budgets."""

    of_member: tuple[dict[str, Any], ...] = ()
    of_budgets: tuple[dict[str, Any], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.of_member or self.of_budgets)


@dataclass(frozen=True, slots=True)
class LevelRise:
    """A level that an accrual reached, the period's points, and the level's last day (None: it does not end)."""

    before: str
    after: str
    points: Decimal
    until: date | None


@dataclass(frozen=True, slots=True)
class PendingAccrual:
    """A decided accrual that is not written yet."""

    request: AccrualRequest
    state: AccrualSnapshot
    result: AccrualResult
    followups: Sequence[messages.NewEvent]
    extra_cte: Fragment | None
