"""The event bus: the only code that writes Event. PostgreSQL is the truth; Celery and Redis only wake workers up."""

import logging
import random
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction
from django.db.models import Case, F, TextField, Value, When
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.module_loading import import_string

from brands import metrics, sql, tracing
from brands.database_outages import is_outage
from brands.limits import ask, command
from brands.refusals import Refused
from brands.tracing import Work
from loyalty import turns, wake
from loyalty.keeper import Keeper
from loyalty.models import Event

logger = logging.getLogger(__name__)
activity = logging.getLogger("activity")  # a line for every event, where settings.LOG_ACTIVITY asks for it

ENVELOPE_VERSION = "0"
# Any constant UUID: a name space of its own for ids of what follows from events.
FOLLOWING = uuid.UUID("0c3f7a52-92f0-4c55-8a57-8d1b6d8f2f7e")
LONGEST_PAUSE = timedelta(hours=1)
CLOCK = time.monotonic
POINTS = "points"
EXTERNAL = "external"  # events that could earn points, of brands whose own loyalty system is asked first
# An event is dead after so many attempts in a row that ended the process they ran in.
CRASHES_ALLOWED = 5
# After so many attempts an event is delivered alone: nobody else could say which of a portion ended the process.
TOGETHER_AT_MOST = 1
# In a busy hour portions grow, and with them what each event saves.
FEW, MOST_PATIENT = 4, 3
# From so many on another worker may take its part: some of them may have to go one at a time.
MANY = 40

COLUMNS = """
    event_id, source, detail_type, brand_id, account, region, time, detail, lane, request_id, status, attempts, due_at,
    give_up_at, last_error, created_at
"""

# Several events, each a JSON array of id, kind, status, detail, lane, seconds to wait, hours to try, brand, the number
# of the item that it follows from, and the request that it came of.
EVENTS = "jsonb_array_elements(%(events)s::jsonb) AS o (event)"
INSERT = f"""
    INSERT INTO loyalty_event ({COLUMNS})
    SELECT (o.event->>0)::uuid, %(event_source)s::text, o.event->>1, (o.event->>7)::bigint, %(event_account)s::text,
           %(event_region)s::text, %(event_time)s::timestamptz, o.event->3, o.event->>4, o.event->>9,
           o.event->>2, 0, statement_timestamp() + make_interval(secs => (o.event->>5)::float),
           %(event_time)s::timestamptz + make_interval(hours => (o.event->>6)::int), '', statement_timestamp()
      FROM {{origin}}
"""  # noqa: S608 - built from constants
INSERT_ALONE = INSERT.format(origin=EVENTS)
# For a statement with a CTE of one row: no row there, no event.
INSERT_BESIDE = INSERT.format(origin=f"{{beside}} CROSS JOIN {EVENTS}")
# For a statement with a CTE `held` of the items that it holds.
INSERT_HELD = INSERT.format(origin=f"held JOIN {EVENTS} ON (o.event->>8)::int = held.item")

CLAIM = """
    UPDATE loyalty_event e
       SET attempts = attempts + 1, due_at = statement_timestamp() + make_interval(secs => %(lease)s::float)
     WHERE id = ANY (ARRAY(
               SELECT id FROM loyalty_event
                WHERE status = 'pending' AND lane = %(lane)s::text AND due_at <= statement_timestamp()
                ORDER BY due_at LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED))
    RETURNING id, event_id, detail_type, brand_id, time, detail, attempts, give_up_at, request_id,
              lane
"""

# The same of one brand, in a slow lane.
CLAIM_OF_BRAND = CLAIM.replace(
    "WHERE status = 'pending' AND lane = %(lane)s::text",
    "WHERE status = 'pending' AND lane = %(lane)s::text AND lane <> 'points' AND brand_id = %(brand)s::bigint",
)
# Events that were claimed and not begun: the attempt was none.
PUT_BACK = """
    UPDATE loyalty_event e SET due_at = statement_timestamp(), attempts = e.attempts - 1
      FROM unnest(%(ids)s::bigint[], %(attempts)s::int[]) AS held (id, attempts)
     WHERE e.id = held.id AND e.attempts = held.attempts AND e.finished_at IS NULL
    RETURNING e.id
"""
# Whoever has delivered in a slow lane for so long lets the next brand go first.
TURN_SECONDS = 1.0

# Only the attempt that still holds the lease may finish. Asked for status = 'pending', PostgreSQL would rather walk the
# short index of all that is due than look the one id up, and a backlog would slow itself down.
FINISH = f"""
    WITH finished AS (
        UPDATE loyalty_event e
           SET status = %(event_status)s::text, outcome = %(event_outcome)s::jsonb,
               finished_at = statement_timestamp(), last_error = ''
         WHERE e.finished_at IS NULL AND e.id = %(event_id)s::bigint AND e.attempts = %(event_attempts)s::int
        RETURNING e.id
    ), following AS ({INSERT_BESIDE.format(beside="finished")})
    SELECT id FROM finished
"""  # noqa: S608 - built from constants

