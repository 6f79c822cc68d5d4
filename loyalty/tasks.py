"""What the workers run for the event bus. Messages may be lost or repeated: the Event rows decide."""

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from celery import shared_task
from django.conf import settings
from django.db import InterfaceError, OperationalError, connections
from django.utils import timezone

from brands import metrics
from loyalty import confirmations, events, expiry, webhooks
from loyalty.notices import sender_domains
from loyalty.wallets import selfcheck

logger = logging.getLogger(__name__)

# What a customer does not notice, but what lets a busy hour's events come together. It also saves the next call.
PATIENCE_SECONDS = 0.02


@shared_task
def deliver_due(*, lane: str = events.POINTS) -> int:
    """Woken by a new event: deliver everything that is due in its lane."""
    if lane == events.POINTS:
        return _with_fresh_connection(partial(events.drain, patience=PATIENCE_SECONDS))
    return _with_fresh_connection(partial(events.drain_slow, lane=lane))


@shared_task
def sweep() -> int:
    """Every few seconds: deliver what no wake-up reached, and bury what can no longer be tried."""
    metrics.swept("events")
    _with_fresh_connection(events.bury)
    _with_fresh_connection(events.call_for_what_is_due)
    return _with_fresh_connection(events.drain)


@shared_task
def forget_webhook_messages() -> int:
    """Every hour: delete from the webhooks' log what is older than settings.WEBHOOK_LOG_DAYS."""
    before = timezone.now() - timedelta(days=settings.WEBHOOK_LOG_DAYS)
    return _with_fresh_connection(partial(webhooks.forget, before=before))


@shared_task
def forget_events() -> int:
    """Every hour: delete consequences of accruals that were over settings.EVENT_LOG_DAYS ago, a bounded number."""
    before = timezone.now() - timedelta(days=settings.EVENT_LOG_DAYS)
    return _with_fresh_connection(partial(events.forget, before=before))


@shared_task
def forget_paid_events() -> int:
    """Every hour: delete events about points that were over settings.POINT_EVENT_DAYS ago, a bounded number."""
    if not settings.POINT_EVENT_DAYS:
        return 0
    before = timezone.now() - timedelta(days=settings.POINT_EVENT_DAYS)
    return _with_fresh_connection(partial(events.forget_paid, before=before))


@shared_task
def forget_confirmations() -> int:
    """Every hour: delete codes that went to addresses and have ended, with what was registered with them."""
    return _with_fresh_connection(partial(confirmations.forget_ended, at=timezone.now()))


@shared_task
def check_wallets() -> int:
    """Every day: say in the log which wallet certificates end soon or fail; returns how many."""
    return _with_fresh_connection(partial(selfcheck.report, at=timezone.now()))


@shared_task
def check_sender_domains() -> int:
    """Every hour: have the proofs of senders' domains looked for that nobody looked at for a day."""
    return _with_fresh_connection(lambda: sender_domains.ask_for_old_ones(at=timezone.now()))


@shared_task
def expire_points() -> int:
    """Every few minutes: the night's work of brands whose day has begun; returns how many accounts it changed."""
    return _with_fresh_connection(lambda: expiry.catch_up(at=timezone.now()))


def _with_fresh_connection(work: Callable[[], int]) -> int:
    """Celery keeps the connection between tasks here, so a dead one must be dropped by us; the lease brings
    the events back."""
    try:
        return work()
    except (OperationalError, InterfaceError) as error:
        logger.warning("the database is away (%s); events wait for the next sweep", error)
        connections.close_all()
        return 0
