"""The output side of a view: serializers that turn a command's result into the answer."""

from functools import cache, cached_property
from typing import Any

from rest_framework import serializers

from core.json_values import iso, json_number


@cache
def _writer(kind: type["Output"]) -> "Output":
    """One instance for all answers: writing keeps no state, while a new serializer copies all its fields."""
    return kind()


class Output(serializers.Serializer[Any]):
    """An endpoint's answer. Its fields read the value by their sources; it never saves.

    A field that is not required is left out if it has no value, unless it may be null.
    """

    @classmethod
    def serialize(cls, value: Any) -> dict[str, Any]:
        """The answer's data."""
        result: dict[str, Any] = _writer(cls).to_representation(value)
        return result

    @cached_property
    def optional(self) -> list[str]:
        return [name for name, field in self.fields.items() if not (field.required or field.allow_null)]

    def to_representation(self, instance: Any) -> dict[str, Any]:
        result: dict[str, Any] = super().to_representation(instance)
        for name in self.optional:
            if result.get(name) is None:
                result.pop(name, None)
        return result


class SuccessField(serializers.BooleanField):
    """The `success: true` at the beginning of an answer."""

    def get_attribute(self, instance: Any) -> bool:
        return True


def data_output(data: type[Output]) -> type[Output]:
    """The answer that has one object as its `data`: PointsOutput for PointsData."""
    name = data.__name__.removesuffix("Data") + "Output"
    return type(name, (Output,), {"success": SuccessField(), "data": data(source="*")})


class PointsField(serializers.FloatField):
    """Points or money as a JSON number, without a fraction if it is whole."""

    def to_representation(self, value: Any) -> Any:
        return json_number(value)


class TimestampField(serializers.DateTimeField):
    """A moment in UTC with milliseconds."""

    def to_representation(self, value: Any) -> str:
        return iso(value)


class PictureField(serializers.CharField):
    """The path of a picture on this host, by its id: WebP of 480 x 360 pixels at most."""

    def to_representation(self, value: Any) -> str:
        return f"/pictures/{value}/small"


class DoneOutput(Output):
    success = SuccessField()
