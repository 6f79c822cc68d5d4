"""Numbers on portal pages: with grouped thousands, and points without a fraction if they are whole."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.db.models import AutoField, DecimalField, IntegerField
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from core.numbers import format_number, plural_number
from portal.lists.field_column import FieldColumn

POINTS = re.compile("points|cost|threshold|value|balance|max_total|_limit$")
PLAIN_NUMBER = re.compile(r"-?[0-9]+([.,][0-9]{2})?")  # in any language, without grouping


class NumberColumn(FieldColumn):
    """A list's column of numbers."""

    def __call__(self, row: Any) -> str | None:
        number: Decimal | int | None = getattr(row, self.__name__)
        return None if number is None else format_number(number)


def is_number(field: Any) -> bool:
    """Whether the field is a number of things or points, as opposed to an id, a choice or a price."""
    if isinstance(field, DecimalField):
        return field.decimal_places == 2 and bool(POINTS.search(field.name))
    return isinstance(field, IntegerField) and not isinstance(field, AutoField) and not field.choices


def format_points(points: Decimal | int) -> str:
    """With the unit: 1 point, 12.50 points."""
    message = ngettext("%(points)s point", "%(points)s points", plural_number(points))
    return message % {"points": format_number(points)}


def format_times(times: int) -> str:
    """The number of times: 1 time, 1,200 times."""
    return ngettext("%(times)s time", "%(times)s times", times) % {"times": format_number(times)}


def group_thousands(contents: SafeString) -> SafeString:
    """A number that Django formatted, in the portal's own format."""
    if not PLAIN_NUMBER.fullmatch(contents):
        return contents
    return SafeString(format_number(Decimal(contents.replace(",", "."))))


def trim_zero_fraction(display: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A form field's displayed value, without a fraction of zeros."""

    def prepared(value: Any) -> Any:
        value = display(value)
        return f"{value:.0f}" if isinstance(value, Decimal) and value == value.to_integral_value() else value

    return prepared


class GroupedNumbers:
    """Formats numbers in the forms of portal pages and their inline tables."""

    opts: Any

    def formfield_for_dbfield(self, db_field: Any, request: Any, **options: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **options)  # type: ignore[misc]
        if field and is_number(db_field):
            field.prepare_value = trim_zero_fraction(field.prepare_value)
        return field

    @property
    def readonly_preprocess_fields(self) -> dict[str, Any]:
        """Called by django-unfold with the text of a read-only field."""
        return {field.name: group_thousands for field in self.opts.concrete_fields if is_number(field)}
