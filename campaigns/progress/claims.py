"""Claims the rewards of milestones: points, or a thing with its code for the till."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from campaigns.models.campaigns import Milestone, RewardClaim
from campaigns.progress import advance
from core.db.statements import query_values
from core.errors import raises
from events import leases, messages, publishing
from loyalty.errors import LoyaltyDisabled, MemberBlocked, OutOfStock, RewardNotAvailable, RewardNotFound
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from loyalty.rewards import codes
from loyalty.rewards.grants import INSERT_GRANTED, cause_of, grant_reward, locked_account, request_key_of
from loyalty.rewards.returns import EVENT_ID_NAMESPACE

GRANT_THINGS = query_values(
    "campaigns/progress/sql/grant_things.sql", "item", insert_granted=INSERT_GRANTED, finish_locked=leases.FINISH_LOCKED
)


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A milestone's reward that the customer has: points that are being credited, or a thing with its code."""

    milestone: Milestone
    points: Decimal
    redemption: Redemption | None

    @property
    def redemption_id(self) -> int | None:
        return self.redemption.pk if self.redemption else None

    @property
    def code(self) -> str | None:
        """The code of a thing, formatted for people."""
        return codes.grouped(self.redemption.code) if self.redemption else None


@raises(RewardNotFound, RewardNotAvailable, LoyaltyDisabled, MemberBlocked, OutOfStock)
def claim(*, brand_id: int, user_id: int, milestone_id: int, at: datetime) -> ClaimResult:
    """Claim a milestone's reward that is available. A repeated call returns the same reward.

    Points are credited by a `reward-claimed` event; a thing gets a code for the till. Raises RewardNotFound,
    RewardNotAvailable, MemberBlocked, LoyaltyDisabled, and OutOfStock if the catalogue has none left: the reward then
    remains available. Owns the transaction.
    """
    rows = Milestone.objects.filter(pk=milestone_id, campaign__brand=brand_id).select_related("reward")
    milestone = rows.first()
    if milestone is None:
        raise RewardNotFound
    with transaction.atomic():
        account = locked_account(brand_id, user_id)
        taken = advance.claim(milestone_id=milestone_id, user_id=user_id, at=at)
        row = taken or RewardClaim.objects.filter(milestone=milestone, user=user_id).order_by("-round").first()
        if row is None:
            raise RewardNotAvailable(_("This milestone has not been reached yet."))
        points = milestone.reward_points if row.points is None else row.points
        if taken and points:
            publish_points(milestone, brand_id, user_id, at, points=points, milestone_round=row.round)
        elif taken:
            _grant(milestone, account, at, row.round)
        return ClaimResult(milestone, points, redemption_of(milestone, account, row.round))


def grant(event: messages.LeasedEvent, *, at: datetime) -> None:
    """Issue the code of a thing that is given automatically, once, and finish its event. Owns the transaction.

    Tries the statement of grant_many first; the remaining cases are handled here.

    If the catalogue has none left, the reward waits until the customer claims it. Raises LoyaltyDisabled, MemberBlocked
    and LeaseLostError.
    """
    if not grant_many([event], at=at):
        return
    milestone = Milestone.objects.get(pk=event.payload["milestone_id"], campaign__brand=event.brand_id)
    milestone_round = _round_of(event)
    with transaction.atomic():
        account = locked_account(event.brand_id, event.arguments["user_id"])
        if redemption_of(milestone, account, milestone_round) is None:
            try:
                with transaction.atomic():
                    _grant(milestone, account, at, milestone_round)
            except OutOfStock:
                advance.make_claimable_again(
                    milestone_id=milestone.pk, user_id=account.user_id, milestone_round=milestone_round
                )
        leases.finish(event)


def grant_many(events: Sequence[messages.LeasedEvent], *, at: datetime) -> list[messages.LeasedEvent]:
    """Like grant, for up to 100 things without special needs: one statement, which commits by itself.

    Returns the other events: for limited stock or partner codes; for members that are blocked, merged or locked by
    another transaction; for deleted milestones; and those that another attempt has taken over.
    """
    if not events:
        return []
    items = [
        {
            "item": item,
            "event_id": event.id,
            "attempts": event.attempts,
            "brand_id": event.brand_id,
            "user_id": event.arguments["user_id"],
            "milestone_id": event.payload["milestone_id"],
            "round": _round_of(event),
            "code": codes.new(),
            "request_key": str(request_key_of(event.payload["milestone_id"], _round_of(event))),
        }
        for item, event in enumerate(events)
    ]
    granted = set(GRANT_THINGS.all(items=json.dumps(items), at=at))
    return [event for item, event in enumerate(events) if item not in granted]


def _round_of(event: messages.LeasedEvent) -> int:
    """The round, which only events of repeatable campaigns name."""
    milestone_round: int = event.payload.get("round", 1)
    return milestone_round


def redemption_of(milestone: Milestone, account: UserPoints, milestone_round: int) -> Redemption | None:
    rows = Redemption.objects.filter(user_point=account, milestone_id=milestone.pk, milestone_round=milestone_round)
    return rows.first()


def _grant(milestone: Milestone, account: UserPoints, at: datetime, milestone_round: int) -> None:
    grant_reward(
        account=account,
        milestone_id=milestone.pk,
        milestone_round=milestone_round,
        name=milestone.reward_name,
        reward_id=milestone.reward_id,
        at=at,
    )


def publish_points(
    milestone: Milestone,
    brand_id: int,
    user_id: int,
    at: datetime,
    *,
    points: Decimal,
    milestone_round: int = 1,
) -> None:
    cause = cause_of(milestone.pk, milestone_round)
    owner = f"claim:{milestone.pk}:{user_id}" + (f":{milestone_round}" if milestone_round > 1 else "")
    message = messages.NewEvent(
        kind="reward-claimed",
        arguments={"brand_id": brand_id, "user_id": user_id},
        payload={
            "type": "reward",
            "milestone_id": milestone.pk,
            "campaign_id": milestone.campaign_id,
            "reward_name": milestone.reward_name,
            "points": str(points),
            **({"round": milestone_round} if milestone_round > 1 else {}),
            "cause": cause,
        },
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, owner),
    )
    publishing.publish(messages=[message], brand_id=brand_id, at=at)