KEEP = """
    UPDATE loyalty_event SET due_at = statement_timestamp() + make_interval(secs => %(lease)s::float)
     WHERE finished_at IS NULL AND id = %(event_id)s::bigint AND attempts = %(event_attempts)s::int
    RETURNING id
"""
# What the process still works on; whatever is being written just now is nobody's to take either.
RENEW = """
    UPDATE loyalty_event e
       SET due_at = greatest(e.due_at, statement_timestamp() + make_interval(secs => held.lease))
      FROM unnest(%(ids)s::bigint[], %(attempts)s::int[], %(leases)s::float[]) AS held (id, attempts, lease)
     WHERE e.id = held.id AND e.attempts = held.attempts AND e.finished_at IS NULL
       AND e.id = ANY (ARRAY(SELECT id FROM loyalty_event WHERE id = ANY (%(ids)s::bigint[]) FOR UPDATE SKIP LOCKED))
    RETURNING e.id
"""
# What this process held when the database went away. What waited for its turn, or was delivered with others, is due at
# once.
GIVE_BACK = """
    UPDATE loyalty_event e SET due_at = statement_timestamp()
      FROM unnest(%(ids)s::bigint[], %(attempts)s::int[]) AS held (id, attempts)
     WHERE e.id = held.id AND e.attempts = held.attempts AND e.finished_at IS NULL AND e.status = 'pending'
    RETURNING e.id
"""
# What was delivered alone just then may be what ended the connection. BEGIN has counted that, as it counts the end of a
# process; it waits before it is tried again.
GIVE_BACK_LATER = """
    UPDATE loyalty_event e
       SET due_at = statement_timestamp() + make_interval(secs => held.pause),
           last_error = 'The connection to the database ended during it.'
      FROM unnest(%(ids)s::bigint[], %(attempts)s::int[], %(pauses)s::float[]) AS held (id, attempts, pause)
     WHERE e.id = held.id AND e.attempts = held.attempts AND e.finished_at IS NULL AND e.status = 'pending'
    RETURNING e.id
"""
RENEW_SECONDS = 2.0
# A handler that works longer than this on what it holds, or never returns, loses it to another attempt.
MAX_LEASE_SECONDS = 600.0
# Written before a later attempt, and taken back by whatever such an attempt can end in but the end of its process.
BEGIN = """
    UPDATE loyalty_event SET crashes = crashes + 1
     WHERE finished_at IS NULL AND id = %(event_id)s::bigint AND attempts = %(event_attempts)s::int
    RETURNING crashes
"""
# What waited for its turn in a slow lane's portion for longer than this part of its lease is taken anew before it.
LATE = 0.1

# Of the next so many events, by the primary key: those that were over before a moment and whose row nothing needs.
FORGET = """
    WITH stretch AS MATERIALIZED (
        SELECT id, status, detail_type, created_at, coalesce(finished_at, created_at) AS over_at,
               outcome ->> 'transaction_id' AS line
          FROM loyalty_event WHERE id > %(after)s::bigint ORDER BY id LIMIT %(limit)s::int
    ), gone AS (
        DELETE FROM loyalty_event
         WHERE id = ANY (ARRAY(SELECT id FROM stretch WHERE over_at < %(before)s::timestamptz AND ({which})))
        RETURNING id
    )
    SELECT max(id), coalesce(bool_and(created_at < %(before)s::timestamptz), false), (SELECT count(*) FROM gone)
      FROM stretch
"""
# What earns nothing itself, and what nobody handles. What is dead stays, for staff.
FORGET_CONSEQUENCES = FORGET.format(
    which="status = 'ignored' OR status IN ('done', 'refused') AND detail_type = ANY (%(kinds)s::text[])"
)
# What earned points has a line in the ledger, whose unique reason pays nothing twice; a refusal paid nothing. What is
# done without a line stays: only the row says that it was answered.
FORGET_PAID = FORGET.format(
    which="""
        status = 'done' AND line IS NOT NULL AND detail_type = ANY (%(kinds)s::text[])
        OR status = 'refused' AND detail_type = ANY (%(refused_kinds)s::text[])
    """
)
FORGOTTEN_TO = "loyalty:events-forgotten-to"
PAID_FORGOTTEN_TO = "loyalty:paid-events-forgotten-to"
# Kinds whose ledger lines have the same reason whenever the event comes again. A login's is its day by the brand's
# clock, which staff may change: what paid one stays.
PAID_ONCE = ("scan-auth", "order-complete", "log-user-profile-update", "reward-claimed")
REFUSED_KINDS = (*PAID_ONCE, "log-user-login")

