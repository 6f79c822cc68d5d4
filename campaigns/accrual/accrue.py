"""Accrual: fetch a snapshot, decide, write; alone or many at once."""

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

# What an accrual is refused with.
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

    It is decided from a snapshot and written if the account has not changed since, and the budgets of its rules still
    suffice; else once more, with the account and the budgets locked. `begin` runs first in that transaction, to take a
    lock of the caller's own. Raises DomainError, OnHold and LeaseLostError; owns the transaction.
    """
    action = request.action
    state = snapshot.fetch_one(action)
    decide.check_eligible(action, state)
    if decide.needs_approval(action, state):  # 6: outside of any transaction
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
            raise messages.LeaseLostError  # not the account or a budget, which are locked
        return pending.result


def settle_level(request: AccrualRequest, account: int, state: AccrualSnapshot) -> AccrualRequest:
    """Where levels have periods, the job may come after the accrual: what is due happens first. Returns the request.

    The account is locked. If another machine's clock was ahead, and has begun the next period of the account already,
    the action is credited at its beginning: what counts in a period has a moment that lies in it.
    """
    action = request.action
    rule = state.level_rule
    assert rule is not None  # noqa: S101 - elsewhere an account is always settled
    settled = settle(brand=Brand.objects.get(pk=action.brand_id), accounts=[account], at=action.at).get(account)
    if settled is None or settled.period_from is None:
        return request
    began = local_time.midnight(settled.period_from, rule.zone)
    return replace(request, action=replace(action, at=max(action.at, began)))


def accrue_batch(requests: Sequence[AccrualRequest]) -> list[AccrualRequest]:
    """As accrue, for all requests that need nothing special: one statement reads, one writes, one transaction.

    Returns the others: rejected, changed since they were read, or in need of a lock or an approval. Requests of one
    account are credited one after the other.
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
    """Ask the brand's external loyalty system. Returns if it agrees, or does not answer and the brand goes on then."""
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
