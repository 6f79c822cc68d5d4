"""Writes accruals: ledger, balances, progress, rewards and events in one statement."""

import json
from collections.abc import Sequence
from functools import cache
from time import time

from campaigns.accrual.types import PendingAccrual
from campaigns.progress.advance import steps
from core import json_values
from core.db.statements import Query, query_values
from core.observability import metrics
from events import leases, publishing
from loyalty.points import ledger


def extra_statement(accrual: PendingAccrual) -> str:
    return accrual.extra_cte.statement if accrual.extra_cte else ""


def write(accruals: Sequence[PendingAccrual]) -> set[int]:
    """Write accruals that have the same extra statement; returns the indexes of those written.

    The account or event of the others has changed since their snapshot, and nothing of them was written.
    """
    at = accruals[0].request.action.at
    items = [
        {
            "item": item,
            "account": accrual.state.account,
            "version": accrual.state.version,
            "event_id": accrual.request.event.id,
            "attempts": accrual.request.event.attempts,
        }
        for item, accrual in enumerate(accruals)
    ]
    extra = [
        {"item": item, **accrual.extra_cte.parameters} for item, accrual in enumerate(accruals) if accrual.extra_cte
    ]
    written = statement_with(extra_statement(accruals[0])).all(
        items=json.dumps(items),
        at=at,
        **ledger.posting(
            [(accrual.result.entries, accrual.result.settled, accrual.result.current_level) for accrual in accruals]
        ),
        **steps([(accrual.request.action.user_id, accrual.result.progress) for accrual in accruals]),
        **leases.endings(
            [(accrual.request.event, accrual.result.answer(), accrual.followups) for accrual in accruals], at=at
        ),
        beside=json_values.ENCODER.encode(extra),
    )
    publishing.wake_after_commit([event for item in written for event in accruals[item].followups])
    for item in written:
        record_metrics(accruals[item])
    return set(written)


def record_metrics(accrual: PendingAccrual) -> None:
    """How long it took from the action until the points were credited."""
    if accrual.result.entries:
        event = accrual.request.event
        metrics.credited(kind=event.kind, seconds=time() - event.time.timestamp())


@cache
def statement_with(extra_cte: str) -> Query[int]:
    """The statement that writes accruals, with the extra one as one more CTE."""
    return query_values(
        "campaigns/accrual/sql/write_accruals.sql",
        "item",
        insert_events=publishing.insert_events_of("locked"),
        extra_cte=f", extra AS ({extra_cte})" if extra_cte else "",
    )