# For a statement that holds attempts, beside INSERT_HELD: `e` is the event of `i`, a row with event_id and attempts.
LEASE = "e.id = i.event_id AND e.attempts = i.attempts AND e.finished_at IS NULL"
ENDED = """
    UPDATE loyalty_event e
       SET status = 'done', outcome = ended.outcome, finished_at = statement_timestamp(), last_error = ''
      FROM held
      JOIN jsonb_to_recordset(%(endings)s::jsonb) AS ended (item int, event_id bigint, outcome jsonb) USING (item)
     WHERE e.id = ended.event_id
"""

# What waits for its customer is tried again at once when they have done what it waits for; this often all the same,
# because that may come about in other ways, such as the brand asking for it no longer.
HELD_LOOK = timedelta(days=1)
HELD_LIFE = timedelta(days=30)
RELEASE = """
    UPDATE loyalty_event SET held_for = NULL, due_at = statement_timestamp()
     WHERE held_for = %(user_id)s::bigint AND status = 'pending'
    RETURNING lane
"""

ENCODER = DjangoJSONEncoder()


class LeaseLost(Exception):  # noqa: N818 - a fact, not an error: another worker took the event over
    """This attempt ran past its lease; whatever it did must be rolled back."""


class CrashedTooOften(Exception):  # noqa: N818 - a fact: the process did not live to raise anything itself
    """The processes that tried the event died, or lost their connection to the database, each time."""

    def __init__(self, deaths: int) -> None:
        super().__init__(f"Given up: {deaths} attempts ended their process or their connection to the database.")


class TryLater(Exception):  # noqa: N818 - a wish, not an error
    """Raised by a handler that wants its next attempt `after` so long, such as what a receiver asked for."""

    def __init__(self, message: str, *, after: timedelta) -> None:
        super().__init__(message)
        self.after = after


class Held(Exception):  # noqa: N818 - a wish, not an error
    """Raised by a handler for an event that waits for its customer: until `release`, for HELD_LIFE at most.

    `still_holds` locks what it waits for, so that `release` comes before or after, and says whether it is missing yet.
    `refusal` is the event's answer when it has waited in vain.
    """

    def __init__(self, refusal: Refused, *, user_id: int, still_holds: Callable[[], bool]) -> None:
        super().__init__(refusal.message)
        self.refusal, self.user_id, self.still_holds = refusal, user_id, still_holds


class OtherLane(Exception):  # noqa: N818 - a wish, not an error
    """Raised by a handler that would keep the workers of its lane waiting; tried for `retry_hours` there."""

    def __init__(self, lane: str, *, retry_hours: int) -> None:
        super().__init__(lane)
        self.lane, self.retry_hours = lane, retry_hours


