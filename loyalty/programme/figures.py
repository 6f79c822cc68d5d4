"""The figures of the programme page and of `GET /brand/programme`; docs/programme.md defines them."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from brands.models.tenants import Brand
from loyalty.models.levels import BrandLevel
from loyalty.models.programme.rollups import (
    CohortRollup,
    ExpiringRollup,
    LevelRollup,
    MembersRollup,
    ProgrammeWatermark,
)
from loyalty.points import expiry
from loyalty.points.expiry_rules import months_later
from loyalty.programme import roll_forward
from loyalty.programme.movements import EARNED, EXPIRED, REDEEMED, REFUNDED, RELEASED, RETURNED
from loyalty.programme.roll_forward import Month
from loyalty.programme.rollups import month_of, months_between

ZERO = Decimal(0)
DEFAULT_MONTHS = 12
MAX_MONTHS = 60


@dataclass(frozen=True, slots=True)
class Members:
    """Member counts of a month. `lapsed` is as of its end, or of the last closed day."""

    month: date
    enrolled: int
    active: int
    lapsed: int


@dataclass(frozen=True, slots=True)
class Cohort:
    """Members who enrolled in a month, and how many were active in each month from then on."""

    month: date
    enrolled: int
    active: tuple[int, ...]

    @property
    def percents(self) -> list[float]:
        return [round(100 * each / self.enrolled, 1) if self.enrolled else 0.0 for each in self.active]


@dataclass(frozen=True, slots=True)
class Holders:
    """The number of members in a level. The name is empty for members without a level."""

    level: str
    members: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What the page displays for a brand's months. There is at least one.

    `until` is the last closed day, or None before the first rollup; `counted_at` is when levels and owed points were
    counted. `expires`: whether the brand's points expire; `expiring`: points by month, as of the end of that day.
    """

    months: tuple[Month, ...]
    until: date | None
    counted_at: datetime | None
    owed: Decimal
    expires: bool
    expiring: dict[date, Decimal]
    members: tuple[Members, ...]
    levels: tuple[Holders, ...]
    cohorts: tuple[Cohort, ...]

    def total(self, movement: str) -> Decimal:
        return sum((month.points[movement] for month in self.months), ZERO)

    @property
    def last(self) -> Month:
        return self.months[-1]

    @property
    def redeemed(self) -> Decimal:
        """Points redeemed in the displayed months, minus refunds."""
        return max(self.total(REDEEMED) - self.total(REFUNDED), ZERO)

    @property
    def earned(self) -> Decimal:
        """Points earned in the displayed months, including releases, minus those reversed by returned orders."""
        return max(self.total(EARNED) + self.total(RELEASED) - self.total(RETURNED), ZERO)

    @property
    def redemption_rate(self) -> float | None:
        """Percent of the points earned, or None if there were none."""
        return _percent(self.redeemed, self.earned)

    @property
    def breakage(self) -> float | None:
        """Of the points that were redeemed or expired, the percentage that expired. None if there were none."""
        return _percent(self.total(EXPIRED), self.redeemed + self.total(EXPIRED))

    @property
    def is_empty(self) -> bool:
        """Whether the brand has no activity at all."""
        return not (self.last.closing or any(month.entries or month.opening for month in self.months) or self.levels)


def _percent(part: Decimal, whole: Decimal) -> float | None:
    return float(round(100 * part / whole, 1)) if whole else None


def default_months(brand: Brand, at: datetime) -> tuple[date, date]:
    """The last twelve months, including the current one."""
    last = month_of(brand.day_at(at))
    return months_later(last, 1 - DEFAULT_MONTHS), last


def figures(*, brand: Brand, first: date, last: date, at: datetime) -> Figures:
    """Figures of the months `first` to `last`, each given by its first day. Leaves future months out."""
    last = min(last, month_of(brand.day_at(at)))
    first = min(first, last)
    mark = ProgrammeWatermark.objects.filter(brand=brand, time_zone=brand.time_zone).first()
    months = roll_forward.months(brand=brand, first=first, last=last, at=at)
    rule = expiry.rule_of(brand)
    return Figures(
        months=tuple(months),
        until=mark.until if mark else None,
        counted_at=mark.counted_at if mark else None,
        owed=mark.owed if mark else ZERO,
        expires=rule is not None,
        expiring=dict(ExpiringRollup.objects.filter(brand=brand).order_by("month").values_list("month", "points")),
        members=tuple(
            Members(*row)
            for row in MembersRollup.objects.filter(brand=brand, month__range=(first, last))
            .order_by("month")
            .values_list("month", "enrolled", "active", "lapsed")
        ),
        levels=tuple(_levels(brand)),
        cohorts=tuple(_cohorts(brand, first, last)),
    )


def _levels(brand: Brand) -> list[Holders]:
    """Lowest first, then deleted levels."""
    rows = dict(LevelRollup.objects.filter(brand=brand).values_list("level", "members"))
    names = ["", *BrandLevel.objects.filter(brand=brand).order_by("threshold").values_list("name", flat=True)]
    ordered = [name for name in names if name in rows] + sorted(set(rows) - set(names))
    return [Holders(name, rows[name]) for name in ordered]


def _cohorts(brand: Brand, first: date, last: date) -> list[Cohort]:
    enrolled = MembersRollup.objects.filter(brand=brand, month__range=(first, last), enrolled__gt=0)
    active: dict[date, dict[date, int]] = {}
    rows = CohortRollup.objects.filter(brand=brand, cohort__range=(first, last), month__lte=last)
    for cohort, month, number in rows.values_list("cohort", "month", "active"):
        active.setdefault(cohort, {})[month] = number
    return [
        Cohort(month, number, tuple(active.get(month, {}).get(each, 0) for each in months_between(month, last)))
        for month, number in enrolled.order_by("month").values_list("month", "enrolled")
    ]
