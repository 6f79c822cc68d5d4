"""The input side of a view: serializers that only read and never save."""

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import serializers

from core import languages, moments

# The JSON types that a field requires. DRF would accept "5" and true as numbers, and 5 as text.
NUMBERS = (serializers.IntegerField, serializers.FloatField, serializers.DecimalField)
TEXTS = (serializers.CharField, serializers.ChoiceField, serializers.DateTimeField, serializers.UUIDField)


def one_line(text: str) -> None:
    """Validator: no newline or other control character."""
    if any(unicodedata.category(letter) == "Cc" for letter in text):
        raise serializers.ValidationError(_("Send text without control characters."))


class MomentInput(serializers.DateTimeField):
    """A moment within the bounds of core.moments, in ISO 8601 with ASCII digits."""

    def to_internal_value(self, value: Any) -> Any:
        if isinstance(value, str) and not value.isascii():
            self.fail("invalid", format="YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]")
        moment = super().to_internal_value(value)
        if not moments.is_within(moment):
            message = _("Send a moment from %(first)d to %(last)d.")
            raise serializers.ValidationError(message % {"first": moments.YEARS[0], "last": moments.YEARS[-1]})
        return moment


class SwitchField(serializers.BooleanField):
    """A JSON boolean. DRF would accept "yes" and 1, too."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError(_("Send true or false."))
        return data


@cache
def _reader(kind: type["Input"]) -> "Input":
    """One instance for all requests: reading keeps no state, while a new serializer copies all its fields."""
    return kind()


class Input(serializers.Serializer[Any]):
    """Reads a request's data. Unknown members are dropped; a value of the wrong JSON type is rejected."""

    @classmethod
    def parse(cls, data: Any) -> dict[str, Any]:
        """The validated data. Raises DRF's ValidationError, which the API returns as VALIDATION_ERROR."""
        try:
            result: dict[str, Any] = _reader(cls).run_validation(data)
        except serializers.ValidationError:
            # The error messages are texts already. Only now is it worth deciding on their language.
            if languages.decide() == settings.LANGUAGE_CODE:
                raise
            result = _reader(cls).run_validation(data)
        return result

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            complaints = {
                name: [message] for name, field in self.fields.items() if (message := mistyped(field, data.get(name)))
            }
            if complaints:
                raise serializers.ValidationError(complaints)
        return super().to_internal_value(data)


class ChangeInput(Input):
    """Changes to a row. At least one field is required besides those that only accompany a change."""

    accompanying: ClassVar[frozenset[str]] = frozenset()

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if not data.keys() - self.accompanying:
            raise serializers.ValidationError(_("Send at least one field to change."))
        return data


def mistyped(field: serializers.Field[Any, Any, Any, Any], value: Any) -> str:
    """The type that `value` should have. Empty if its type fits, or if the field checks the type itself."""
    if value is None:
        return ""
    if isinstance(field, NUMBERS) and (isinstance(value, bool) or not isinstance(value, int | float)):
        return _("Send a JSON number.")
    if isinstance(field, TEXTS) and not isinstance(value, str):
        return _("Send a JSON string.")
    if isinstance(field, serializers.UUIDField) and not value.isascii():
        return _("Must be a valid UUID.")
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        return next(filter(None, (mistyped(field.child, each) for each in value)), "")
    return ""


ID: dict[str, Any] = {"min_value": 1, "max_value": 2**63 - 1}
MONEY: dict[str, Any] = {
    "max_digits": 14,
    "decimal_places": 4,
    "min_value": 0,
    "help_text": "At most 4 decimal places.",
}
