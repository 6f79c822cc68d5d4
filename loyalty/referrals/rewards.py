"""Rewards of referrals: whether both sides get points, the limits, and the ledger entries."""

import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import F, Q
from django.utils.translation import gettext_noop

from brands.tenants import local_time
from core.json_values import json_number
from events.messages import NewEvent
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.notifications import Template
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from loyalty.points import ledger
from loyalty.points.balance_events import balance_changed
from loyalty.points.ledger import Credit
from loyalty.points.level_periods.raising import raise_level
from loyalty.referrals import duplicates
from loyalty.referrals.find import EVENT_ID_NAMESPACE, FETCH_FIRST_ACTION

State, Why = Referral.State, Referral.Why


def decide(referral: Referral, *, at: datetime) -> list[NewEvent]:
    """Reward both sides or record why not, once, and return the events to publish. Changes `referral`.

    A referral that lapsed after its event was published counts, because the friend had acted by then. Call in a
    transaction that holds the locks of both accounts and of the referral.
    """
    programme = ReferralProgramme.objects.filter(brand=referral.brand_id).first()
    if referral.state not in {State.WAITING, State.LAPSED} or programme is None:
        return []
    action = FETCH_FIRST_ACTION.first(referral=referral.pk, action=programme.action)
    if action is None:  # its order was returned in the meantime; the next one may count
        return []
    referral.action, referral.decided_at = action.reason_id, at
    referral.why = why_not(referral, programme, at)
    if referral.why or not take_from_budget(programme):
        referral.why = referral.why or Why.BUDGET
        referral.state = State.REJECTED
        referral.save()
        return []
    referral.state, referral.rewarded_at = State.REWARDED, at
    referral.referrer_points, referral.friend_points = programme.referrer_points, programme.friend_points
    referral.save()
    return [
        *credited(referral, referral.referrer, referral.referrer_points, gettext_noop("A friend joined"), at),
        *credited(referral, referral.friend, referral.friend_points, gettext_noop("You joined through a friend"), at),
    ]


def why_not(referral: Referral, programme: ReferralProgramme, at: datetime) -> Referral.Why:
    """Why there is no reward, or NONE. The member's limits are exact, because the account is locked."""
    sides = (referral.referrer, referral.friend)
    if any(side.status != UserPoints.Status.ACTIVE or not side.user.is_active for side in sides):
        return Why.BLOCKED
    if same := duplicates.why_same(*sides):
        return same
    rewarded = Referral.objects.filter(referrer__in=referral.referrer.ledger_accounts, state=State.REWARDED)
    brand = referral.brand
    month = local_time.midnight(brand.day_at(at).replace(day=1), brand.zone)
    if rewarded.filter(rewarded_at__gte=month).count() >= programme.monthly_limit:
        return Why.MONTH
    return Why.TOTAL if rewarded.count() >= programme.total_limit else Why.NONE


def take_from_budget(programme: ReferralProgramme) -> bool:
    """Reserve the points of one referral if the budget has enough left."""
    points = programme.points
    left = Q(budget__isnull=True) | Q(budget__gte=F("points_rewarded") + points)
    rows = ReferralProgramme.objects.filter(left, pk=programme.pk)
    return bool(rows.update(points_rewarded=F("points_rewarded") + points))


def credited(referral: Referral, account: UserPoints, points: Decimal, note: str, at: datetime) -> list[NewEvent]:
    """Write one side's entry and level. Returns the events to publish."""
    if not points:
        return []
    reason_id = f"{ledger.REFERRED}{referral.pk}"
    line = ledger.credit(account=account.pk, points=points, reason_id=reason_id, note=note, at=at)
    level, level_updated = raise_level(
        brand=referral.brand, account=account.pk, level=line.current_level, lifetime=line.lifetime, gained=points, at=at
    )
    return consequences(account, points, line, level, note=note, level_updated=level_updated, cause=reason_id, at=at)


def consequences(
    account: UserPoints,
    points: Decimal,
    line: Credit,
    level: str,
    *,
    note: str,
    level_updated: bool,
    cause: str,
    at: datetime,
) -> list[NewEvent]:
    """Events as after an accrual: for wallets, webhooks, and the member's notification."""
    recipient: dict[str, Any] = {"brand_id": account.brand_id, "user_id": account.user_id}
    balance = balance_changed(
        **recipient,
        account=account.pk,
        points=line.balance,
        level=level,
        level_updated=level_updated,
        cause=cause,
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"balance-changed:{cause}:{account.pk}"),
    )
    credit = webhook_events.Credit(
        **recipient,
        points_earned=json_number(points),
        new_balance=json_number(line.balance),
        lifetime_points=json_number(line.lifetime),
        transaction_id=str(line.loyalty_transaction_id),
        reason_ids=[cause],
        note=note,
        current_level=level,
        level_updated=level_updated,
        cause=cause,
        at=at,
    )
    listened = webhook_events.listened_at(account.brand_id)
    webhooks = webhook_events.of_credit(
        credit, listened=listened, ids=lambda what: uuid.uuid5(EVENT_ID_NAMESPACE, f"{what}:{cause}:{account.pk}")
    )
    notification = NewEvent(
        kind="notify",
        arguments=recipient,
        payload={
            "template": Template.POINTS_EARNED.value,
            "points_earned": json_number(points),
            "new_balance": json_number(line.balance),
            "transaction_id": str(line.loyalty_transaction_id),
            "note": note,
            "level_updated": level_updated,
            "current_level": level,
            "campaigns": [],
            "rewards": [],
            "cause": cause,
        },
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"notify:{cause}:{account.pk}"),
    )
    return [balance, *webhooks, notification]
