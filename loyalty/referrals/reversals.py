"""Reversals of referrals: if the order that fulfilled one is returned as a whole, both sides lose their points."""

import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import F
from django.utils.translation import gettext_noop

from core.json_values import json_number
from events.messages import NewEvent
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from loyalty.models.webhooks import WebhookType
from loyalty.orders.returns import level_after_return
from loyalty.points import ledger
from loyalty.points.balance_events import balance_changed
from loyalty.referrals.find import EVENT_ID_NAMESPACE

KIND = "referral-returned"
State = Referral.State


def events_of_return(*, brand_id: int, user_id: int, order_id: str) -> list[NewEvent]:
    """The event that reverses the referral fulfilled by this order, if there is one. Takes one query.

    Call in the transaction that returned the whole order, with the customer's account locked: a referral that is
    decided later sees the return.
    """
    rows = Referral.objects.filter(
        brand=brand_id, friend__user=user_id, action=f"order:{order_id}", state=State.REWARDED
    )
    return [
        NewEvent(
            kind=KIND,
            arguments={"brand_id": brand_id},
            payload={"referral": number},
            event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"returned:{number}"),
        )
        for number in rows.values_list("pk", flat=True)
    ]


def reverse(referral: Referral, *, at: datetime) -> list[NewEvent]:
    """Take the points of both sides back, once, and return the events to publish. Changes `referral`.

    Points that were already spent are owed, as after any return. If an account was merged since, both keep their
    points. Call in a transaction that holds the locks of both accounts and of the referral.
    """
    if referral.state != State.REWARDED or UserPoints.Status.MERGED in {
        referral.referrer.status,
        referral.friend.status,
    }:
        return []
    referral.state, referral.why, referral.decided_at = State.REVERSED, Referral.Why.RETURN, at
    referral.save()
    points = referral.referrer_points + referral.friend_points
    ReferralProgramme.objects.filter(brand=referral.brand_id).update(points_rewarded=F("points_rewarded") - points)
    referrer_note, friend_note = (
        gettext_noop("A friend's first order was returned"),
        gettext_noop("Your first order was returned"),
    )
    return [
        *taken_back(referral, referral.referrer, referral.referrer_points, referrer_note, at),
        *taken_back(referral, referral.friend, referral.friend_points, friend_note, at),
    ]


def taken_back(referral: Referral, account: UserPoints, points: Decimal, note: str, at: datetime) -> list[NewEvent]:
    if not points:
        return []
    cause = f"{ledger.REFERRAL_REVERSED}{referral.pk}"
    reversal = ledger.reverse(account=account.pk, points=points, reason_id=cause, note=note, at=at)
    account.refresh_from_db()
    entry = LoyaltyTransaction.objects.filter(user_point=account, reason_id=f"{ledger.REFERRED}{referral.pk}").first()
    level, following = level_after_return(account, entry, points, at)
    recipient: dict[str, Any] = {"brand_id": account.brand_id, "user_id": account.user_id}
    balance = balance_changed(
        **recipient,
        account=account.pk,
        points=reversal.balance,
        level=level,
        cause=cause,
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"balance-changed:{cause}:{account.pk}"),
    )
    if reversal.loyalty_transaction_id is None:
        return [balance, *following]
    data = {
        "points_adjusted": json_number(-reversal.taken),
        "new_balance": json_number(reversal.balance),
        "transaction_id": str(reversal.loyalty_transaction_id),
        "note": note,
        "current_level": level,
        "lifetime_points": json_number(reversal.lifetime),
        "cause": cause,
    }
    kind = WebhookType.POINTS_ADJUSTED
    event_id = uuid.uuid5(EVENT_ID_NAMESPACE, f"announce:{kind}:{cause}:{account.pk}")
    adjusted = webhook_events.events_for_subscribers(kind, data, **recipient, event_id=event_id, at=at)
    return [balance, *following, *adjusted]
