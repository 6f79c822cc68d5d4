"""Leases: which attempt holds an event, for how long, and what becomes of it."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from core.db.outages import is_outage
from core.db.statements import Query, command, part, query, query_values
from core.errors import DomainError
from core.json_values import ENCODER
from core.lease_keeper import Keeper
from events.messages import (
    CLOCK,
    POINTS,
    CrashedTooOften,
    LeasedEvent,
    LeaseLostError,
    NewEvent,
    RerouteEvent,
    RetryLater,
    lane_named,
    pause,
)
from events.models import Event
from events.publishing import call_worker, insert_events, insert_values, insertion, insertion_of, wake_after_commit
from events.retention import CRASHES_ALLOWED

logger = logging.getLogger(__name__)
# After this many attempts an event is delivered alone: with a batch, it is unclear which event crashed the process.
MAX_BATCHED_ATTEMPTS = 1

CLAIM_DUE = query("events/sql/claim_due.sql", returns=LeasedEvent)
CLAIM_DUE_OF_BRAND = query("events/sql/claim_due_of_brand.sql", returns=LeasedEvent)
CLAIM_DUE_OF_OTHER_BRANDS = query("events/sql/claim_due_of_other_brands.sql", returns=LeasedEvent)
PUT_BACK_CLAIMED = command("events/sql/put_back_claimed.sql")
FINISH_LOCKED = part("events/sql/finish_locked.sql")
FINISH_EVENT = query_values("events/sql/finish_event.sql", "id", insert_events=insert_events(source_cte="finished"))
BEGIN_ATTEMPT = query_values("events/sql/begin_attempt.sql", "crashes")
RENEW_LEASE = command("events/sql/renew_lease.sql")
RENEW_LEASES = command("events/sql/renew_leases.sql")
RETURN_LEASES = command("events/sql/return_leases.sql")
RETURN_LEASES_LATER = command("events/sql/return_leases_later.sql")

# A worker that has delivered a brand's events in a slow lane for this long lets the next brand go first.
TURN_SECONDS = 1.0
RENEW_SECONDS = 2.0
# The longest that one attempt can hold an event. A handler that takes longer loses it to another attempt.
MAX_LEASE_SECONDS = 600.0
# In a slow lane, the lease of an event that has waited in its portion for more than this part of it is renewed first.
LATE_SHARE = 0.1


def claim(*, limit: int, lane: str = POINTS) -> list[LeasedEvent]:
    """Claim up to `limit` due events for the lane's lease, which `holding` renews; after a crash, the lease expires.

    Ordered by publication, so that one account's events keep the order in which it earned.
    """
    return _claimed(CLAIM_DUE, lane=lane, limit=limit)


def claim_of(*, brand_id: int, limit: int, lane: str) -> list[LeasedEvent]:
    """Like claim, for one brand's events in a slow lane."""
    return _claimed(CLAIM_DUE_OF_BRAND, lane=lane, limit=limit, brand_id=brand_id)


def claim_of_other_brands(*, brand_ids: Sequence[int], limit: int, lane: str) -> list[LeasedEvent]:
    """Like claim, for events of all other brands."""
    return _claimed(CLAIM_DUE_OF_OTHER_BRANDS, lane=lane, limit=limit, brand_ids=brand_ids)


def _claimed(statement: Query[LeasedEvent], *, lane: str, **parameters: Any) -> list[LeasedEvent]:
    taken = statement.all(lane=lane, lease_seconds=lane_named(lane).lease_seconds, **parameters)
    return sorted(taken, key=attrgetter("id"))


def _renew(leased: Sequence[tuple[int, int, float]]) -> None:
    ids, attempts, leases = zip(*leased, strict=True)
    try:
        RENEW_LEASES.run(ids=list(ids), attempts=list(attempts), lease_seconds=list(leases))
    finally:
        connection.close()  # rarely needed, and otherwise each process would keep one more connection


def _return_leases(lost: Sequence[tuple[int, int, float]]) -> None:
    ids, attempts, _leases = zip(*lost, strict=True)
    try:
        RETURN_LEASES.run(ids=list(ids), attempts=list(attempts))
    finally:
        connection.close()


