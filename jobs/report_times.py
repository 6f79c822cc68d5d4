"""Calculates when scheduled reports are due; writes nothing."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from jobs.models import ReportSchedule

Frequency = ReportSchedule.Frequency
MAX_DAYS_APART = 33  # a month, plus a day on each side for zones that skipped one


def next_moment(schedule: ReportSchedule, zone: ZoneInfo, *, after: datetime) -> datetime:
    """The schedule's first moment after `after`, in UTC.

    An hour that the clock skips in spring counts from the skip; one that occurs twice in autumn counts once.
    """
    days = _days_from(after.astimezone(zone).date())
    moments = (local_hour(day, schedule.hour, zone) for day in days if is_on(schedule, day))
    return next(moment for moment in moments if moment > after)


def local_hour(day: date, hour: int, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(hour), zone).astimezone(UTC)


def is_on(schedule: ReportSchedule, day: date) -> bool:
    """Whether a report is sent on this day."""
    if schedule.frequency == Frequency.WEEKLY:
        return day.weekday() == schedule.weekday
    if schedule.frequency == Frequency.MONTHLY:
        return day.day == schedule.day
    return True


def _days_from(first: date) -> Iterator[date]:
    return (first + timedelta(days=number) for number in range(MAX_DAYS_APART + 1))
