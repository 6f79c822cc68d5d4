"""Numbers, days and ids in forms accept only ASCII digits, although Python parses those of every script."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

NUMERIC = (
    forms.IntegerField,  # decimals and floats are subclasses
    forms.ModelChoiceField,
    forms.TypedChoiceField,
    forms.DateField,
    forms.DateTimeField,
    forms.SplitDateTimeField,
    forms.TimeField,
    forms.DurationField,
    forms.UUIDField,
)


class AsciiDigits:
    """A mixin for forms."""

    def _clean_fields(self) -> None:
        super()._clean_fields()  # type: ignore[misc] # missing in the stubs
        form: Any = self
        for name, bound in form._bound_items():  # noqa: SLF001 - our own base's
            if isinstance(bound.field, NUMERIC) and not bound.field.disabled and has_other_digits(bound.data):
                form.add_error(name, ValidationError(_("Use the digits 0 to 9."), "digits"))


def has_other_digits(data: Any) -> bool:
    if isinstance(data, list | tuple):
        return any(has_other_digits(each) for each in data)
    return isinstance(data, str) and any(letter.isdigit() and not letter.isascii() for letter in data)
