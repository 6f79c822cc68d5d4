"""How drf-spectacular describes a view, with the one thing that it leaves out: the body of a DELETE."""

from typing import Any

from drf_spectacular.openapi import AutoSchema


class Described(AutoSchema):
    """drf-spectacular describes the bodies of PUT, PATCH and POST only; OpenAPI 3.1 also allows one for a DELETE."""

    def _get_request_body(self, direction: Any = "request") -> Any:
        if self.method != "DELETE" or self.get_request_serializer() is None:
            return super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        self.method = "POST"
        try:
            return super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        finally:
            self.method = "DELETE"

    def _get_examples(self, *where: Any, **more: Any) -> Any:
        """The examples keyed by their titles; drf-spectacular would turn the titles into identifiers."""
        result = super()._get_examples(*where, **more)  # type: ignore[no-untyped-call]
        return {each.get("summary", name): {"value": each["value"]} for name, each in result.items()}
