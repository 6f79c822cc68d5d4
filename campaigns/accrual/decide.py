"""Decides what an action brings, from the snapshot alone. Numbers in comments are the spec's steps of an accrual."""

from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from campaigns.accrual.followups import followup_events
from campaigns.accrual.snapshot import AccrualSnapshot
from campaigns.accrual.types import ZERO, AccrualReason, AccrualRequest, AccrualResult, PendingAccrual, QualifyingAction
from campaigns.progress.advance import advance
from core.errors import DomainError
from events import messages
from loyalty.errors import EmailNotConfirmed, LoyaltyDisabled, MemberBlocked, PointsAlreadyClaimed, UserNotEnrolled
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import accounts, levels, point_limits
from loyalty.points.ledger import LedgerEntry
from loyalty.points.point_limits import RemainingLimit

Reason = LoyaltyTransaction.Reason


def needs_no_lock(action: QualifyingAction, state: AccrualSnapshot) -> bool:
    """Whether it can be written without locking the account first: it exists, and no point limit counts."""
    return state.account is not None and not (action.limited and state.limits_points)


def can_batch(action: QualifyingAction, state: AccrualSnapshot) -> bool:
    """Whether it can be written with others in one transaction: it waits for no lock and no external system."""
    return needs_no_lock(action, state) and not needs_approval(action, state)


def needs_approval(action: QualifyingAction, state: AccrualSnapshot) -> bool:
    """Whether the brand's external loyalty system must be asked first."""
    return state.external_system is not None and action.needs_approval


def is_rejected(action: QualifyingAction, state: AccrualSnapshot) -> bool:
    try:
        check_eligible(action, state)
    except (DomainError, messages.OnHold):
        return True
    return False


def prepare(request: AccrualRequest, state: AccrualSnapshot, limit: RemainingLimit | None = None) -> PendingAccrual:
    result = decide(request.action, state, limit)
    followups = followup_events(request.event, request.action, result, state)  # 11
    extra_cte = request.extra_cte(result.points_earned, limit) if request.extra_cte else None
    return PendingAccrual(request, state, result, followups, extra_cte)


def check_eligible(action: QualifyingAction, state: AccrualSnapshot) -> None:
    """Steps 2, 3 and 5. Raises DomainError, and Held if only the customer's confirmed e-mail address is missing."""
    if not state.loyalty_active:
        raise LoyaltyDisabled
    if state.status == UserPoints.Status.BLOCKED:
        raise MemberBlocked
    if state.account is None and not state.auto_enroll:
        raise UserNotEnrolled
    if not unclaimed(action, state):
        raise PointsAlreadyClaimed
    if state.unconfirmed and action.needs_confirmed_email:
        still_holds = partial(accounts.lock_unconfirmed, user_id=action.user_id)
        raise messages.OnHold(EmailNotConfirmed(), user_id=action.user_id, still_holds=still_holds)


def unclaimed(action: QualifyingAction, state: AccrualSnapshot) -> list[AccrualReason]:
    return [reason for reason in action.reasons if reason.reason_id not in state.claimed]


def points_per_reason(action: QualifyingAction, state: AccrualSnapshot) -> Decimal:
    """Step 4: the points of one reason at the customer's level."""
    return action.points_for(levels.current_level(levels=state.levels, name=state.current_level))


def binding_limit(account: int, state: AccrualSnapshot, action: QualifyingAction) -> RemainingLimit | None:
    """The point limit that leaves less than the action would bring, if one does. Call with the account locked."""
    limit = point_limits.most_restrictive(
        account=account, zone=state.zone, daily=state.daily_point_limit, monthly=state.monthly_point_limit, at=action.at
    )
    full = points_per_reason(action, state) * len(unclaimed(action, state))
    return limit if limit and limit.left < full else None


def decide(action: QualifyingAction, state: AccrualSnapshot, limit: RemainingLimit | None) -> AccrualResult:
    """Steps 4 and 7 to 10. It reads nothing and writes nothing."""
    points = points_per_reason(action, state)  # 4
    kind = Reason.PENDING if action.hold else Reason.EARNED
    release_at = action.hold.release_at(action.at) if action.hold else None
    allocated = allocate(points, unclaimed(action, state), limit)
    entries = tuple(  # 7: the ledger
        LedgerEntry(number, share, reason.reason_id, reason.note, kind, release_at)
        for number, (reason, share) in zip(state.numbers, allocated, strict=False)
    )
    total = sum((entry.points for entry in entries), ZERO)
    awarded, pending = (ZERO, total) if action.hold else (total, ZERO)
    settled = min(state.owed, awarded)
    progress = advance(state.campaigns) if entries else ()  # 8, 9: campaigns, milestones
    lifetime = state.lifetime + awarded
    level = state.current_level
    if entries:  # 10: the level
        level = levels.level_after(levels=state.levels, name=level, lifetime=lifetime)
    next_level = levels.following(levels=state.levels, lifetime=lifetime)
    return AccrualResult(
        entries=entries,
        points_earned=awarded,
        new_balance=state.balance + awarded - settled,
        progress=progress,
        own_campaign_id=action.own_campaign_id,
        level_updated=level != state.current_level
        and levels.newly_reached(levels=state.levels, name=level, before=state.lifetime, after=lifetime),
        current_level=level,
        next_level_threshold=next_level.threshold if next_level else None,
        limit=limit,
        points_pending=pending,
        settled=settled,
        release_at=release_at,
    )


def allocate(
    points: Decimal, reasons: Sequence[AccrualReason], limit: RemainingLimit | None
) -> list[tuple[AccrualReason, Decimal]]:
    """Each reason with its points. A reason for which a limit leaves nothing is left out and can be claimed later."""
    if limit is None:
        return [(reason, points) for reason in reasons]
    allocated = []
    left = limit.left
    for reason in reasons:
        if left:
            share = min(points, left)
            allocated.append((reason, share))
            left -= share
    return allocated
