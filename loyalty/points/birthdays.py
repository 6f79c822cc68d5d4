"""Birthdays: the only code that writes Birthday. Stores day and month without the year, so no age is stored."""

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from core.errors import Invalid
from loyalty.models.members.birthdays import Birthday

WRITTEN = re.compile(r"(?:[0-9]{4}-|--)?([0-9]{2})-([0-9]{2})")
LEAP_YEAR = 2000


@dataclass(frozen=True, slots=True)
class MonthDay:
    """A birthday without its year."""

    month: int
    day: int

    def __str__(self) -> str:
        return f"{self.month:02}-{self.day:02}"


def parsed(text: str) -> MonthDay | None:
    """Parse `MM-DD`, or `YYYY-MM-DD` without its year. Returns None for an empty text. Raises Invalid."""
    if not text:
        return None
    parts = WRITTEN.fullmatch(text)
    month, day = (int(parts[1]), int(parts[2])) if parts else (0, 0)
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(LEAP_YEAR, month)[1]:
        message = _("Enter a day of the year as month and day, such as 12-31. A year may stand before it.")
        raise Invalid(message, details={"fields": {"birthday": [message]}})
    return MonthDay(month, day)


def read(user_id: int, brand_id: int) -> str:
    """As `MM-DD`, or "" if the brand knows none."""
    row = Birthday.objects.filter(user_id=user_id, brand_id=brand_id).first()
    return str(row) if row else ""


def change(user_id: int, brand_id: int, *, text: str, at: datetime) -> str:
    """Set the birthday, or remove it with an empty text. The same day again changes nothing. Raises Invalid.

    Returns the stored text. Call in the caller's transaction.
    """
    birthday = parsed(text)
    rows = Birthday.objects.filter(user_id=user_id, brand_id=brand_id)
    if birthday is None:
        rows.delete()
        return ""
    values: dict[str, Any] = {"month": birthday.month, "day": birthday.day, "set_at": at}
    if not rows.filter(month=birthday.month, day=birthday.day).exists():
        Birthday.objects.update_or_create(user_id=user_id, brand_id=brand_id, defaults=values)
    return str(birthday)


def add_many(*, brand_id: int, birthdays: Sequence[tuple[int, str]], at: datetime) -> None:
    """Add birthdays of imported people, by user id. A known birthday is not replaced. Joins a transaction."""
    rows = [
        Birthday(brand_id=brand_id, user_id=user_id, month=day.month, day=day.day, set_at=at)
        for user_id, text in birthdays
        if (day := parsed(text)) is not None
    ]
    Birthday.objects.bulk_create(rows, ignore_conflicts=True)