@dataclass(frozen=True, slots=True)
class Lane:
    """Kinds that are delivered together: how many a worker takes at a time, and for how many seconds they are its own.

    `workers` bounds how many deliver it at once, so that a lane whose receivers hang leaves room for the others.
    """

    batch: int
    lease_seconds: int
    queue: str
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """Something to publish. `event_id` given: derived from its cause, so that it can exist only once.

    What nobody is `wanted` for is stored as ignored. It is due after `wait_seconds`, and tried for `retry_hours`
    (settings.EVENT_RETRY_HOURS when not given).
    """

    kind: str
    payload: dict[str, Any]
    arguments: dict[str, Any]
    event_id: uuid.UUID = field(default_factory=uuid.uuid4)
    wanted: bool = True
    wait_seconds: float = 0
    retry_hours: int | None = None

    @property
    def is_for_a_worker(self) -> bool:
        return self.wanted and handler_of(self.kind) is not None


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event as one attempt holds it. `at_the_door`: inside of the request that brought it.

    `taken_at` is when, by this process's own clock of seconds.
    """

    id: int
    event_id: uuid.UUID
    kind: str
    brand_id: int
    time: datetime
    detail: dict[str, Any]
    attempts: int
    give_up_at: datetime
    request_id: str = ""
    lane: str = POINTS
    at_the_door: bool = False
    taken_at: float = field(default_factory=CLOCK)

    @property
    def arguments(self) -> dict[str, Any]:
        found: dict[str, Any] = self.detail.get("arguments", {})
        return found

    def following_id(self, what: str) -> uuid.UUID:
        """An id for what follows from this event, the same at each attempt.

        From the row, not from the sender's id: two brands or sources may use the same one.
        """
        return uuid.uuid5(FOLLOWING, f"{self.id}:{what}")

    @property
    def payload(self) -> dict[str, Any]:
        found: dict[str, Any] = self.detail.get("payload", {})
        return found


Handler = Callable[[Delivery], None]
Together = Callable[[Sequence[Delivery]], Sequence[Delivery]]
KIND = attrgetter("kind")


@cache
def handler_of(kind: str) -> Handler | None:
    """The handler that settings.EVENT_HANDLERS names for this detail-type.

    It does its work and calls `finish` in the same transaction, or raises Refused, or fails and is tried again.
    """
    path = settings.EVENT_HANDLERS.get(kind)
    return import_string(path) if path else None


@cache
def together_of(kind: str) -> Together | None:
    """What settings.EVENTS_TOGETHER names for this detail-type: it finishes many deliveries in one transaction.

    It returns those that it left alone. If it raises, nothing of it may stay.
    """
    path = settings.EVENTS_TOGETHER.get(kind)
    return import_string(path) if path else None


def lane_of(kind: str) -> str:
    """The lane that settings.EVENT_LANES names for this detail-type; what it does not name goes with the points."""
    name: str = settings.EVENT_LANES.get(kind, POINTS)
    return name


def lane_named(name: str) -> Lane:
    if name == POINTS:
        return Lane(batch=settings.EVENT_BATCH, lease_seconds=settings.EVENT_LEASE_SECONDS, queue="events")
    return Lane(
        batch=settings.OUTGOING_BATCH,
        lease_seconds=settings.OUTGOING_LEASE_SECONDS,
        queue="outgoing",
        workers=settings.OUTGOING_WORKERS,
    )


def slow_lanes() -> list[str]:
    return sorted({*settings.EVENT_LANES.values(), EXTERNAL})


def envelope(event: Event) -> dict[str, Any]:
    """The event as spec section 6 shows it."""
    return {
        "version": ENVELOPE_VERSION,
        "id": str(event.event_id),
        "detail-type": event.detail_type,
        "source": event.source,
        "account": event.account,
        "time": iso(event.time),
        "region": event.region,
        "resources": [],
        "detail": event.detail,
    }


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, as events write time."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def insertion(*, messages: Sequence[Message], brand_id: int, at: datetime) -> dict[str, Any]:
    """Parameters of INSERT, for a statement that writes its own rows and these events as one."""
    return _insertion([_as_written(message, brand_id, tracing.request_id()) for message in messages], at)


def _insertion(written: list[list[Any]], at: datetime) -> dict[str, Any]:
    return {
        "event_source": settings.EVENT_SOURCE,
        "event_account": settings.EVENT_ACCOUNT,
        "event_region": settings.EVENT_REGION,
        "event_time": at,
        "events": ENCODER.encode(written),
    }


def _as_written(message: Message, brand_id: int, request_id: str, item: int = 0) -> list[Any]:
    return [
        message.event_id,
        message.kind,
        _first_status(is_for_a_worker=message.is_for_a_worker),
        {"arguments": message.arguments, "payload": message.payload},
        lane_of(message.kind),
        message.wait_seconds,
        message.retry_hours or settings.EVENT_RETRY_HOURS,
        brand_id,
        item,
        request_id,
    ]


def _first_status(*, is_for_a_worker: bool) -> str:
    return Event.Status.PENDING.value if is_for_a_worker else Event.Status.IGNORED.value


def publish(*, messages: Sequence[Message], brand_id: int, at: datetime, once: bool = False) -> int:
    """Store events in the caller's transaction; workers hear of them when it commits. Returns how many are new.

    `once`: an event whose id is here already is left as it is; otherwise that is an error.
    """
    parameters = insertion(messages=messages, brand_id=brand_id, at=at)
    unless_known = " ON CONFLICT (brand_id, source, event_id) DO NOTHING" if once else ""
    stored = sql.rows(INSERT_ALONE + unless_known + " RETURNING id", parameters)
    wake_after_commit(messages)
    return len(stored)


def wake_after_commit(messages: Sequence[Message]) -> None:
    """For statements that embed INSERT: tell the workers, once it is true, of what is due at once."""
    for lane in {lane_of(message.kind) for message in messages if message.is_for_a_worker and not message.wait_seconds}:
        transaction.on_commit(partial(call_worker, lane))


def call_worker(lane: str) -> None:
    wake.wake_worker(lane=lane, queue=lane_named(lane).queue)


def receive(*, event: Event) -> bool:
    """Store an event that came from outside, once per brand, source and id. False: it was here already."""
    event.status = _first_status(is_for_a_worker=handler_of(event.detail_type) is not None)
    event.lane = lane_of(event.detail_type)
    event.request_id = tracing.request_id()
    try:
        with transaction.atomic():
            event.save(force_insert=True)
    except IntegrityError:
        return False
    if event.status == Event.Status.PENDING:
        transaction.on_commit(partial(call_worker, event.lane))
    return True


def receive_held(*, event: Event) -> Delivery | None:
    """Store an event and hold its first attempt, for the caller to deliver at once. None: it was here already."""
    event.attempts = 1
    event.due_at = timezone.now() + timedelta(seconds=settings.EVENT_LEASE_SECONDS)
    if not receive(event=event):
        return None
    return Delivery(
        id=event.pk,
        event_id=event.event_id,
        kind=event.detail_type,
        brand_id=event.brand_id,
        time=event.time,
        detail=event.detail,
        attempts=event.attempts,
        give_up_at=event.give_up_at,
        request_id=event.request_id,
        lane=event.lane,
        at_the_door=True,
    )


def claim(*, limit: int, lane: str = POINTS) -> list[Delivery]:
    """Take up to `limit` due events for the lane's lease, which `holding` renews; who dies gives them back by that.

    In the order in which they were published: one account's, in which it earned.
    """
    terms = {"lease": lane_named(lane).lease_seconds, "limit": limit, "lane": lane}
    return [Delivery(*found) for found in sorted(sql.rows(CLAIM, terms), key=itemgetter(0))]


def claim_of(*, brand_id: int, limit: int, lane: str) -> list[Delivery]:
    """The same of one brand's events, in a slow lane."""
    terms = {"lease": lane_named(lane).lease_seconds, "limit": limit, "lane": lane, "brand": brand_id}
    return [Delivery(*found) for found in sorted(sql.rows(CLAIM_OF_BRAND, terms), key=itemgetter(0))]


