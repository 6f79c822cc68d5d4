"""Past actions from the stored events and the ledger, in the order in which they were credited."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from json import JSONDecoder
from typing import Any, NamedTuple

import psycopg

from campaigns.accrual.types import AccrualReason
from campaigns.earning.action_context import ActionContext, Item
from campaigns.models.earning_rules import EarningRule
from campaigns.models.event_kinds import EventKind
from core.db.statements import Query, query, query_values
from loyalty.points import ledger, point_limits
from loyalty.points.explanations import Share, shares_of

ZERO = Decimal(0)
PAGE = 2_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The scanner alone skips the search for surrounding whitespace: PostgreSQL writes none.
read_json = JSONDecoder().scan_once  # type: ignore[attr-defined] # typeshed knows only the decoder's methods
MAX_REMEMBERED = 4_096
ADJUSTED, RELEASED, RETURNED, MERGED = "adjusted", "released", "returned", "merged"
MOVES = frozenset({ADJUSTED, RELEASED, RETURNED, MERGED})
WELCOME = EarningRule.Kind.WELCOME.value
# The event that credits a milestone's points.
MILESTONE_EVENT = "reward-claimed"
KINDS = [*(kind.value for kind in EarningRule.Kind if kind != EarningRule.Kind.MILESTONE), MILESTONE_EVENT]
Shares = Sequence[Share] | None  # None for older entries, in which the ledger does not have them


class EarnedPoints(NamedTuple):
    """What a reason earned, or would earn."""

    reason_id: str
    points: Decimal
    shares: Shares


@dataclass(slots=True)
class PastAction:
    """An action and its entries; or, with a `kind` in MOVES, another change of the member's points.

    `at`: when it was credited; `rules`: the version of the rules that decided it. `number` and `points`: those of its
    (last) entry. `level`: the member's level after it. `is_rejected`: no rule or campaign was for it, so it has no
    entry. `identity`: the source and ID of an event of the brand's own kinds.
    """

    user_id: int
    at: datetime
    id: int
    kind: str
    happened_at: datetime
    payload: dict[str, Any] | None
    is_rejected: bool
    number: int | None
    entries: Sequence[EarnedPoints]
    points: Decimal
    is_pending: bool
    rules: int | None
    level: str | None
    level_updated: bool | None
    identity: str | None


@dataclass(slots=True)
class ActionRow:
    """A row of fetch_past_actions.sql: moments in microseconds, and JSON as text."""

    user_id: int
    at: int
    id: int
    kind: str
    happened_at: int
    payload: str | None
    is_rejected: bool
    number: int | None
    reason_id: str | None
    points: Decimal | None
    is_pending: bool
    rules: int | None
    shares: str | None
    more: str | None
    level: str | None
    level_updated: bool | None
    identity: str | None


@dataclass(slots=True)
class Replayable:
    """What an action is about, without its member, and its reasons. `catalogue`: an order's items as the brand's
    products describe them."""

    context: ActionContext
    reasons: Sequence[AccrualReason]
    catalogue: Sequence[Item] = ()


BY_MEMBER, BY_MOMENT = "user_id, ordered_at, id", "ordered_at, id"
# Read with a server-side cursor; `pages` converts its rows to PastActions.
FETCH_ACTIONS = query("campaigns/replay/sql/fetch_past_actions.sql", returns=ActionRow, order=BY_MEMBER)
COUNT_ACTIONS = query_values("campaigns/replay/sql/count_past_actions.sql", "number")
COUNT_ENTRIES = query_values(
    "campaigns/replay/sql/count_action_entries.sql",
    "number",
    no_actions=point_limits.beginning_with(
        ledger.RETURNED, ledger.ADJUSTED, ledger.OPENING, ledger.TRANSFERRED, ledger.REFERRED
    ),
)


def own_kinds_of(brand_id: int) -> list[str]:
    return list(EventKind.objects.filter(brand=brand_id).values_list("name", flat=True))


def period_parameters(
    *, brand_id: int, since: datetime, until: datetime, own_kinds: Sequence[str] = (), joins: bool = False
) -> dict[str, Any]:
    """`joins`: include members who joined without welcome points."""
    period = {"brand_id": brand_id, "since": since, "until": until}
    return {**period, "kinds": [*KINDS, *own_kinds], "own_kinds": list(own_kinds), "joins": joins}


def count(raw: "psycopg.Connection[Any]", statement: Query[int], parameters: Mapping[str, Any]) -> int:
    """Run a statement that returns one number, without a time limit."""
    row = raw.execute(statement.text, parameters).fetchone()
    return int(row[0]) if row else 0


@contextmanager
def pages(
    raw: "psycopg.Connection[Any]", parameters: Mapping[str, Any], *, by_moment: bool
) -> Iterator[Iterator[list[PastAction]]]:
    """All actions of a period, in pages; the server keeps the remaining rows. Call in a transaction of `raw`.

    Ordered by member, or `by_moment`. The next page is fetched while the caller works on the current one.
    """
    text = FETCH_ACTIONS.text.replace(BY_MEMBER, BY_MOMENT) if by_moment else FETCH_ACTIONS.text
    reader = ActionReader()
    with raw.cursor(name="past_actions", binary=True) as cursor, ThreadPoolExecutor(max_workers=1) as reader_thread:
        cursor.execute(text, parameters)

        def read() -> Iterator[list[PastAction]]:
            ahead = reader_thread.submit(cursor.fetchmany, PAGE)
            while rows := ahead.result():
                ahead = reader_thread.submit(cursor.fetchmany, PAGE)
                yield [reader.read(row) for row in rows]

        yield read()


class ActionReader:
    """Converts rows to actions. Caches parsed shares, because most entries have the same ones."""

    def __init__(self) -> None:
        self._shares: dict[str, Sequence[Share]] = {}

    def read(self, row: tuple[Any, ...]) -> PastAction:
        """Convert the columns of an ActionRow to an action."""
        user_id, at, number, kind, happened_at, payload, is_rejected, entry, reason_id, points, *remaining = row
        is_pending, rules, shares, more, level, level_updated, identity = remaining
        entries: Sequence[EarnedPoints] = ()
        if more is not None:
            entries = [
                EarnedPoints(name, Decimal(earned), None if own is None else shares_of({"shares": own}))
                for name, earned, own in read_json(more, 0)[0]
            ]
        elif reason_id is not None:
            entries = (EarnedPoints(reason_id, points or ZERO, None if shares is None else self._shares_in(shares)),)
        credited = EPOCH + timedelta(microseconds=at)
        return PastAction(
            user_id,
            credited,
            number,
            kind,
            credited if happened_at == at else EPOCH + timedelta(microseconds=happened_at),
            None if payload is None else read_json(payload, 0)[0],
            is_rejected,
            entry,
            entries,
            points or ZERO,
            is_pending,
            rules,
            level,
            level_updated,
            identity,
        )

    def _shares_in(self, text: str) -> Sequence[Share]:
        result = self._shares.get(text)
        if result is None:
            if len(self._shares) >= MAX_REMEMBERED:
                self._shares.clear()
            result = self._shares[text] = tuple(shares_of({"shares": read_json(text, 0)[0]}))
        return result
