"""Deletes old finished events, and marks those dead that could not be delivered."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Case, F, TextField, Value, When
from django.utils import timezone
from django.utils.module_loading import import_string

from core.db.statements import Query, part, query
from core.redis.client import call_or_none, command
from events.models import Event

# An event is dead after this many consecutive attempts that crashed their process.
CRASHES_ALLOWED = 5

# The mark of a purge ends after this, and the next one begins with the first event again: an event that was still open
# when its chunk was purged, such as one on hold, is found then.
MARK_SECONDS = 30 * 24 * 3600
PURGED_TO = "loyalty:events-forgotten-to"
PAID_PURGED_TO = "loyalty:paid-events-forgotten-to"
# Kinds whose ledger entries have the same reason whenever the event comes again. A login's is its day by the brand's
# clock, which staff may change: logins that paid are kept. The brands' own kinds pay once for each event.
PAID_ONCE = (
    "scan-auth",
    "order-complete",
    "log-user-profile-update",
    "reward-claimed",
    "member-welcome",
    "member-birthday",
)
UNHANDLED_KINDS = (*PAID_ONCE, "log-user-login")


@dataclass(frozen=True, slots=True)
class Purged:
    """A chunk of events: the last ID, whether all are old enough to continue after them, and how many were deleted."""

    last_id: int | None
    is_old: bool
    deleted: int


NEXT_EVENTS = part("events/sql/fetch_next_events.sql")
DELETE_CONSEQUENCES = query("events/sql/delete_consequences.sql", returns=Purged, next_events=NEXT_EVENTS)
DELETE_PAID_EVENTS = query("events/sql/delete_paid_events.sql", returns=Purged, next_events=NEXT_EVENTS)


def mark_dead() -> int:
    """Mark events dead that are past their window and whose attempts never ended; returns how many."""
    now = timezone.now()
    lost = Event.objects.pending().filter(due_at__lte=now, give_up_at__lte=now, attempts__gte=CRASHES_ALLOWED)
    silent = Value("The worker never came back from it.")
    why = Case(When(last_error="", then=silent), default=F("last_error"), output_field=TextField())
    return lost.update(status=Event.Status.DEAD, last_error=why, finished_at=now)


def purge(*, before: datetime, chunk: int = 2_000, most_chunks: int = 500) -> int:
    """Delete consequences that ended before `before`, and events without a handler; returns how many."""
    terms = {"before": before, "limit": chunk, "kinds": list(settings.EVENT_LANES)}
    return _purge(DELETE_CONSEQUENCES, terms, mark=PURGED_TO, most_chunks=most_chunks)


def purge_paid(*, before: datetime, chunk: int = 2_000, most_chunks: int = 500) -> int:
    """Delete events that earned points or were rejected, and ended before `before`; returns how many."""
    own = import_string(settings.OWN_KIND_NAMES)()
    kinds = {"kinds": [*PAID_ONCE, *own], "rejected_kinds": [*UNHANDLED_KINDS, *own]}
    terms = {"before": before, "limit": chunk, **kinds}
    return _purge(DELETE_PAID_EVENTS, terms, mark=PAID_PURGED_TO, most_chunks=most_chunks)


def _purge(statement: Query[Purged], terms: dict[str, Any], *, mark: str, most_chunks: int) -> int:
    """Delete in chunks of so many checked events, each in its own transaction.

    Continues at the position stored under `mark`; without it, starts from the first event again.
    """
    after, deleted = int(call_or_none(lambda: command("GET", mark)) or 0), 0
    for _number in range(most_chunks):
        purged = statement.first(after=after, **terms)
        assert purged is not None  # noqa: S101 - an aggregate always returns a row
        deleted += purged.deleted
        if purged.last_id is None or not purged.is_old:
            break
        after = purged.last_id
        call_or_none(lambda after=after: command("SET", mark, after, "KEEPTTL"))  # type: ignore[misc]
        call_or_none(lambda: command("EXPIRE", mark, MARK_SECONDS, "NX"))
    return deleted