def _renew(held: Sequence[tuple[int, int, float]]) -> None:
    ids, attempts, leases = zip(*held, strict=True)
    try:
        sql.rows(RENEW, {"ids": list(ids), "attempts": list(attempts), "leases": list(leases)})
    finally:
        connection.close()  # seldom needed, and every process would keep one more


def _give_back(lost: Sequence[tuple[int, int, float]]) -> None:
    ids, attempts, _leases = zip(*lost, strict=True)
    try:
        sql.rows(GIVE_BACK, {"ids": list(ids), "attempts": list(attempts)})
    finally:
        connection.close()


def _give_back_later(lost: Sequence[tuple[int, int, float]]) -> None:
    ids, attempts, _leases = zip(*lost, strict=True)
    pauses = [pause(each).total_seconds() for each in attempts]
    try:
        sql.rows(GIVE_BACK_LATER, {"ids": list(ids), "attempts": list(attempts), "pauses": pauses})
    finally:
        connection.close()


keeper = Keeper[tuple[int, int, float]]("event leases", every=RENEW_SECONDS, longest=MAX_LEASE_SECONDS, renew=_renew)


def _lease(delivery: Delivery) -> tuple[int, int, float]:
    return delivery.id, delivery.attempts, lane_named(delivery.lane).lease_seconds


@contextmanager
def holding(taken: Sequence[Delivery]) -> Iterator[None]:
    """Renew the leases while the block works on them; should the database go away, give them back when it answers."""
    leases = [_lease(delivery) for delivery in taken]
    with keeper.holding(leases):
        try:
            yield
        except (OperationalError, InterfaceError) as error:
            if is_outage(error):
                keeper.lose(leases, give_back=_give_back)
            raise


def deliver_turn(taken: Sequence[Delivery], *, stay: Callable[[], None]) -> int:
    """One at a time, those that came by often last, until the turn is over; the rest is put back. Returns how many."""
    began = CLOCK()
    waiting = deque(sorted(taken, key=lambda each: (each.attempts > TOGETHER_AT_MOST, random.random())))  # noqa: S311
    while waiting:
        stay()
        deliver(waiting.popleft())
        if CLOCK() - began > TURN_SECONDS:
            break
    if waiting:
        keeper.release(map(_lease, waiting))
        held = {"ids": [each.id for each in waiting], "attempts": [each.attempts for each in waiting]}
        sql.rows(PUT_BACK, held)
    return len(taken) - len(waiting)


def deliver_portion(taken: Sequence[Delivery], *, stay: Callable[[], None] = lambda: None) -> None:
    """Those of a kind that can be done together are; what is left over, and the other kinds, one at a time.

    What comes again goes last, alone and in any order: one event that kills each worker that tries it would else
    keep those that are taken with it from ever being tried, and none could say which it was. `stay` is called before
    each that goes alone.
    """
    often = [delivery for delivery in taken if delivery.attempts > TOGETHER_AT_MOST]
    seldom = sorted((delivery for delivery in taken if delivery.attempts <= TOGETHER_AT_MOST), key=KIND)
    for kind, several in groupby(seldom, key=KIND):
        for delivery in deliver_together(kind, list(several)):
            stay()
            deliver(delivery)
    random.shuffle(often)
    for delivery in often:
        stay()
        deliver(delivery)


