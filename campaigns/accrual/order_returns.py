"""Handlers of what a shop reports about an order after it was credited: a return, a cancellation, a delivery."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from campaigns.progress.reversals import ReturnedPart, reverse_progress
from core.errors import DomainError, raises
from core.json_values import json_number
from events import leases, messages
from events.messages import LeasedEvent, RetryLater
from events.models import Event
from loyalty.errors import OrderOfAnother, OrderUnknown, ReturnExceedsOrder, ReturnIdReused
from loyalty.orders import releases, returns
from loyalty.orders.returns import OrderReturnRequest
from loyalty.referrals import reversals

# How long to wait for the order, which may arrive later or wait until its customer confirms an address.
WAIT = timedelta(hours=settings.ORDER_WAIT_HOURS)


@raises(OrderUnknown, OrderOfAnother, ReturnExceedsOrder, ReturnIdReused)
def on_order_return(event: LeasedEvent) -> None:
    """Return the order's points in proportion. A return that arrives before its order waits for it, WAIT at most."""
    now = timezone.now()
    request = OrderReturnRequest.of(event, at=now)
    try:
        with transaction.atomic():
            applied = returns.apply(request, cause=str(event.event_id))
            outcome = applied.answer
            if applied.order_event_id:
                reversed_progress = reverse_progress(
                    brand_id=event.brand_id,
                    user_id=applied.user_id or request.user_id,
                    order_event_id=applied.order_event_id,
                    returned=ReturnedPart(
                        applied.returned_before, applied.returned, applied.paid, is_all=applied.order_is_gone
                    ),
                    at=now,
                )
                outcome = outcome | ({"campaigns_stepped_back": reversed_progress} if reversed_progress else {})
            followups = list(applied.followups)
            if applied.order_is_gone:
                followups += reversals.events_of_return(
                    brand_id=event.brand_id, user_id=request.user_id, order_id=request.order_id
                )
            leases.finish(event, outcome=outcome, following=followups, at=now)
    except OrderUnknown as error:
        if may_wait(event, at=now):
            returns.note_waiting(request)
            raise wait_for_order(event) from error
        returns.reject_waiting(request)
        raise
    except DomainError:
        returns.reject_waiting(request)
        raise


@raises(OrderUnknown, OrderOfAnother)
def on_order_delivered(event: LeasedEvent) -> None:
    """Release the order's pending points. A delivery that arrives before its order waits for it, WAIT at most."""
    now = timezone.now()
    order_id, user_id = event.payload["order"]["orderId"], event.arguments["user_id"]
    try:
        with transaction.atomic():
            released = releases.confirm_delivery(brand_id=event.brand_id, user_id=user_id, order_id=order_id, at=now)
            leases.finish(
                event,
                outcome={
                    "points_released": json_number(released.points) if released else 0,
                    "new_balance": json_number(released.balance) if released else None,
                },
                at=now,
            )
    except OrderUnknown as error:
        if may_wait(event, at=now):
            raise wait_for_order(event) from error
        raise


def may_wait(event: LeasedEvent, *, at: datetime) -> bool:
    """Whether the event arrived less than WAIT ago; it may have happened long before."""
    return Event.objects.filter(pk=event.id, created_at__gt=at - WAIT).exists()


def wait_for_order(event: LeasedEvent) -> RetryLater:
    return RetryLater(
        "The order is not known yet.", after=messages.pause(event.attempts), retry_hours=settings.ORDER_WAIT_HOURS + 24
    )
