"""Past actions as the stored events and the ledger have them, in the order in which they were credited."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from json import JSONDecoder
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader

from campaigns.accrual.types import AccrualReason
from campaigns.earning.action_context import ActionContext
from campaigns.models.earning_rules import EarningRule
from campaigns.models.event_kinds import EventKind
from core.db.statements import Query, query, query_values
from loyalty.points import ledger, point_limits

ZERO = Decimal(0)
PAGE = 2_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DECODER = JSONDecoder()
ADJUSTED, RELEASED, RETURNED, MERGED = "adjusted", "released", "returned", "merged"
MOVES = frozenset({ADJUSTED, RELEASED, RETURNED, MERGED})
# A milestone's points are the action of an event of another name.
MILESTONE_EVENT = "reward-claimed"
KINDS = [*(kind.value for kind in EarningRule.Kind if kind != EarningRule.Kind.MILESTONE), MILESTONE_EVENT]


@dataclass(slots=True)
class PastAction:
    """An action and the entry that it brought; or, of a `kind` in MOVES, what else changed the member's points.

    `at` is when it was credited. Of an entry: its `number`, points, shares as they are stored, and by which version of
    the rules (`rules`) it was decided. `more`: all entries of an action that has several. `level` is the member's after
    it. `is_rejected`: nothing was for it, so it has no entry.
    """

    user_id: int
    at: datetime
    id: int
    kind: str
    happened_at: datetime
    payload: dict[str, Any] | None
    is_rejected: bool
    number: int | None
    reason_id: str | None
    points: Decimal | None
    is_pending: bool
    rules: int | None
    shares: list[dict[str, Any]] | None
    more: list[Any] | None
    level: str | None
    level_updated: bool | None

    @property
    def entries(self) -> list[tuple[str, Decimal, list[dict[str, Any]] | None]]:
        """Reason, points and shares of each."""
        if self.more is not None:
            return [(reason_id, Decimal(points), shares) for reason_id, points, shares in self.more]
        if self.reason_id is None:
            return []
        return [(self.reason_id, self.points or ZERO, self.shares)]


@dataclass(slots=True)
class Replayable:
    """What an action is about, without its member; and why it counts once."""

    context: ActionContext
    reasons: Sequence[AccrualReason]


BY_MEMBER, BY_MOMENT = "user_id, ordered_at, id", "ordered_at, id"
# Read through a cursor of its own: its rows become PastActions in `pages`.
FETCH_ACTIONS = query("campaigns/replay/sql/fetch_past_actions.sql", returns=PastAction, order=BY_MEMBER)
COUNT_ACTIONS = query_values("campaigns/replay/sql/count_past_actions.sql", "number")
COUNT_ENTRIES = query_values(
    "campaigns/replay/sql/count_action_entries.sql",
    "number",
    no_actions=point_limits.beginning_with(ledger.RETURNED, ledger.ADJUSTED, ledger.OPENING, ledger.TRANSFERRED),
)


def period_parameters(*, brand_id: int, since: datetime, until: datetime) -> dict[str, Any]:
    """Of a brand's own kinds too, which count as they were paid."""
    own = EventKind.objects.filter(brand=brand_id).values_list("name", flat=True)
    return {"brand_id": brand_id, "since": since, "until": until, "kinds": [*KINDS, *own]}


def count(raw: "psycopg.Connection[Any]", statement: Query[int], parameters: Mapping[str, Any]) -> int:
    """One number, however long it takes."""
    row = raw.execute(statement.text, parameters).fetchone()
    return int(row[0]) if row else 0


@contextmanager
def pages(
    raw: "psycopg.Connection[Any]", *, brand_id: int, since: datetime, until: datetime, by_moment: bool
) -> Iterator[Iterator[list[PastAction]]]:
    """All of a period, so many at a time; the server keeps the others. Call in a transaction of `raw`.

    Of one member after the other, or `by_moment`.
    """
    text = FETCH_ACTIONS.text.replace(BY_MEMBER, BY_MOMENT) if by_moment else FETCH_ACTIONS.text
    with raw.cursor(name="past_actions") as cursor:
        cursor.adapters.register_loader("jsonb", _JsonLoader)
        cursor.itersize = PAGE
        cursor.execute(text, period_parameters(brand_id=brand_id, since=since, until=until))
        yield iter(lambda: [_action(*row) for row in cursor.fetchmany(PAGE)], [])


class _JsonLoader(Loader):
    """Spares the search for an encoding: it is UTF-8."""

    def load(self, data: Buffer) -> Any:
        return DECODER.decode(str(data, "utf-8"))


def _action(user_id: int, at: int, number: int, kind: str, happened_at: int, *remaining: Any) -> PastAction:
    credited, happened = EPOCH + timedelta(microseconds=at), EPOCH + timedelta(microseconds=happened_at)
    return PastAction(user_id, credited, number, kind, happened, *remaining)
