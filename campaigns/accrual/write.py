"""Writes accruals: ledger, balances, progress, rewards and events in one statement."""

import json
from collections.abc import Sequence
from functools import cache
from time import time

from campaigns.accrual import snapshot
from campaigns.accrual.types import PendingAccrual
from campaigns.progress.advance import ADVANCE, GIVE, steps
from core import json_values
from core.db import sql
from core.observability import metrics
from events import leases, publishing
from loyalty.points import ledger

# Everything that accruals write, in one statement that commits by itself. `held` locks the account and the event of
# each item, in the order of accounts; an item whose account or event has changed since its snapshot has no row there,
# and nothing of it is written. `= ANY` instead of `=` keeps PostgreSQL from a hash join over all accounts: it expects
# MAX_ACTIONS items, however few there are.
WRITE = f"""
    WITH items AS (
        SELECT * FROM jsonb_to_recordset(%(items)s::jsonb)
               AS i (item int, account bigint, version text, event_id bigint, attempts int)
         LIMIT {snapshot.MAX_ACTIONS}
    ), held AS (
        SELECT i.item, a.user_point_id AS account
          FROM items i
          JOIN user_points a ON a.user_point_id = ANY (ARRAY[i.account]) AND a.xmin = ANY (ARRAY[i.version::xid])
          JOIN events_event e ON {leases.LEASE}
         ORDER BY a.user_point_id
           FOR NO KEY UPDATE OF a, e
    ), lines AS ({ledger.LINES}), balance AS ({ledger.BALANCE}), progress AS ({ADVANCE}), rewards AS ({GIVE}),
       finished AS ({leases.ENDED}), following AS ({publishing.INSERT_HELD})
       {{extra_cte}}
    SELECT item FROM held
"""  # noqa: S608 - built from constants


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
    parameters = {
        "items": json.dumps(items),
        "at": at,
        **ledger.posting([(accrual.result.entries, accrual.result.current_level) for accrual in accruals]),
        **steps([(accrual.request.action.user_id, accrual.result.progress) for accrual in accruals]),
        **leases.endings(
            [(accrual.request.event, accrual.result.answer(), accrual.followups) for accrual in accruals], at=at
        ),
        "beside": json_values.ENCODER.encode(extra),
    }
    written = {item for (item,) in sql.rows(statement_with(extra_statement(accruals[0])), parameters)}
    publishing.wake_after_commit([event for item in written for event in accruals[item].followups])
    for item in written:
        record_metrics(accruals[item])
    return written


def record_metrics(accrual: PendingAccrual) -> None:
    """How long it took from the action until the points were credited."""
    if accrual.result.entries:
        event = accrual.request.event
        metrics.credited(kind=event.kind, seconds=time() - event.time.timestamp())


@cache
def statement_with(extra_cte: str) -> str:
    """WRITE, with the extra statement as one more CTE."""
    return WRITE.format(extra_cte=f", beside AS ({extra_cte})" if extra_cte else "")
