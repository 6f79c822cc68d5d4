"""How a webhook event is described; `config.schema` completes all descriptions."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiWebhook, extend_schema, extend_schema_field
from rest_framework import serializers

from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, TimestampField

TIME = "When the event happened."


def webhook(kind: str, summary: str, data: type[Output], example: Mapping[str, Any]) -> OpenApiWebhook:
    """Describe the event `kind`, such as `points.earned`, with the serializer of its `data` and an `example`."""
    name = "".join(word.capitalize() for word in kind.split("."))
    fields = {"type": type_field(kind), "timestamp": TimestampField(help_text=TIME), "data": data()}
    body: Any = type(f"{name}Event", (Output,), fields)
    schema = extend_schema(
        operation_id=f"receive_{kind.replace('.', '_')}",
        summary=summary,
        description=f"Sent to each webhook endpoint of the brand that subscribes to `{kind}`.",
        request=body,
        responses={204: None},  # `config.schema` replaces it
        examples=[OpenApiExample(summary, {"type": kind, "timestamp": WHEN, "data": dict(example)})],
    )
    return OpenApiWebhook(kind, schema)


def type_field(kind: str) -> serializers.CharField:
    # A class of its own: copies of a field lose the annotations of the instance.
    kind_field: Any = type("TypeField", (serializers.CharField,), {})
    field: serializers.CharField = extend_schema_field({"type": "string", "const": kind})(kind_field)()
    return field
