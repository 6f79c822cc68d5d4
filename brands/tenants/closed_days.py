"""Rollups of a brand's closed days: which days are due, in which portions, and how far they reach.

What a day adds up to is the business of whoever makes a `ClosedDays`; it is derived, and can be made again at any
time. Today stays out of it. Days are cut in the brand's zone: one that moves to another has them all made again.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from brands.models.tenants import Brand

logger = logging.getLogger(__name__)

DAY = timedelta(days=1)
# One statement takes no more days than this, so that a rebuild stays within the statement timeout.
PORTION_DAYS = 31


def local_day(brand: Brand, at: datetime) -> date:
    return at.astimezone(brand.zone).date()


def no_days(_brand: Brand, _before: date) -> Iterable[date]:
    return ()


def nothing(_brand: Brand, _at: datetime, _days: int) -> None:
    pass


@dataclass(frozen=True)
class ClosedDays:
    """Rollups of one kind. `write` and `clear` run in a transaction that holds the brand's watermark.

    `watermark`: a model with `brand`, `time_zone` and `until`; `first_day`: of what is added up; `write`: replaces the
    rows of these days, both included; `clear`: deletes them all; `stale`: the days before one that must be made again;
    `again_days`: how many of the last days are made again whenever somebody looks; `finish`: called after each catching
    up, outside of a transaction, with how many days it rolled up.
    """

    watermark: Any
    first_day: Callable[[Brand], date | None]
    write: Callable[[Brand, date, date], None]
    clear: Callable[[Brand], None]
    stale: Callable[[Brand, date], Iterable[date]] = no_days
    again_days: int = 0
    finish: Callable[[Brand, datetime, int], None] = nothing

    def roll_up(self, *, brand: Brand, day: date) -> None:
        """Make the rollup of one closed day, or make it again. Raises ValueError while it lasts."""
        self._roll_up(brand, day, day, today=local_day(brand, timezone.now()))

    def catch_up_all(self, *, at: datetime) -> int:
        """Catch up at each brand; returns how many days. One at which it fails is logged, and tried again later."""
        days = 0
        for brand in Brand.objects.order_by("pk"):
            try:
                days += self.catch_up(brand=brand, at=at)
            except Exception as error:
                if isinstance(error, OperationalError | InterfaceError) and not connection.is_usable():
                    raise
                logger.exception("the days of the brand %s could not be rolled up", brand.slug)
        return days

    def catch_up(self, *, brand: Brand, at: datetime) -> int:
        """Roll up every day that has closed by `at`, and again those that may have changed; returns how many days."""
        today = local_day(brand, at)
        mark: Any = self._marks.filter(brand=brand).first()
        if mark is None or mark.until is None or mark.time_zone != brand.time_zone:
            return self.rebuild(brand=brand, at=at)
        recent = mark.until + DAY - self.again_days * DAY
        days = sorted(set(self.stale(brand, recent)))
        for day in days:
            self._roll_up(brand, day, day, today=today)
        done = len(days) + self._roll_up_portions(brand, recent, today)
        self.finish(brand, at, done)
        return done

    def rebuild(self, *, brand: Brand, at: datetime) -> int:
        """Delete the brand's rollups and make them anew; returns how many days. Until then, all is read live."""
        today = local_day(brand, at)
        with transaction.atomic():
            self._hold(brand)
            self.clear(brand)
            self._marks.filter(brand=brand).update(until=None, time_zone=brand.time_zone)
        first = self.first_day(brand) or today - DAY
        done = self._roll_up_portions(brand, first, today)
        self.finish(brand, at, done)
        return done

    @property
    def _marks(self) -> Any:
        return self.watermark._default_manager  # noqa: SLF001 - Django's public API of models

    def _roll_up_portions(self, brand: Brand, first: date, today: date) -> int:
        """From the first day to yesterday, in order, so that the watermark can follow."""
        days = max((today - first).days, 0)
        for begin in range(0, days, PORTION_DAYS):
            last = min(begin + PORTION_DAYS, days) - 1
            self._roll_up(brand, first + begin * DAY, first + last * DAY, today=today)
        return days

    def _roll_up(self, brand: Brand, first: date, last: date, *, today: date) -> None:
        if last >= today:
            message = f"{last} has not ended in {brand.time_zone}"
            raise ValueError(message)
        with transaction.atomic():
            mark = self._hold(brand)
            self.write(brand, first, last)
            self._advance(mark, brand, first, last)

    def _hold(self, brand: Brand) -> Any:
        """The brand's watermark, locked: one rollup of a brand at a time. Call inside a transaction."""
        self._marks.get_or_create(brand=brand, defaults={"time_zone": brand.time_zone})
        return self._marks.select_for_update().get(brand=brand)

    def _advance(self, mark: Any, brand: Brand, first: date, last: date) -> None:
        """The watermark moves on only if no day before the first of these is missing."""
        if mark.until is None:
            begins = self.first_day(brand)
            follows = begins is None or first <= begins
        else:
            follows = first <= mark.until + DAY and last > mark.until
        if follows and mark.time_zone == brand.time_zone:
            mark.until = last
            mark.save(update_fields=["until"])
