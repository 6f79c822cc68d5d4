"""Accrual: fetches a snapshot, decides and writes, for one action or many at once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from django.db import transaction

from brands.errors import UserNotFound
from brands.models.tenants import Brand
from brands.tenants import local_time
from campaigns.accrual import decide, snapshot, write
from campaigns.accrual.snapshot import AccrualSnapshot
from campaigns.accrual.types import AccrualRequest, AccrualResult, PendingAccrual
from campaigns.accrual.write import Parts
from campaigns.earning import budgets
from core import json_values
from core.errors import raises
from core.json_values import json_number
from events import messages
from loyalty.errors import (
    EmailNotConfirmed,
    ExternallyRejected,
    LoyaltyDisabled,
    MemberBlocked,
    NotEligible,
    PointsAlreadyClaimed,
    UserNotEnrolled,
)
from loyalty.integrations import external_system
from loyalty.points import accounts
from loyalty.points.level_periods.settle import settle

# The errors with which an accrual can be rejected.
ACCRUAL_ERRORS = (
    EmailNotConfirmed,
    ExternallyRejected,
    LoyaltyDisabled,
    MemberBlocked,
    NotEligible,
    PointsAlreadyClaimed,
    UserNotEnrolled,
    UserNotFound,
)


@raises(*ACCRUAL_ERRORS)
def accrue(request: AccrualRequest, *, begin: Callable[[], None] | None = None) -> AccrualResult:
    """Credit an action once and finish its event: all of it commits, or none.

    The decision is made from a snapshot. It is written if the account has not changed since and the budgets of its
    rules suffice; otherwise it is made again with the account and budgets locked. `begin` runs first in that
    transaction, to take the caller's own lock. Raises DomainError, OnHold and LeaseLostError; owns the transaction.
    """
    action = request.action
    state = snapshot.fetch_one(action)
    decide.check_eligible(action, state)
    if decide.needs_approval(action, state):  # step 6: outside any transaction
        request_approvals(request, state)
    if begin is None and decide.needs_no_lock(action, state):
        pending = decide.prepare(request, state)
        if write.write([pending]):
            return pending.result
    with transaction.atomic():
        if begin:
            begin()
        account = state.account or accounts.enrol(user_id=action.user_id, brand_id=action.brand_id, at=action.at)
        accounts.lock(account=account)
        if not state.is_settled(action.at):
            request = settle_level(request, account, state)
            action = request.action
        budgets.lock(decide.budgets_taken_of(action, state))
        budgets.lock_campaigns(decide.campaigns_with_budgets(state))
        state = snapshot.fetch_one(action)
        decide.check_eligible(action, state)
        limit = decide.binding_limit(account, state, action) if action.limited else None
        pending = decide.prepare(request, state, limit)
        if not write.write([pending]):
            raise messages.LeaseLostError  # neither the account nor a budget can have changed: both are locked
        return pending.result


def settle_level(request: AccrualRequest, account: int, state: AccrualSnapshot) -> AccrualRequest:
    """Settle the member's level first, where levels have periods and the job has not done so yet. Returns the request.

    Call with the account locked. If another machine's fast clock has begun the account's next period already, the
    action is credited at that period's start: whatever counts in a period must have a moment within it.
    """
    action = request.action
    rule = state.level_rule
    assert rule is not None  # noqa: S101 - without level periods an account is always settled
    settled = settle(brand=Brand.objects.get(pk=action.brand_id), accounts=[account], at=action.at).get(account)
    if settled is None or settled.period_from is None:
        return request
    began = local_time.midnight(settled.period_from, rule.zone)
    return replace(request, action=replace(action, at=max(action.at, began)))


def accrue_batch(requests: Sequence[AccrualRequest]) -> list[AccrualRequest]:
    """Like accrue, for all requests without special needs: one statement reads them, and one writes all that need the
    same optional parts; each commits by itself.

    Returns the other requests: rejected, changed since the snapshot, or in need of a lock or an approval. Requests of
    one account are credited one after the other.
    """
    if not requests:
        return []
    pending: dict[int, PendingAccrual] = {}
    unbatched, next_round = [], []
    states = snapshot.fetch_many([request.action for request in requests])
    for request, state in zip(requests, states, strict=True):
        if state is None or state.account is None or not decide.can_batch(request.action, state):
            unbatched.append(request)
        elif state.account in pending:
            next_round.append(request)
        elif decide.is_rejected(request.action, state):
            unbatched.append(request)
        else:
            pending[state.account] = decide.prepare(request, state)
    by_statement = groupby(sorted(pending.values(), key=Parts.of), key=Parts.of)
    for _, group in by_statement:
        accruals = list(group)
        written = write.write(accruals)
        unbatched += [accrual.request for item, accrual in enumerate(accruals) if item not in written]
    return unbatched + (accrue_batch(next_round) if next_round else [])


def request_approvals(request: AccrualRequest, state: AccrualSnapshot) -> None:
    """Ask the external loyalty system. Returns if it approves, or if it is down and the brand does not wait for it."""
    action, event = request.action, request.event
    assert state.external_system is not None  # noqa: S101 - the caller has checked
    reasons = [reason.reason_id for reason in decide.unclaimed(action, state)]
    question = external_system.ApprovalRequest(
        event_id=event.event_id,
        kind=event.kind,
        brand_id=action.brand_id,
        user_id=action.user_id,
        user_point_id=state.account,
        campaign_type=action.campaign_type,
        reason_ids=reasons,
        points=json_number(decide.awards(action, state).points),
        balance=json_number(state.balance),
        lifetime_points=json_number(state.lifetime),
        current_level=state.current_level,
        happened_at=json_values.iso(action.happened_at),
    )
    external_system.request_approval(system_id=state.external_system, delivery=event, question=question)
