"""The input side of a view: a serializer that only reads. It never saves."""

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import serializers

from core import languages, moments

# What JSON must write for a field; DRF alone would take "5" and true for numbers, and 5 for text.
NUMBERS = (serializers.IntegerField, serializers.FloatField, serializers.DecimalField)
TEXTS = (serializers.CharField, serializers.ChoiceField, serializers.DateTimeField, serializers.UUIDField)


def one_line(text: str) -> None:
    """Validator: no newline or other control character."""
    if any(unicodedata.category(letter) == "Cc" for letter in text):
        raise serializers.ValidationError(_("Send text without control characters."))


class MomentInput(serializers.DateTimeField):
    """A moment within the bounds of core.moments, in ISO 8601 with digits from 0 to 9."""

    def to_internal_value(self, value: Any) -> Any:
        if isinstance(value, str) and not value.isascii():
            self.fail("invalid", format="YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]")
        moment = super().to_internal_value(value)
        if not moments.is_within(moment):
            message = _("Send a moment from %(first)d to %(last)d.")
            raise serializers.ValidationError(message % {"first": moments.YEARS[0], "last": moments.YEARS[-1]})
        return moment


class SwitchField(serializers.BooleanField):
    """On or off, as JSON writes it; DRF alone would take "yes" and 1 too."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError(_("Send true or false."))
        return data


@cache
def _reader(kind: type["Input"]) -> "Input":
    """One for all requests: reading keeps no state, while a new serializer copies every field it declares."""
    return kind()


class Input(serializers.Serializer[Any]):
    """Reads a request's data; what it does not name is dropped, and what has another JSON type is refused."""

    @classmethod
    def parse(cls, data: Any) -> dict[str, Any]:
        """The validated data. Raises DRF's ValidationError, which the API answers as VALIDATION_ERROR."""
        try:
            result: dict[str, Any] = _reader(cls).run_validation(data)
        except serializers.ValidationError:
            # Its complaints are texts already. Only now is it worth asking which language they should have been in.
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
    """What changes of a row; at least one field, besides those that only go along with a change."""

    accompanying: ClassVar[frozenset[str]] = frozenset()

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if not data.keys() - self.accompanying:
            raise serializers.ValidationError(_("Send at least one field to change."))
        return data


def mistyped(field: serializers.Field[Any, Any, Any, Any], value: Any) -> str:
    """What `value` should be instead; empty where its type fits, or where the field itself can tell."""
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