def deliver_together(kind: str, several: list[Delivery]) -> Sequence[Delivery]:
    """Those left to deliver one at a time: such as are refused, were overtaken, or spoilt it for the others."""
    together = together_of(kind)
    if together is None or len(several) == 1:
        return several
    began = time.perf_counter()
    try:
        left = together(several)
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) and not connection.is_usable():
            raise
        logger.exception("%d events of the kind %s could not be delivered together", len(several), kind)
        return several
    seconds = (time.perf_counter() - began) / len(several)
    for delivery in several:
        if delivery not in left:
            with work_on(delivery):
                tell(delivery, "done", seconds)
    return left


def deliver(delivery: Delivery) -> None:
    """Run the handler once. Every way it can end is written on the event, but for a lost lease or database."""
    with work_on(delivery):
        began = time.perf_counter()
        try:
            result = _attempt(delivery)
        except (OperationalError, InterfaceError) as error:
            if is_outage(error):
                keeper.lose([_lease(delivery)], give_back=_give_back_later)
            raise
        keeper.release([_lease(delivery)])  # it may have been put off
        tell(delivery, result, time.perf_counter() - began)


def work_on(delivery: Delivery) -> Work:
    event_id = str(delivery.event_id)
    return Work("event", delivery.kind, request_id=delivery.request_id, event_id=event_id, event_kind=delivery.kind)


def tell(delivery: Delivery, result: str, seconds: float) -> None:
    """For whoever watches: how an attempt ended."""
    metrics.attempted(kind=delivery.kind, result=result)
    if activity.isEnabledFor(logging.INFO):
        told = {"result": result, "attempt": delivery.attempts, "milliseconds": round(seconds * 1000, 1)}
        activity.info("event %s: %s", delivery.kind, result, extra={"facts": told})


def _attempt(delivery: Delivery) -> str:
    """Run the handler; returns how that ended, in a word."""
    handler = handler_of(delivery.kind)
    try:
        if handler is None:
            finish(delivery, status=Event.Status.IGNORED)
            return "ignored"
        begin(delivery)
        handler(delivery)
    except Refused as refusal:
        refuse(delivery, refusal)
        return "refused"
    except Held as wish:
        return hold(delivery, wish)
    except LeaseLost:
        logger.warning("event %s: another worker took it over", delivery.event_id)
        Event.objects.filter(pk=delivery.id, crashes__gt=0).update(crashes=F("crashes") - 1)  # this process lives
        return "lost"
    except CrashedTooOften as fact:
        logger.error("event %s: %s", delivery.event_id, fact)
        give_up(delivery, str(fact))
        return "dead"
    except OtherLane as wish:
        move(delivery, wish)
        return "moved"
    except TryLater as wish:
        logger.info("event %s: %s", delivery.event_id, wish)
        return "dead" if retry_later(delivery, wish) else "later"
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) and not connection.is_usable():
            raise
        logger.exception("event %s: attempt %d failed", delivery.event_id, delivery.attempts)
        return "dead" if retry_later(delivery, error) else "failed"
    return "done"


def begin(delivery: Delivery) -> None:
    """Make sure of the lease, and write down that a later attempt begins, in case nobody lives to say how it ended.

    Raises CrashedTooOften where too many ended so; and LeaseLost when another attempt has taken over.
    """
    if delivery.lane != POINTS and is_late(delivery):
        keep(delivery)
    if delivery.attempts <= TOGETHER_AT_MOST:
        return
    found = sql.row(BEGIN, {"event_id": delivery.id, "event_attempts": delivery.attempts})
    if found is None:
        raise LeaseLost
    deaths = found[0] - 1
    if delivery.attempts == deaths + TOGETHER_AT_MOST + 1:  # no attempt came to any other end, so the first did not
        deaths += TOGETHER_AT_MOST
    if deaths >= CRASHES_ALLOWED:
        raise CrashedTooOften(deaths)


def is_late(delivery: Delivery) -> bool:
    """Whether it waited for those before it, so that its lease may end, or has ended, before it is done."""
    return CLOCK() - delivery.taken_at > LATE * lane_named(delivery.lane).lease_seconds


def keep(delivery: Delivery) -> None:
    """Still at work on it: its lease begins anew. Raises LeaseLost when another attempt has taken over.

    For what takes long: before each of several that share a worker, and between the steps of a long one.
    """
    lease = lane_named(delivery.lane).lease_seconds
    parameters = {"event_id": delivery.id, "event_attempts": delivery.attempts, "lease": lease}
    if sql.row(KEEP, parameters) is None:
        raise LeaseLost


