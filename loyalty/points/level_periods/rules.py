"""When levels end: pure rules about days in the brand's time zone."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from brands.models.tenants import Brand
from loyalty.points.expiry_rules import months_later

DAY = timedelta(days=1)
LIFETIME, ROLLING = Brand.LevelPeriod.LIFETIME.value, Brand.LevelPeriod.ROLLING.value
CALENDAR_MONTHS = {"year": 12, "half_year": 6, "quarter": 3}


@dataclass(frozen=True, slots=True)
class LevelRule:
    """A brand's rule: `kind` is a Brand.LevelPeriod, `months` is the length of the period.

    `until` days are the last days of a level. Calendar: a level lasts until the end of the period after the one in
    which it was reached. Rolling: it lasts `months` from the day on which it was reached.
    """

    kind: str
    months: int
    grace_days: int
    warning_days: int
    zone: ZoneInfo

    @property
    def is_rolling(self) -> bool:
        return self.kind == ROLLING

    @property
    def period(self) -> str:
        """The part that determines how long levels last, for comparing."""
        return f"{self.kind}:{self.months}"

    @property
    def setting(self) -> str:
        """The whole rule, for comparing."""
        return f"{self.period}:{self.grace_days}:{self.warning_days}:{self.zone.key}"

    def today(self, at: datetime) -> date:
        return at.astimezone(self.zone).date()

    def counted_from(self, day: date) -> date:
        """The first day whose points count towards a level on `day`."""
        if self.is_rolling:
            return months_later(day, -self.months)
        return date(day.year, (day.month - 1) // self.months * self.months + 1, 1)

    def period_end(self, day: date) -> date | None:
        """The last day of the calendar period with `day`, or None for rolling periods."""
        return None if self.is_rolling else months_later(self.counted_from(day), self.months) - DAY

    def last_day_of_level(self, day: date) -> date:
        """The last day of a level that is reached on `day`."""
        if self.is_rolling:
            return months_later(day, self.months)
        return months_later(self.counted_from(day), 2 * self.months) - DAY

    def renewed_until(self, until: date) -> date:
        """The last day of a level that is renewed at its end."""
        if self.is_rolling:
            return months_later(until, self.months)
        return months_later(until + DAY, self.months) - DAY

    def renewal_starts_on(self, until: date) -> date:
        """The first day whose points renew a level that ends on `until`."""
        return months_later(until + DAY, -self.months)

    def first_day_after_grace(self, until: date) -> date:
        """The first day without the level. Points of all earlier days still renew it."""
        return until + (1 + self.grace_days) * DAY

    def warns_on(self, until: date) -> date:
        return until - self.warning_days * DAY

    def counted_points_change_on(self, day: date, oldest: date | None) -> date:
        """The next day on which the counted points change. `oldest` is the day of the first counted entry."""
        if not self.is_rolling:
            return months_later(self.counted_from(day), self.months)
        # Months differ in length, so the day may be off by one. The account is then settled again.
        leaves = months_later(oldest or day, self.months) + DAY
        return max(leaves, day + DAY)


def rule_of(brand: Brand) -> LevelRule | None:
    """The brand's rule, or None if levels do not end."""
    return rule_from(
        brand.level_period,
        brand.level_period_months,
        brand.level_grace_days,
        brand.level_warning_days,
        brand.zone,
    )


def rule_from(kind: str, months: int, grace_days: int, warning_days: int, zone: ZoneInfo) -> LevelRule | None:
    if kind == LIFETIME:
        return None
    return LevelRule(kind, CALENDAR_MONTHS.get(kind, months), grace_days, warning_days, zone)


def setting_of(brand: Brand) -> str:
    rule = rule_of(brand)
    return rule.setting if rule else LIFETIME
