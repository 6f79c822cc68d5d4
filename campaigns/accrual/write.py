"""Writes accruals: ledger, balances, progress, rewards and events in one statement."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from time import time

from campaigns.accrual.types import PendingAccrual
from campaigns.progress.advance import budget_use, steps
from core import json_values
from core.db.statements import Query, part, query_values
from core.observability import metrics
from events import leases, publishing
from loyalty.points import ledger

WITHIN_BUDGETS = part("campaigns/accrual/sql/within_budgets.sql")
COUNT_RULE_USES = part("campaigns/accrual/sql/count_rule_uses.sql")
SET_LEVEL_UNTIL = part("campaigns/accrual/sql/set_level_until.sql")
INSERT_LEVEL_CHANGES = part("campaigns/accrual/sql/insert_level_changes.sql")


@dataclass(frozen=True, slots=True, order=True)
class Parts:
    """The optional parts of a statement that writes accruals. Accruals with the same parts are written together."""

    extra_cte: str = ""
    has_uses: bool = False
    has_budgets: bool = False
    changes_level: bool = False

    @classmethod
    def of(cls, accrual: PendingAccrual) -> "Parts":
        uses = accrual.result.uses
        extra = accrual.extra_cte.statement if accrual.extra_cte else ""
        has_budgets = bool(uses.of_budgets) or bool(budget_use(accrual.result.progress))
        return cls(extra, bool(uses.of_member), has_budgets, accrual.result.level_change is not None)


def write(accruals: Sequence[PendingAccrual]) -> set[int]:
    """Write accruals that have the same parts; returns the indexes of those written.

    Nothing is written of the others: their account or event has changed since the snapshot, or a budget has too little
    left.
    """
    parts = Parts.of(accruals[0])
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
    written = statement_with(parts).all(
        items=json.dumps(items),
        at=at,
        **_rule_uses(accruals, parts),
        **(_level_changes(accruals) if parts.changes_level else {}),
        **ledger.entry_parameters(
            [(accrual.result.entries, accrual.result.settled, accrual.result.current_level) for accrual in accruals]
        ),
        **steps([(accrual.request.action.user_id, accrual.result.progress) for accrual in accruals]),
        **leases.finish_parameters(
            [(accrual.request.event, accrual.result.answer(), accrual.followups) for accrual in accruals], at=at
        ),
        beside=json_values.ENCODER.encode(extra),
    )
    publishing.wake_after_commit([event for item in written for event in accruals[item].followups])
    for item in written:
        record_metrics(accruals[item])
    return set(written)


def record_metrics(accrual: PendingAccrual) -> None:
    """Record the time from the action until its points were credited."""
    if accrual.result.entries:
        event = accrual.request.event
        metrics.credited(kind=event.kind, seconds=time() - event.time.timestamp())


def _rule_uses(accruals: Sequence[PendingAccrual], parts: Parts) -> dict[str, str]:
    """Parameters of the parts about rules with limits, and campaigns with budgets."""
    result = {}
    if parts.has_uses:
        rows = [{"item": item, **row} for item, each in enumerate(accruals) for row in each.result.uses.of_member]
        result["uses"] = json.dumps(rows)
    if parts.has_budgets:
        rows = [{"item": item, **row} for item, each in enumerate(accruals) for row in each.result.uses.of_budgets]
        result["budgets"] = json.dumps(rows)
        rows = [{"item": item, **row} for item, each in enumerate(accruals) for row in budget_use(each.result.progress)]
        result["campaign_budgets"] = json.dumps(rows)
    return result


def _level_changes(accruals: Sequence[PendingAccrual]) -> dict[str, str]:
    """Parameters of the part about levels that end."""
    changes = [(item, each.result.level_change) for item, each in enumerate(accruals)]
    rows = [
        {
            "item": item,
            "level_before": change.before,
            "level_after": change.after,
            "points": str(change.points),
            "level_until": change.until and change.until.isoformat(),
        }
        for item, change in changes
        if change
    ]
    return {"level_changes": json.dumps(rows)}


@cache
def statement_with(parts: Parts) -> Query[int]:
    """The statement that writes accruals, with extra CTEs for the optional parts."""
    return query_values(
        "campaigns/accrual/sql/write_accruals.sql",
        "item",
        locked="candidates" if parts.has_budgets else "locked",
        within_budgets=WITHIN_BUDGETS if parts.has_budgets else "",
        insert_events=publishing.insert_events_of("locked"),
        count_rule_uses=COUNT_RULE_USES if parts.has_uses else "",
        set_level_until=SET_LEVEL_UNTIL if parts.changes_level else "",
        insert_level_changes=INSERT_LEVEL_CHANGES if parts.changes_level else "",
        extra_cte=f", extra AS ({parts.extra_cte})" if parts.extra_cte else "",
    )
