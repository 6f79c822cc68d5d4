"""The states of members during a replay: actual, and with the draft.

Both are the same object until the draft gives a member something else, which keeps most members small.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import psycopg

from brands.tenants.local_time import midnight
from campaigns.earning.action_context import NO_SEGMENTS
from campaigns.earning.fields import ORDER, SCAN
from campaigns.earning.limits import UNUSED, Used, UseKey, period_starts
from campaigns.progress.advance import RunningCampaign
from campaigns.replay import level_history
from campaigns.replay.level_history import LevelHistory
from campaigns.replay.terms import Terms
from core.db.statements import query
from loyalty.points import ledger, levels, point_limits

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A row of fetch_members_at.sql, in points."""

    user_id: int
    account: int
    lifetime: Decimal
    orders: int
    scans: int
    last_at: datetime | None
    day_points: Decimal
    month_points: Decimal
    segments: list[int]


@dataclass(frozen=True, slots=True)
class UseRow:
    """A row of fetch_uses_at.sql."""

    user_id: int
    rule_id: int
    period: str
    points: Decimal
    events: int


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A row of fetch_budgets_at.sql."""

    rule_id: int
    points: Decimal
    events: int


FETCH_MEMBERS = query(
    "campaigns/replay/sql/fetch_members_at.sql",
    returns=MemberRow,
    no_actions=point_limits.NO_ACTIONS,
    not_earned=point_limits.beginning_with(ledger.RETURNED, ledger.TRANSFERRED),
)


@dataclass(frozen=True, slots=True)
class OwnCountRow:
    """A row of fetch_own_counts_at.sql."""

    user_id: int
    kind: str
    events: int


FETCH_USES = query("campaigns/replay/sql/fetch_uses_at.sql", returns=UseRow)
FETCH_OWN_COUNTS = query("campaigns/replay/sql/fetch_own_counts_at.sql", returns=OwnCountRow)
FETCH_BUDGETS = query("campaigns/replay/sql/fetch_budgets_at.sql", returns=BudgetRow)


@dataclass(slots=True)
class MemberState:
    """A member's points and past at a moment. `day`: the last day on which something counted towards the point limits,
    by the brand's clock. `uses`: what rules with limits gave, by the start of the period. `segments`: the current ones.
    `own`: how many events of each of the brand's own kinds earned."""

    lifetime: Decimal = ZERO
    level: str = ""
    orders: int = 0
    scans: int = 0
    last_at: datetime | None = None
    day: date | None = None
    day_points: Decimal = ZERO
    month_points: Decimal = ZERO
    uses: dict[UseKey, tuple[date, Used]] | None = None
    segments: frozenset[int] = NO_SEGMENTS
    own: Counter[str] | None = None

    def copy(self) -> "MemberState":
        own = Counter(self.own) if self.own else None
        return replace(self, uses=dict(self.uses) if self.uses else None, own=own)

    def earlier(self, kind: str, own_kinds: Collection[str]) -> int | None:
        """How many actions of the kind earned before; None for kinds that are not counted."""
        if kind == SCAN:
            return self.scans
        if kind == ORDER:
            return self.orders
        return (self.own[kind] if self.own else 0) if kind in own_kinds else None

    def count(self, kind: str, times: int, own_kinds: Collection[str]) -> None:
        """Count actions of the kind that earned."""
        if kind == SCAN:
            self.scans += times
        elif kind == ORDER:
            self.orders += times
        elif kind in own_kinds:
            self.own = self.own or Counter()
            self.own[kind] += times

    def limited_points(self, period: str, start: datetime) -> Decimal:
        """What counted towards the programme's limit in the period that began on `start`."""
        if self.day is None:
            return ZERO
        if period == "day":
            return self.day_points if self.day == start.date() else ZERO
        return self.month_points if self.day.replace(day=1) == start.date() else ZERO

    def count_limited(self, points: Decimal, day: date) -> None:
        if self.day != day:
            if self.day is None or (self.day.year, self.day.month) != (day.year, day.month):
                self.month_points = ZERO
            self.day, self.day_points = day, ZERO
        self.day_points += points
        self.month_points += points

    def used_in(self, starts: dict[str, date]) -> dict[UseKey, Used]:
        if not self.uses:
            return {}
        return {key: used for key, (started, used) in self.uses.items() if started == starts[key[1]]}

    def use(self, key: UseKey, started: date, points: Decimal) -> None:
        if self.uses is None:
            self.uses = {}
        before, used = self.uses.get(key, (started, UNUSED))
        self.uses[key] = (started, (used if before == started else UNUSED).plus(points))

    def climb(self, terms: Terms) -> None:
        """Raise the level after lifetime points changed. If levels have periods, the actual levels are used: see
        _Replay._place."""
        if terms.has_level_periods:
            return
        self.level = levels.level_after(levels=terms.levels, name=self.level, lifetime=self.lifetime)

    def take_over(self, past: dict[str, Any]) -> None:
        """Add the past of an account that was merged into this one, from its ledger entry. For the account that was
        merged into another one, the entry has the opposite sign."""
        self.orders += past["orders"]
        self.scans += past["scans"]
        if past["last_at"]:
            at = datetime.fromisoformat(past["last_at"])
            self.last_at = max(at, self.last_at or at)

    def descend(self, terms: Terms) -> None:
        """Lower the level after a return, if the brand recomputes it."""
        if terms.has_level_periods:
            return
        top = levels.reached(levels=terms.levels, lifetime=self.lifetime)
        if any(each.name == self.level for each in terms.levels):
            self.level = top.name if top else ""


