"""Delivers leased events to their handlers, one at a time or together."""

import logging
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter

from django.db import InterfaceError, OperationalError, connection
from django.db.models import F

from core.db.outages import is_lock_timeout, is_outage
from core.errors import DomainError
from core.observability import metrics
from core.observability.tracing import TraceContext
from events import leases
from events.holds import hold
from events.leases import (
    MAX_BATCHED_ATTEMPTS,
    begin,
    give_up,
    keeper,
    reject,
    reroute,
    retry_later,
    return_leases_later,
)
from events.messages import (
    CLOCK,
    CrashedTooOften,
    LeasedEvent,
    LeaseLostError,
    OnHold,
    RerouteEvent,
    RetryLater,
    batch_handler_of,
    delivery_handler_of,
)
from events.models import Event

logger = logging.getLogger(__name__)
activity = logging.getLogger("activity")  # one line for every event, if settings.LOG_ACTIVITY is set
KIND = attrgetter("kind")
LOCKED = "locked"


class RowsLockedError(Exception):
    """The error stored on an event while rows that it needs are locked."""

    def __init__(self) -> None:
        super().__init__("Rows that this needs are locked. It is tried again.")


def deliver_turn(taken: Sequence[LeasedEvent], *, renew_slots: Callable[[], None]) -> int:
    """Deliver one at a time, retries last, until the turn is over; put the remaining events back. Returns how many."""
    began = CLOCK()
    waiting = deque(sorted(taken, key=lambda each: (each.attempts > MAX_BATCHED_ATTEMPTS, random.random())))  # noqa: S311
    while waiting:
        renew_slots()
        deliver(waiting.popleft())
        if CLOCK() - began > leases.TURN_SECONDS:
            break
    if waiting:
        leases.put_back(waiting)
    return len(taken) - len(waiting)


def deliver_events(taken: Sequence[LeasedEvent], *, renew_slots: Callable[[], None] = lambda: None) -> None:
    """Deliver events in batches by kind where possible, then the remaining ones one at a time.

    Retries come last, alone and in random order: otherwise one event that crashes each worker could prevent all events
    leased with it from ever being tried, and the culprit would stay unknown. `renew_slots` is called before each single
    delivery.
    """
    locked: set[int] = set()  # brands with locked rows
    often = [delivery for delivery in taken if delivery.attempts > MAX_BATCHED_ATTEMPTS]
    seldom = sorted((delivery for delivery in taken if delivery.attempts <= MAX_BATCHED_ATTEMPTS), key=KIND)
    for kind, several in groupby(seldom, key=KIND):
        for delivery in deliver_batch(kind, list(several)):
            renew_slots()
            deliver_unless_locked(delivery, locked)
    random.shuffle(often)
    for delivery in often:
        renew_slots()
        deliver_unless_locked(delivery, locked)


def deliver_unless_locked(delivery: LeasedEvent, locked: set[int]) -> None:
    """After one event of a brand has waited too long for a lock, postpone the brand's other events in the portion at
    once: otherwise a brand that locks many rows, as an import does, would delay the points of all other brands."""
    if delivery.brand_id in locked:
        with work_on(delivery):
            result = postpone(delivery)
            keeper.release([leases.lease(delivery)])
            record_attempt(delivery, result, 0)
    elif deliver(delivery) == LOCKED:
        locked.add(delivery.brand_id)


def postpone(delivery: LeasedEvent) -> str:
    """Have an event whose rows are locked retried later; returns the result of the attempt as one word."""
    return "dead" if retry_later(delivery, RowsLockedError()) else LOCKED


def deliver_batch(kind: str, several: list[LeasedEvent]) -> Sequence[LeasedEvent]:
    """Returns the events to deliver one at a time: rejected ones, those whose lease was lost, or all after an error."""
    handle = batch_handler_of(kind)
    if handle is None or len(several) == 1:
        return several
    began = time.perf_counter()
    try:
        left = handle(several)
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) and not connection.is_usable():
            raise
        if is_lock_timeout(error):
            logger.info("%d events of the kind %s wait for a lock together: one at a time", len(several), kind)
        else:
            logger.exception("%d events of the kind %s could not be delivered together", len(several), kind)
        return several
    seconds = (time.perf_counter() - began) / len(several)
    for delivery in several:
        if delivery not in left:
            with work_on(delivery):
                record_attempt(delivery, "done", seconds)
    return left


def deliver(delivery: LeasedEvent) -> str:
    """Run the handler once; returns the result as one word. Every result is stored on the event, except a lost lease or
    a lost database."""
    with work_on(delivery):
        began = time.perf_counter()
        try:
            result = _attempt(delivery)
        except (OperationalError, InterfaceError) as error:
            if is_outage(error):
                keeper.lose([leases.lease(delivery)], return_leases=return_leases_later)
            raise
        keeper.release([leases.lease(delivery)])  # its lease may have been released already
        record_attempt(delivery, result, time.perf_counter() - began)
    return result


def work_on(delivery: LeasedEvent) -> TraceContext:
    event_id = str(delivery.event_id)
    return TraceContext(
        "event", delivery.kind, request_id=delivery.request_id, event_id=event_id, event_kind=delivery.kind
    )


def record_attempt(delivery: LeasedEvent, result: str, seconds: float) -> None:
    """Record the result of an attempt in metrics and the activity log."""
    metrics.attempted(kind=delivery.kind, result=result)
    if activity.isEnabledFor(logging.INFO):
        fields = {"result": result, "attempt": delivery.attempts, "milliseconds": round(seconds * 1000, 1)}
        activity.info("event %s: %s", delivery.kind, result, extra={"log_fields": fields})


def _attempt(delivery: LeasedEvent) -> str:
    """Run the handler; returns the result as one word."""
    handler = delivery_handler_of(delivery.kind)
    try:
        if handler is None:
            leases.finish(delivery, status=Event.Status.IGNORED)
            return "ignored"
        begin(delivery)
        handler(delivery)
    except DomainError as domain_error:
        reject(delivery, domain_error)
        return "refused"
    except OnHold as on_hold:
        return hold(delivery, on_hold)
    except LeaseLostError:
        logger.warning("event %s: another worker took it over", delivery.event_id)
        Event.objects.filter(pk=delivery.id, crashes__gt=0).update(crashes=F("crashes") - 1)  # it did not crash
        return "lost"
    except CrashedTooOften as crashes:
        logger.error("event %s: %s", delivery.event_id, crashes)
        give_up(delivery, str(crashes))
        return "dead"
    except RerouteEvent as request:
        reroute(delivery, request)
        return "moved"
    except RetryLater as request:
        logger.info("event %s: %s", delivery.event_id, request)
        return "dead" if retry_later(delivery, request) else "later"
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) and not connection.is_usable():
            raise
        return _retry(delivery, error)
    return "done"


def _retry(delivery: LeasedEvent, error: Exception) -> str:
    if is_lock_timeout(error):
        logger.info("event %s: %s", delivery.event_id, error)
        return postpone(delivery)
    logger.error("event %s: attempt %d failed", delivery.event_id, delivery.attempts, exc_info=error)
    return "dead" if retry_later(delivery, error) else "failed"
