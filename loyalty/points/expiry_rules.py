"""When points expire: pure rules about days in the brand's time zone."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ExpiryRule:
    """A brand's rule: `kind` is a Brand.Expiry, `after` a number of days, months or years."""

    kind: str
    after: int

    def expired_on(self, earned: date) -> date:
        """The first day without the points earned on `earned`. It never decreases for later days."""
        if self.kind == "days":
            return earned + (self.after + 1) * DAY
        if self.kind == "months":
            return months_later(earned, self.after) + DAY
        if self.kind == "month_end":
            return months_later(earned.replace(day=1), self.after + 1)
        return date(earned.year + self.after + 1, 1, 1)

    def retained_from(self, day: date) -> date:
        """The first day whose points are not yet gone on `day`."""
        first = self._guess(day)
        while self.expired_on(first) > day:
            first -= DAY
        while self.expired_on(first) <= day:
            first += DAY
        return first

    def _guess(self, day: date) -> date:
        if self.kind == "days":
            return day - self.after * DAY
        if self.kind == "year_end":
            return date(day.year - self.after, 1, 1)
        return months_later(day.replace(day=1) if self.kind == "month_end" else day, -self.after)


def months_later(day: date, months: int) -> date:
    """The same day a number of months later, or the last day of that month if it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
