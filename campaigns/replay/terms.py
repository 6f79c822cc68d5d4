"""A brand's levels, limits, ceiling and clock as they were at a moment: see EarningTerms."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from campaigns.accrual.snapshot import parse_levels
from campaigns.models.replays import EarningTerms
from loyalty.points.levels import Level


@dataclass(frozen=True, slots=True)
class Terms:
    """The earning terms besides rules. Limits in points; levels lowest first."""

    zone: ZoneInfo
    levels: tuple[Level, ...]
    daily: Decimal | None
    monthly: Decimal | None
    ceiling: int
    lowers_levels: bool  # after a return
    limits_points: bool
    has_level_periods: bool = False


class TermsHistory:
    """All terms that a brand had. The first stored ones are used for earlier moments as well."""

    def __init__(self, moments: Sequence[datetime], terms: Sequence[Terms]) -> None:
        self._moments, self._terms = moments, terms
        self._begins_last = moments[-1]
        self.ever_limits_points = any(each.limits_points for each in terms)

    @classmethod
    def of(cls, brand_id: int) -> "TermsHistory":
        rows = list(EarningTerms.objects.filter(brand=brand_id).order_by("valid_from", "pk"))
        return cls([row.valid_from for row in rows], [_terms(row.content) for row in rows])

    @property
    def have_level_periods(self) -> bool:
        """Whether levels had periods at any time."""
        return any(terms.has_level_periods for terms in self._terms)

    def at(self, moment: datetime) -> Terms:
        if moment >= self._begins_last:
            return self._terms[-1]
        return self._terms[max(0, bisect_right(self._moments, moment) - 1)]

    def with_levels(self, levels: Sequence[Level]) -> "TermsHistory":
        """The same history, but always with these levels."""
        return TermsHistory(self._moments, [replace(each, levels=tuple(levels)) for each in self._terms])


def _terms(content: dict[str, Any]) -> Terms:
    daily, monthly = _points(content["daily"]), _points(content["monthly"])
    return Terms(
        zone=ZoneInfo(content["time_zone"]),
        levels=parse_levels(content["levels"]),
        daily=daily,
        monthly=monthly,
        ceiling=content["ceiling"],
        lowers_levels=content["after_return"] == "recompute",
        limits_points=daily is not None or monthly is not None,
        has_level_periods=content.get("level_periods", False),
    )


def _points(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
