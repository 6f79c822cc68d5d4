"""Rollups of a brand's closed days: which days are due, in which portions, and how far they reach.

The creator of a `ClosedDays` defines what is summed up. Rollups are derived data, and can be rebuilt at any time.
Today is never included. Days are in the brand's time zone; when a brand changes it, all its days are rebuilt.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from brands.models.tenants import Brand
from brands.tenants.turns import TURN_SECONDS, in_turns

DAY = timedelta(days=1)
# One statement covers at most this many days, so that a rebuild stays within the statement timeout, and other brands
# get their turn in between.
PORTION_DAYS = 31


def portions(first: date, today: date) -> Iterator[tuple[date, date]]:
    """The first and the last day of each portion from `first` to yesterday, in order, so that the watermark follows."""
    while first < today:
        last = min(first + (PORTION_DAYS - 1) * DAY, today - DAY)
        yield first, last
        first = last + DAY


@dataclass(frozen=True)
class ClosedDays:
    """Rollups of one kind. `write` and `clear` run in a transaction that locks the brand's watermark.

    `watermark`: a model with `brand`, `time_zone` and `until`; `first_day`: the first day to sum up; `write`:
    replaces the rows of these days, both included; `clear`: deletes them all; `stale`: the days before a given day
    that must be rolled up again; `again_days`: how many of the last days each catch-up repeats; `finish`: called
    after each catch-up, outside a transaction, with the number of days.
    """

    watermark: Any
    first_day: Callable[[Brand], date | None]
    write: Callable[[Brand, date, date], None]
    clear: Callable[[Brand], None]
    stale: Callable[[Brand, date], Iterable[date]] = lambda _brand, _before: ()
    again_days: int = 0
    finish: Callable[[Brand, datetime, int], None] = lambda _brand, _at, _days: None

    def roll_up(self, *, brand: Brand, day: date) -> None:
        """Roll up one closed day, or do it again. Raises ValueError before the day has ended."""
        self._write_days(brand, day, day, today=brand.day_at(timezone.now()))

    def catch_up_all(self, *, at: datetime, seconds: float = TURN_SECONDS) -> int:
        """Catch up at all brands, one portion of each in turn, for `seconds`. Returns how many days.

        A brand whose rollup fails is logged, and tried again later. The next calls do what is left.
        """
        failure = "the days of the brand %s could not be rolled up"
        portions_of = partial(self._caught_up, at=at)
        return in_turns(Brand.objects.all(), portions_of, failure=failure, seconds=seconds)

    def catch_up(self, *, brand: Brand, at: datetime) -> int:
        """Roll up every day that has closed by `at`, and again those that may have changed; returns how many days."""
        return sum(self._caught_up(brand, at=at))

    def rebuild(self, *, brand: Brand, at: datetime) -> int:
        """Delete the brand's rollups and build them again. Returns how many days. Until then, all is read live."""
        return sum(self._rebuilt(brand, at=at))

    def _caught_up(self, brand: Brand, *, at: datetime) -> Iterator[int]:
        """Do a portion of `catch_up` at each step, and yield how many days. A later call can continue it."""
        mark: Any = self._marks.filter(brand=brand).first()
        if mark is None or mark.time_zone != brand.time_zone:
            yield from self._rebuilt(brand, at=at)
        elif mark.until is None:  # a rebuild was stopped before its first day
            yield from self._rolled_up(brand, self._all_portions(brand, at), at=at)
        else:
            recent = mark.until + DAY - self.again_days * DAY
            stale = [(day, day) for day in sorted(set(self.stale(brand, recent)))]
            # New days do not wait for stale ones.
            yield from self._rolled_up(brand, [*portions(recent, brand.day_at(at)), *stale], at=at)

    def _rebuilt(self, brand: Brand, *, at: datetime) -> Iterator[int]:
        """The same for `rebuild`. If this is stopped, `catch_up` continues from there."""
        brand.day_at(at)  # raises for an unknown time zone, before anything is deleted
        with transaction.atomic():
            self._hold(brand)
            if not Brand.objects.filter(pk=brand.pk, time_zone=brand.time_zone).exists():
                return  # its time zone has changed: the next call reads the new one and rebuilds
            self.clear(brand)
            self._marks.filter(brand=brand).update(until=None, time_zone=brand.time_zone)
        yield from self._rolled_up(brand, self._all_portions(brand, at), at=at)

    def _all_portions(self, brand: Brand, at: datetime) -> Iterator[tuple[date, date]]:
        today = brand.day_at(at)
        return portions(self.first_day(brand) or today - DAY, today)

    def _rolled_up(self, brand: Brand, spans: Iterable[tuple[date, date]], *, at: datetime) -> Iterator[int]:
        """The last step calls `finish` before it yields, as a caller that stops would never resume it.

        It ends early if the brand's time zone changed after it was read: the rebuild writes its days.
        """
        today, done, of_step = brand.day_at(at), 0, 0
        for first, last in spans:
            if of_step >= PORTION_DAYS:
                yield of_step
                of_step = 0
            if not self._write_days(brand, first, last, today=today):
                yield of_step
                return
            days = (last - first).days + 1
            of_step += days
            done += days
        self.finish(brand, at, done)
        yield of_step

    @property
    def _marks(self) -> Any:
        return self.watermark._default_manager

    def _write_days(self, brand: Brand, first: date, last: date, *, today: date) -> bool:
        """Returns whether the days were written: not if the watermark has another time zone than `brand`."""
        if last >= today:
            raise ValueError(f"{last} has not ended in {brand.time_zone}")
        with transaction.atomic():
            mark = self._hold(brand)
            if mark.time_zone != brand.time_zone:
                return False
            self.write(brand, first, last)
            self._advance(mark, brand, first, last)
        return True

    def _hold(self, brand: Brand) -> Any:
        """The brand's watermark, locked: one rollup of a brand at a time. Call inside a transaction."""
        self._marks.get_or_create(brand=brand, defaults={"time_zone": brand.time_zone})
        return self._marks.select_for_update().get(brand=brand)

    def _advance(self, mark: Any, brand: Brand, first: date, last: date) -> None:
        """Advance the watermark, but only if no day before `first` is missing."""
        if mark.until is None:
            begins = self.first_day(brand)
            follows = begins is None or first <= begins
        else:
            follows = first <= mark.until + DAY and last > mark.until
        if follows:
            mark.until = last
            mark.save(update_fields=["until"])