def finish(
    delivery: Delivery,
    *,
    status: Event.Status = Event.Status.DONE,
    outcome: dict[str, Any] | None = None,
    following: Sequence[Message] = (),
    at: datetime | None = None,
) -> None:
    """Write the final answer and the events that follow from it, in the transaction that keeps the effects.

    Raises LeaseLost when another attempt has taken over: then nothing of this one may stay. Where rows of a person
    change too this comes before them, and `publish` after them: an erasure locks the person's events first.
    """
    parameters = insertion(messages=following, brand_id=delivery.brand_id, at=at or timezone.now()) | {
        "event_id": delivery.id,
        "event_attempts": delivery.attempts,
        "event_status": status.value,
        "event_outcome": ENCODER.encode(outcome) if outcome is not None else None,
    }
    if sql.row(FINISH, parameters) is None:
        raise LeaseLost
    wake_after_commit(following)


def endings(items: Sequence[tuple[Delivery, dict[str, Any], Sequence[Message]]], *, at: datetime) -> dict[str, Any]:
    """Parameters of ENDED and INSERT_HELD: for each item its delivery, the outcome, and the events that follow."""
    ended = [
        {"item": item, "event_id": delivery.id, "outcome": outcome} for item, (delivery, outcome, _) in enumerate(items)
    ]
    following = [
        _as_written(message, delivery.brand_id, delivery.request_id, item)
        for item, (delivery, _, messages) in enumerate(items)
        for message in messages
    ]
    return {"endings": ENCODER.encode(ended), **_insertion(following, at)}


def refuse(delivery: Delivery, refusal: Refused) -> None:
    """A refusal is a final answer. Joins the caller's transaction, if there is one."""
    outcome = {"error": refusal.code, "message": refusal.message, "details": refusal.details}
    try:
        finish(delivery, status=Event.Status.REFUSED, outcome=outcome)
    except LeaseLost:
        logger.warning("event %s: refused here, but another worker took it over", delivery.event_id)


def retry_later(delivery: Delivery, error: Exception) -> bool:
    """Put the event back with a growing, jittered pause; past its window (True) it is dead and waits for staff."""
    now = timezone.now()
    held = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    what = readable(f"{type(error).__name__}: {error}")
    wait = error.after if isinstance(error, TryLater) else pause(delivery.attempts)
    over = now >= delivery.give_up_at
    if over:
        held.update(status=Event.Status.DEAD, last_error=what, finished_at=now)
    else:
        held.update(due_at=now + wait, last_error=what, crashes=0)
    return over


def hold(delivery: Delivery, wish: Held) -> str:
    """Have the event wait for its customer; returns how the attempt ended, in a word."""
    now = timezone.now()
    mine = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    with transaction.atomic():
        if not wish.still_holds():  # it came about in this very moment
            mine.update(held_for=None, due_at=now, crashes=0)
            transaction.on_commit(partial(call_worker, delivery.lane))
            return "later"
        in_time = mine.filter(created_at__gt=now - HELD_LIFE)
        held = in_time.update(
            held_for=wish.user_id,
            due_at=now + HELD_LOOK,
            give_up_at=Greatest(F("give_up_at"), F("created_at") + HELD_LIFE + 2 * HELD_LOOK),
            last_error=readable(str(wish)),
            crashes=0,
        )
        if not held:
            refuse(delivery, wish.refusal)
        return "held" if held else "refused"


def release(*, user_id: int) -> int:
    """Have what waits for the customer delivered now, at all brands; returns how many. Joins the transaction in which
    what it waits for comes about, after that."""
    lanes = [lane for (lane,) in sql.rows(RELEASE, {"user_id": user_id})]
    for lane in set(lanes):
        transaction.on_commit(partial(call_worker, lane))
    return len(lanes)


def move(delivery: Delivery, wish: OtherLane) -> None:
    """Put the event into another lane, due at once."""
    held = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    now = timezone.now()
    longest = Greatest(F("give_up_at"), F("created_at") + timedelta(hours=wish.retry_hours))
    if held.update(lane=wish.lane, due_at=now, give_up_at=longest, crashes=0):
        transaction.on_commit(partial(call_worker, wish.lane))


def give_up(delivery: Delivery, why: str) -> None:
    """Declare the event dead at once, where a handler knows that no attempt will follow."""
    held = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    held.update(status=Event.Status.DEAD, last_error=readable(why), finished_at=timezone.now())


def readable(why: str) -> str:
    """Text that PostgreSQL takes, whatever an error's words hold: they may be somebody else's."""
    return why[:2000].replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def pause(attempts: int) -> timedelta:
    """1, 2, 4, ... seconds, an hour at most, each up to half longer so that failures do not come back together."""
    seconds = min(2.0 ** min(attempts - 1, 20), LONGEST_PAUSE.total_seconds())
    return timedelta(seconds=seconds * random.uniform(1, 1.5))  # noqa: S311 - jitter, no secret


