"""Handlers of referrals: credit or reverse the points of both sides, once, in one transaction."""

from collections.abc import Callable
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from events import leases
from events.messages import LeasedEvent, NewEvent, RetryLater
from loyalty.models.programme.referrals import Referral
from loyalty.points import accounts
from loyalty.referrals import reversals, rewards


def on_referral_action(event: LeasedEvent) -> None:
    """Decide a referral whose friend has acted. Only this service can publish this kind of event."""
    _apply(event, rewards.decide)


def on_referral_returned(event: LeasedEvent) -> None:
    """Reverse both sides' points, because the order that fulfilled the referral was returned as a whole."""
    _apply(event, reversals.reverse)


def _apply(event: LeasedEvent, change: Callable[..., list[NewEvent]]) -> None:
    """Apply `change` to the event's referral, and finish the event with what follows."""
    at = timezone.now()
    with transaction.atomic():
        referral = locked(event.brand_id, event.payload["referral"])
        following = change(referral, at=at) if referral else []
        outcome = {"referral": referral.state if referral else None}
        leases.finish(event, outcome=outcome, following=following, at=at)


def locked(brand_id: int, number: int) -> Referral | None:
    """The referral, with both accounts locked in the order of their ids, like all code that locks several.

    All changes of a referral take these locks, except its lapse.
    """
    row = Referral.objects.filter(pk=number, brand=brand_id).first()
    if row is None:
        return None
    accounts.lock_many(accounts=sorted([row.referrer_id, row.friend_id]))
    rows = Referral.objects.select_for_update(no_key=True, of=("self",))
    result = rows.select_related("referrer__user", "friend__user", "brand").get(pk=number)
    if result.referrer_id != row.referrer_id:
        raise RetryLater("The member's account has been merged.", after=timedelta(0))
    return result
