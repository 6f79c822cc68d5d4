"""A brand's levels, limits, ceiling and clock as they were at a moment: see EarningTerms."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from campaigns.models.replays import EarningTerms
from loyalty.points.levels import Level


@dataclass(frozen=True, slots=True)
class Terms:
    """What decides beside the rules. Points of the limits; levels lowest first."""

    zone: ZoneInfo
    levels: tuple[Level, ...]
    daily: Decimal | None
    monthly: Decimal | None
    ceiling: int
    lowers_levels: bool  # after a return
    has_level_periods: bool = False

    @property
    def limits_points(self) -> bool:
        return self.daily is not None or self.monthly is not None


class TermsHistory:
    """All that a brand's terms have been. What was before the first that is kept is taken to be as that."""

    def __init__(self, brand_id: int) -> None:
        rows = list(EarningTerms.objects.filter(brand=brand_id).order_by("valid_from", "pk"))
        self._moments = [row.valid_from for row in rows]
        self._terms = [_terms(row.content) for row in rows]

    @property
    def have_level_periods(self) -> bool:
        """Whether levels had periods at any time."""
        return any(terms.has_level_periods for terms in self._terms)

    def at(self, moment: datetime) -> Terms:
        return self._terms[max(0, bisect_right(self._moments, moment) - 1)]


def _terms(content: dict[str, Any]) -> Terms:
    return Terms(
        zone=ZoneInfo(content["time_zone"]),
        levels=tuple(
            Level(name, Decimal(threshold), kind, Decimal(value)) for name, threshold, kind, value in content["levels"]
        ),
        daily=_points(content["daily"]),
        monthly=_points(content["monthly"]),
        ceiling=content["ceiling"],
        lowers_levels=content["after_return"] == "recompute",
        has_level_periods=content.get("level_periods", False),
    )


def _points(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