def drain(*, lane: str = POINTS, patience: float = 0, stay: Callable[[], None] = lambda: None) -> int:
    """Deliver everything that is due in a lane, and what comes meanwhile; returns how many events that was.

    While there is work nobody needs to call: this looks again, `patience` seconds after a portion that was not full,
    because one seldom comes alone and several cost little more; up to MOST_PATIENT times as long where they are more
    than FEW. When a call counts again comes a last look, for what was published in between.
    """
    delivered, promised = 0, True  # whoever called us spared others their call
    terms, worker = lane_named(lane), uuid.uuid4().hex
    while True:
        taken = claim(limit=terms.batch, lane=lane)
        if taken:
            promised = True
            wake.will_look_again(lane=lane, worker=worker)
            if len(taken) >= min(MANY, terms.batch):
                wake.call_help(lane=lane, queue=terms.queue)
            with holding(taken):
                deliver_portion(taken, stay=stay)
            delivered += len(taken)
            if patience and len(taken) < terms.batch:
                time.sleep(patience * min(MOST_PATIENT, max(1, len(taken) / FEW)))
        elif promised:
            promised = False
            wake.done(lane=lane, worker=worker)
        else:
            return delivered


def drain_slow(*, lane: str) -> int:
    """As drain, in one of the lane's seats; with all of them taken whoever sits there does the work.

    Brands take turns: each has a part of the seats at most, and as soon as a turn has begun another worker is called,
    for it may last as long as somebody else's server likes.
    """
    terms = lane_named(lane)
    with wake.seat(lane=lane, seats=terms.workers) as seated:
        if not seated:
            return 0
        if not settings.FAIR_SHARES:
            return drain(lane=lane, stay=seated.stay)
        delivered, is_last_look = 0, False
        while True:
            with turns.turn(lane=lane, workers=terms.workers or 1) as turn:
                taken = claim_of(brand_id=turn.brand_id, limit=terms.batch, lane=lane) if turn else []
                if turn and taken:
                    wake.pass_on(lane=lane, queue=terms.queue)
                    with holding(taken):
                        delivered += deliver_turn(taken, stay=partial(turns.stay, seated, turn))
            if not taken and is_last_look:
                return delivered
            is_last_look = not taken
            if not taken:
                wake.done(lane=lane, worker=wake.CALLED)


def call_for_what_is_due() -> int:
    """Wake workers for the slow lanes in which something is due; returns how many lanes that are."""
    now = timezone.now()
    due = [lane for lane in slow_lanes() if Event.objects.pending().filter(lane=lane, due_at__lte=now).exists()]
    for lane in due:
        call_worker(lane)
    return len(due)


def bury() -> int:
    """Declare events dead that are past their window and never came back from a worker; returns how many."""
    now = timezone.now()
    lost = Event.objects.pending().filter(due_at__lte=now, give_up_at__lte=now, attempts__gte=CRASHES_ALLOWED)
    silent = Value("The worker never came back from it.")
    why = Case(When(last_error="", then=silent), default=F("last_error"), output_field=TextField())
    return lost.update(status=Event.Status.DEAD, last_error=why, finished_at=now)


def forget(*, before: datetime, chunk: int = 2_000, most_chunks: int = 500) -> int:
    """Delete consequences that were over `before`, and what nobody handles; returns how many."""
    terms = {"before": before, "limit": chunk, "kinds": list(settings.EVENT_LANES)}
    return _forget(FORGET_CONSEQUENCES, terms, mark=FORGOTTEN_TO, most_chunks=most_chunks)


def forget_paid(*, before: datetime, chunk: int = 2_000, most_chunks: int = 500) -> int:
    """Delete events that earned points, or were refused them, and were over `before`; returns how many."""
    terms = {"before": before, "limit": chunk, "kinds": list(PAID_ONCE), "refused_kinds": list(REFUSED_KINDS)}
    return _forget(FORGET_PAID, terms, mark=PAID_FORGOTTEN_TO, most_chunks=most_chunks)


def _forget(statement: str, terms: dict[str, Any], *, mark: str, most_chunks: int) -> int:
    """Each chunk is a transaction of its own, of so many events looked at.

    Goes on where it stopped, at the `mark`; should Redis forget that, it looks at everything once more.
    """
    after, forgotten = int(ask(lambda: command("GET", mark)) or 0), 0
    for _number in range(most_chunks):
        found = sql.row(statement, {"after": after, **terms})
        assert found is not None  # noqa: S101 - aggregates have a row
        last, all_old, gone = found
        forgotten += gone
        if not all_old:
            break
        after = last
        ask(lambda after=after: command("SET", mark, after))  # type: ignore[misc]
    return forgotten


def redeliver(*, event: Event, at: datetime) -> bool:
    """Give a dead event another full window of attempts. False: it is not dead."""
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