def put_back(waiting: Sequence[LeasedEvent]) -> None:
    """Make claimed events that were not begun due again; this does not count as an attempt."""
    keeper.release(map(lease, waiting))
    PUT_BACK_CLAIMED.run(ids=[each.id for each in waiting], attempts=[each.attempts for each in waiting])


def return_leases_later(lost: Sequence[tuple[int, int, float]]) -> None:
    ids, attempts, _leases = zip(*lost, strict=True)
    pauses = [pause(each).total_seconds() for each in attempts]
    try:
        RETURN_LEASES_LATER.run(ids=list(ids), attempts=list(attempts), pauses=pauses)
    finally:
        connection.close()


keeper = Keeper[tuple[int, int, float]]("event leases", every=RENEW_SECONDS, longest=MAX_LEASE_SECONDS, renew=_renew)


def lease(delivery: LeasedEvent) -> tuple[int, int, float]:
    return delivery.id, delivery.attempts, lane_named(delivery.lane).lease_seconds


@contextmanager
def holding(taken: Sequence[LeasedEvent]) -> Iterator[None]:
    """Renew the leases while the block runs; after a database outage, return them once it answers."""
    leases = [lease(delivery) for delivery in taken]
    with keeper.holding(leases):
        try:
            yield
        except (OperationalError, InterfaceError) as error:
            if is_outage(error):
                keeper.lose(leases, return_leases=_return_leases)
            raise


def readdress(delivery: LeasedEvent, *, user_id: int) -> LeasedEvent:
    """Assign the event to another user. Raises LeaseLostError if another attempt has taken over."""
    detail = {**delivery.detail, "arguments": {**delivery.arguments, "user_id": user_id}}
    own = Event.objects.filter(pk=delivery.id, attempts=delivery.attempts, finished_at=None)
    if not own.update(detail=detail):
        raise LeaseLostError
    return replace(delivery, detail=detail)


def begin(delivery: LeasedEvent) -> None:
    """Check the lease and, from the second attempt on, record the attempt's start, to count attempts that crash.

    Raises CrashedTooOften after too many crashes, and LeaseLostError if another attempt has taken over.
    """
    if delivery.lane != POINTS and is_late(delivery):
        renew(delivery)
    if delivery.attempts <= MAX_BATCHED_ATTEMPTS:
        return
    crashes = BEGIN_ATTEMPT.first(event_id=delivery.id, event_attempts=delivery.attempts)
    if crashes is None:
        raise LeaseLostError
    deaths = crashes - 1
    if delivery.attempts == deaths + MAX_BATCHED_ATTEMPTS + 1:  # none ended otherwise, so the first one crashed too
        deaths += MAX_BATCHED_ATTEMPTS
    if deaths >= CRASHES_ALLOWED:
        raise CrashedTooOften(deaths)


def is_late(delivery: LeasedEvent) -> bool:
    """Whether it has waited for earlier events of its portion, so that its lease could end before it is done."""
    return CLOCK() - delivery.taken_at > LATE_SHARE * lane_named(delivery.lane).lease_seconds


def renew(delivery: LeasedEvent) -> None:
    """Renew the lease while work continues. Raises LeaseLostError if another attempt has taken over.

    For long work: before each of several events that share a worker, and between the steps of a long one.
    """
    lease_seconds = lane_named(delivery.lane).lease_seconds
    if not RENEW_LEASE.run(event_id=delivery.id, event_attempts=delivery.attempts, lease_seconds=lease_seconds):
        raise LeaseLostError


