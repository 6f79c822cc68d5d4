"""Deletes events that are over, and declares dead those that nobody could deliver."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Case, F, TextField, Value, When
from django.utils import timezone

from core.db import sql
from core.redis.client import ask, command
from events.models import Event

# An event is dead after so many attempts in a row that ended the process they ran in.
CRASHES_ALLOWED = 5

# Of the next so many events, by the primary key: those that were over before a moment and whose row nothing needs.
FORGET = """
    WITH stretch AS MATERIALIZED (
        SELECT id, status, detail_type, created_at, coalesce(finished_at, created_at) AS over_at,
               outcome ->> 'transaction_id' AS line
          FROM events_event WHERE id > %(after)s::bigint ORDER BY id LIMIT %(limit)s::int
    ), gone AS (
        DELETE FROM events_event
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


def mark_dead() -> int:
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
