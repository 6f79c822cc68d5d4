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
activity = logging.getLogger("activity")  # a line for every event, where settings.LOG_ACTIVITY asks for it
KIND = attrgetter("kind")
LOCKED = "locked"


class RowsLockedError(Exception):
    """What an event says while rows that it needs are locked."""

    def __init__(self) -> None:
        super().__init__("Rows that this needs are locked. It is tried again.")


def deliver_turn(taken: Sequence[LeasedEvent], *, renew_slots: Callable[[], None]) -> int:
    """One at a time, those that came by often last, until the turn is over; the rest is put back. Returns how many."""
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
    """Those of a kind that can be done together are; what is left over, and the other kinds, one at a time.

    What comes again goes last, alone and in any order: one event that kills each worker that tries it would else
    keep those that are taken with it from ever being tried, and none could say which it was. `renew_slots` is called
    before each that goes alone.
    """
    locked: set[int] = set()  # brands whose rows somebody holds
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
    """Once one event of a brand had to wait for a lock too long, its others of the portion are put off without waiting:
    a brand that holds many rows, as an import does, would else keep the points of all others waiting."""
    if delivery.brand_id in locked:
        with work_on(delivery):
            result = postpone(delivery)
            keeper.release([leases.lease(delivery)])
            record_attempt(delivery, result, 0)
    elif deliver(delivery) == LOCKED:
        locked.add(delivery.brand_id)


def postpone(delivery: LeasedEvent) -> str:
    """Have an event tried again later whose rows somebody holds; returns how that ended, in a word."""
    return "dead" if retry_later(delivery, RowsLockedError()) else LOCKED


def deliver_batch(kind: str, several: list[LeasedEvent]) -> Sequence[LeasedEvent]:
    """Those left to deliver one at a time: such as are refused, were overtaken, or spoilt it for the others."""
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
    """Run the handler once; returns how that ended, in a word. Every way it can end is written on the event, but for a
    lost lease or database."""
    with work_on(delivery):
        began = time.perf_counter()
        try:
            result = _attempt(delivery)
        except (OperationalError, InterfaceError) as error:
            if is_outage(error):
                keeper.lose([leases.lease(delivery)], return_leases=return_leases_later)
            raise
        keeper.release([leases.lease(delivery)])  # it may have been put off
        record_attempt(delivery, result, time.perf_counter() - began)
    return result


def work_on(delivery: LeasedEvent) -> TraceContext:
    event_id = str(delivery.event_id)
    return TraceContext(
        "event", delivery.kind, request_id=delivery.request_id, event_id=event_id, event_kind=delivery.kind
    )


def record_attempt(delivery: LeasedEvent, result: str, seconds: float) -> None:
    """For whoever watches: how an attempt ended."""
    metrics.attempted(kind=delivery.kind, result=result)
    if activity.isEnabledFor(logging.INFO):
        fields = {"result": result, "attempt": delivery.attempts, "milliseconds": round(seconds * 1000, 1)}
        activity.info("event %s: %s", delivery.kind, result, extra={"log_fields": fields})


def _attempt(delivery: LeasedEvent) -> str:
    """Run the handler; returns how that ended, in a word."""
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
        Event.objects.filter(pk=delivery.id, crashes__gt=0).update(crashes=F("crashes") - 1)  # this process lives
        return "lost"
    except CrashedTooOften as fact:
        logger.error("event %s: %s", delivery.event_id, fact)
        give_up(delivery, str(fact))
        return "dead"
    except RerouteEvent as on_hold:
        reroute(delivery, on_hold)
        return "moved"
    except RetryLater as on_hold:
        logger.info("event %s: %s", delivery.event_id, on_hold)
        return "dead" if retry_later(delivery, on_hold) else "later"
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