def finish(
    delivery: LeasedEvent,
    *,
    status: Event.Status = Event.Status.DONE,
    outcome: dict[str, Any] | None = None,
    following: Sequence[NewEvent] = (),
    at: datetime | None = None,
) -> None:
    """Store the result and the events that follow from it, in the transaction that has the effects.

    Raises LeaseLostError if another attempt has taken over: then this attempt must be rolled back. If a person's rows
    change too, call this before that, and `publish` after it: an erasure locks the person's events before everything
    else except the account.
    """
    parameters = insertion(messages=following, brand_id=delivery.brand_id, at=at or timezone.now()) | {
        "event_id": delivery.id,
        "event_attempts": delivery.attempts,
        "event_status": status.value,
        "event_outcome": ENCODER.encode(outcome) if outcome is not None else None,
    }
    if FINISH_EVENT.first(**parameters) is None:
        raise LeaseLostError
    wake_after_commit(following)


def finish_parameters(
    items: Sequence[tuple[LeasedEvent, dict[str, Any], Sequence[NewEvent]]], *, at: datetime
) -> dict[str, Any]:
    """Parameters of write_accruals.sql: for each item its event, outcome and following events."""
    ended = [
        {"item": item, "event_id": delivery.id, "outcome": outcome} for item, (delivery, outcome, _) in enumerate(items)
    ]
    following = [
        insert_values(message, delivery.brand_id, delivery.request_id, item)
        for item, (delivery, _, messages) in enumerate(items)
        for message in messages
    ]
    return {"endings": ENCODER.encode(ended), **insertion_of(following, at)}


def reject(delivery: LeasedEvent, error: DomainError) -> None:
    """Store the error as the final result. Joins the caller's transaction, if there is one."""
    outcome = {"error": error.code, "message": error.message, "details": error.details}
    try:
        finish(delivery, status=Event.Status.REJECTED, outcome=outcome)
    except LeaseLostError:
        logger.warning("event %s: refused here, but another worker took it over", delivery.event_id)


def retry_later(delivery: LeasedEvent, error: Exception) -> bool:
    """Return the event with a growing, jittered pause. True: its window is over, so it is dead and waits for staff."""
    now = timezone.now()
    rows = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    what = readable(f"{type(error).__name__}: {error}")
    wait, hours = pause(delivery.attempts), 0
    if isinstance(error, RetryLater):
        wait, hours = error.after, error.retry_hours
    longest = Greatest(F("give_up_at"), F("created_at") + timedelta(hours=hours))
    in_time = rows.alias(longest=longest).filter(longest__gt=now)
    if in_time.update(due_at=now + wait, last_error=what, crashes=0, give_up_at=longest):
        return False
    return bool(rows.update(status=Event.Status.DEAD, last_error=what, finished_at=now))


def hasten(event_ids: Sequence[int], *, at: datetime) -> None:
    """Retry these pending events now, because what they waited for has happened."""
    waiting = Event.objects.pending().filter(pk__in=event_ids, due_at__gt=at)
    for lane in set(waiting.values_list("lane", flat=True)):
        transaction.on_commit(partial(call_worker, lane))
    waiting.update(due_at=at)


def reroute(delivery: LeasedEvent, error: RerouteEvent) -> None:
    """Move the event to another lane, due at once."""
    rows = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    now = timezone.now()
    longest = Greatest(F("give_up_at"), F("created_at") + timedelta(hours=error.retry_hours))
    if rows.update(lane=error.lane, due_at=now, give_up_at=longest, crashes=0):
        transaction.on_commit(partial(call_worker, error.lane))


def give_up(delivery: LeasedEvent, why: str) -> None:
    """Mark the event dead at once, if the handler knows that further attempts are useless."""
    rows = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    rows.update(status=Event.Status.DEAD, last_error=readable(why), finished_at=timezone.now())


def readable(why: str) -> str:
    """Make an error's text, which may come from another server, storable in PostgreSQL."""
    return why[:2000].replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def redeliver(*, event: Event, at: datetime) -> bool:
    """Give a dead event another full retry window. False: it is not dead."""
    again = Event.objects.dead().filter(pk=event.pk)
    changed = again.update(
        status=Event.Status.PENDING,
        attempts=0,
        crashes=0,
        due_at=at,
        finished_at=None,
        give_up_at=at + timedelta(hours=settings.EVENT_RETRY_HOURS),
    )
    if changed:
        transaction.on_commit(partial(call_worker, event.lane))
    return bool(changed)
