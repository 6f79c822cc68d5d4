"""The output side of a view: serializers that turn what a command returned into the answer."""

from functools import cache
from typing import Any

from rest_framework import serializers

from core.json_values import iso, plain


@cache
def _writer(kind: type["Output"]) -> "Output":
    """One for all answers: writing keeps no state, while a new serializer copies every field it declares."""
    return kind()


class Output(serializers.Serializer[Any]):
    """What an endpoint answers with. Its fields read the value by their sources; it never saves."""

    @classmethod
    def serialize(cls, value: Any) -> dict[str, Any]:
        """The answer's data."""
        found: dict[str, Any] = _writer(cls).to_representation(value)
        return found


class SuccessField(serializers.BooleanField):
    """The true that stands before an answer."""

    def get_attribute(self, instance: Any) -> bool:  # noqa: ARG002 - DRF's signature
        return True


class PointsField(serializers.FloatField):
    """Points or money as a JSON number; without a fraction where it is whole."""

    def to_representation(self, value: Any) -> Any:
        return plain(value)


class TimestampField(serializers.DateTimeField):
    """A moment in UTC with milliseconds."""

    def to_representation(self, value: Any) -> str:
        return iso(value)


class DoneOutput(Output):
    success = SuccessField()
