"""The input side of a view: a serializer that only reads. It never saves."""

from typing import Any

from rest_framework import serializers


class Input(serializers.Serializer[Any]):
    """Reads a request's data; what it does not name is dropped."""

    @classmethod
    def parse(cls, data: Any) -> dict[str, Any]:
        """The validated data. Raises DRF's ValidationError, which the API answers as VALIDATION_ERROR."""
        given = cls(data=data)
        given.is_valid(raise_exception=True)
        found: dict[str, Any] = given.validated_data
        return found