@dataclass(slots=True)
class Member:
    """`actual` and `drafted`: the member's state really, and with the draft. `paid` and `tried`: the points of each.

    `pending`: for each entry with pending points, how many more the draft gave. `claimed`: reasons for which only the
    draft gave points. `campaign`: the member's progress in the drafted campaign.
    """

    user_id: int
    account: int | None
    actual: MemberState
    drafted: MemberState
    paid: Decimal = ZERO
    tried: Decimal = ZERO
    is_placed: bool = False  # an action has shown its level
    pending: dict[int, Decimal] | None = None
    claimed: set[str] | None = None
    levels: LevelHistory = field(default_factory=LevelHistory)
    campaign: RunningCampaign | None = None

    @property
    def states(self) -> list[MemberState]:
        return [self.actual] if self.drafted is self.actual else [self.actual, self.drafted]

    def part(self) -> None:
        """Separate the states: from now on the draft makes a difference."""
        if self.drafted is self.actual:
            self.drafted = self.actual.copy()


class Members:
    """The members that a replay has met. Their states at its beginning are read page by page."""

    def __init__(
        self,
        *,
        brand_id: int,
        since: datetime,
        terms: Terms,
        drafted_terms: Terms,
        has_limits: bool,
        own_kinds: Collection[str],
        has_level_periods: bool = False,
    ) -> None:
        """`drafted_terms`: the draft's, if it is about levels; otherwise `terms` itself."""
        self._brand_id, self._since, self._terms, self._has_limits = brand_id, since, terms, has_limits
        self._drafted_terms, self._own_kinds = drafted_terms, own_kinds
        self._has_level_periods = has_level_periods
        local = since.astimezone(terms.zone)
        self._midnight = midnight(local.date(), terms.zone)
        self._starts = period_starts(local)
        self._by_user: dict[int, Member] = {}
        self.met = 0

    def __getitem__(self, user_id: int) -> Member:
        return self._by_user[user_id]

    def load(self, user_ids: Collection[int]) -> None:
        """Load the members that are not loaded yet."""
        new = [user_id for user_id in user_ids if user_id not in self._by_user]
        if not new:
            return
        self.met += len(new)
        day = self._midnight
        parameters = {"brand_id": self._brand_id, "user_ids": new, "since": self._since, "day": day}
        rows = {row.user_id: row for row in FETCH_MEMBERS.all(**parameters, month=day.replace(day=1))}
        for user_id in new:
            state, row = MemberState(), rows.get(user_id)
            if row:
                state = MemberState(
                    lifetime=row.lifetime,
                    orders=row.orders,
                    scans=row.scans,
                    last_at=row.last_at,
                    day=day.date(),
                    day_points=row.day_points,
                    month_points=row.month_points,
                    segments=frozenset(row.segments) if row.segments else NO_SEGMENTS,
                )
                state.climb(self._terms)
            self._by_user[user_id] = Member(user_id, row.account if row else None, state, state)
        if self._has_level_periods:
            self._load_levels({row.account: user_id for user_id, row in rows.items() if row.account})
        if self._has_limits:
            month = day.replace(day=1)
            week = day.combine(self._starts["week"], day.time(), day.tzinfo)
            for use in FETCH_USES.all(**parameters, month=month, week=week):
                state = self._by_user[use.user_id].actual
                state.uses = state.uses or {}
                state.uses[use.rule_id, use.period] = (self._starts[use.period], Used(use.points, use.events))
        if self._own_kinds:
            for each in FETCH_OWN_COUNTS.all(brand_id=self._brand_id, user_ids=new, since=self._since):
                self._by_user[each.user_id].actual.count(each.kind, each.events, self._own_kinds)
        if self._drafted_terms is not self._terms:
            self._draft_levels(new)

    def _load_levels(self, users: Mapping[int, int]) -> None:
        """Load the level histories. `users`: user ID by account."""
        histories = level_history.fetch(brand_id=self._brand_id, accounts=users.keys(), since=self._since)
        for account, history in histories.items():
            self._by_user[users[account]].levels = history

    def _draft_levels(self, new: Sequence[int]) -> None:
        """With drafted levels, members start in the level that their lifetime points reach."""
        for user_id in new:
            member = self._by_user[user_id]
            member.part()
            member.drafted.level = ""
            member.drafted.climb(self._drafted_terms)

    def budgets(self, raw: "psycopg.Connection[Any]") -> dict[int, Used]:
        """What rules with budgets had given in all. Read from `raw`, which has no time limit."""
        parameters = {"brand_id": self._brand_id, "since": self._since}
        rows = raw.execute(FETCH_BUDGETS.text, parameters).fetchall()
        return {rule_id: Used(points, events) for rule_id, points, events in rows}

    def take(self, *, but: int | None) -> Sequence[Member]:
        """Remove and return all members except this one, who may have more actions."""
        last = self._by_user.pop(but, None) if but is not None else None
        result = list(self._by_user.values())
        self._by_user = {but: last} if last and but is not None else {}
        return result
