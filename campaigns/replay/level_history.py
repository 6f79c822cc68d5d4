"""The levels that members really had, if levels have periods: points alone do not show when a level was lowered."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from loyalty.models.levels import LevelChange

REACHED = LevelChange.Reason.REACHED.value


@dataclass(frozen=True, slots=True)
class PastLevel:
    number: int
    at: datetime
    before: str
    after: str
    is_reached: bool


@dataclass(slots=True)
class LevelHistory:
    """The level changes of one member, oldest first."""

    rows: list[PastLevel] = field(default_factory=list)
    _used: set[int] = field(default_factory=set)

    def before(self, *, at: datetime, after: str | None) -> str | None:
        """The level in which an action was decided; None if unknown. `after`: the level that its event recorded."""
        for row in self.rows:
            if row.is_reached and row.at == at and row.after == after and row.number not in self._used:
                self._used.add(row.number)
                return row.before
        if after is not None:
            return after
        earlier = [row for row in self.rows if row.at < at]
        if earlier:
            return earlier[-1].after
        return self.rows[0].before if self.rows else None


def fetch(*, brand_id: int, accounts: Collection[int], since: datetime) -> dict[int, LevelHistory]:
    """The level history of each account that has one."""
    rows: Iterable[tuple[int, int, datetime, str, str, str]] = (
        LevelChange.objects.filter(brand=brand_id, user_point__in=accounts, created_at__gte=since)
        .order_by("id")
        .values_list("user_point_id", "id", "created_at", "level_before", "level_after", "reason")
    )
    result: dict[int, LevelHistory] = defaultdict(LevelHistory)
    for account, number, at, before, after, reason in rows:
        result[account].rows.append(PastLevel(number, at, before, after, reason == REACHED))
    return result
