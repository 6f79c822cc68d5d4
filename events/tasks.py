"""Celery tasks that deliver events and delete old ones. Messages may be lost or repeated: the Event rows decide."""

from datetime import timedelta
from functools import partial

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from core.db.connections import with_fresh_connection
from core.observability import metrics
from events import messages, retention, worker

# Not noticeable for customers, but lets a busy hour's events come together. It also saves the next wake-up.
PATIENCE_SECONDS = 0.02


@shared_task
def deliver_due(*, lane: str = messages.POINTS) -> int:
    """Called for a new event: deliver everything that is due in its lane."""
    if lane == messages.POINTS:
        return with_fresh_connection(partial(worker.drain, patience=PATIENCE_SECONDS))
    return with_fresh_connection(partial(worker.drain_slow, lane=lane))


@shared_task
def sweep() -> int:
    """Every few seconds: deliver events that no wake-up reached, and mark those dead that can no longer be retried."""
    metrics.swept("events")
    with_fresh_connection(retention.mark_dead)
    with_fresh_connection(worker.call_for_what_is_due)
    return with_fresh_connection(worker.drain)


@shared_task
def purge_events() -> int:
    """Every hour: delete consequences of accruals that ended settings.EVENT_LOG_DAYS ago, up to a maximum."""
    before = timezone.now() - timedelta(days=settings.EVENT_LOG_DAYS)
    return with_fresh_connection(partial(retention.purge, before=before))


@shared_task
def purge_paid_events() -> int:
    """Every hour: delete events about points that ended settings.POINT_EVENT_DAYS ago, up to a maximum."""
    if not settings.POINT_EVENT_DAYS:
        return 0
    before = timezone.now() - timedelta(days=settings.POINT_EVENT_DAYS)
    return with_fresh_connection(partial(retention.purge_paid, before=before))
