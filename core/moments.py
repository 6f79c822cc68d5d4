"""The bounds of every date and time that the service accepts or stores, and the fields that enforce them.

PostgreSQL supports years before 1 and after 9999, which Python cannot read, and near both ends of Python's calendar
some time zones have no date. Within these bounds every zone has one, with room to add and subtract.
"""

import re
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from core.forms.moments import ENDS, MomentFormField

YEARS = range(1970, 2200)
FIRST_DAY, LAST_DAY = date(YEARS[0], 1, 1), date(YEARS[-1], 12, 31)
FIRST_MOMENT, LAST_MOMENT = datetime(YEARS[0], 1, 1, tzinfo=UTC), datetime(YEARS[-1], 12, 31, 23, 59, 59, tzinfo=UTC)


def is_within(value: date | datetime) -> bool:
    """Whether a day, or a moment with its zone, lies within the bounds."""
    if isinstance(value, datetime):
        return FIRST_MOMENT <= value <= LAST_MOMENT
    return FIRST_DAY <= value <= LAST_DAY


def parse_day(value: Any) -> date:
    """Parse YYYY-MM-DD and no other form of ISO 8601. Raises ValueError, also for a value that is not text."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise ValueError(value)
    return date.fromisoformat(value)


def parse_time(value: Any) -> time:
    """Parse HH:MM and no other form of ISO 8601. Raises ValueError, also for a value that is not text."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{2}:[0-9]{2}", value):
        raise ValueError(value)
    return time.fromisoformat(value)


def check(value: date | datetime) -> None:
    """Validator of form and model fields."""
    if not is_within(value):
        message = _("Enter a date from %(first)d to %(last)d.")
        raise ValidationError(message, "out_of_bounds", {"first": YEARS[0], "last": YEARS[-1]})


class _Bounded:
    """A mixin for fields whose values lie within the bounds. Forms, `full_clean` and the database check it."""

    default_validators = (check,)
    bounds: tuple[date, date]
    column: Any

    def db_check(self, connection: Any) -> str:
        """The column's CHECK; migrations add it with the field."""
        return self.check_of(connection.ops.quote_name(self.column))

    def check_of(self, column: str) -> str:
        first, last = self.bounds
        return f"{column} BETWEEN '{first.isoformat()}' AND '{last.isoformat()}'"

    def db_parameters(self, connection: Any) -> Any:
        return {**super().db_parameters(connection), "check": self.db_check(connection)}  # type: ignore[misc]

    def formfield(self, **options: Any) -> Any:
        """The form field validates the bounds at once, before the form's own checks calculate with the value."""
        return super().formfield(**{"validators": [check], **options})  # type: ignore[misc]


if TYPE_CHECKING:
    S = TypeVar("S")
    G = TypeVar("G")

    class _DateTimeField(models.DateTimeField[S, G]): ...

    class _DateField(models.DateField[S, G]): ...

    class MomentField(_Bounded, models.DateTimeField[S, G]):
        default_validators: Any

    class DayField(_Bounded, models.DateField[S, G]):
        default_validators: Any

else:

    class MomentField(_Bounded, models.DateTimeField):
        """A moment within the bounds."""

        bounds = FIRST_MOMENT, LAST_MOMENT

        def formfield(self, **options: Any) -> Any:
            """In the portal's forms, with separate date and time inputs, a field that accepts a date alone."""
            if options.get("form_class") is forms.SplitDateTimeField:
                options |= {"form_class": MomentFormField, "is_end": self.name in ENDS}
            return super().formfield(**options)

    class DayField(_Bounded, models.DateField):
        """A day within the bounds."""

        bounds = FIRST_DAY, LAST_DAY
