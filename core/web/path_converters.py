"""What a part of an address may look like, as `<code:device>` in a route."""

from django.urls import register_converter


class ScannedConverter:
    """A code or a whole scanned address in a path: anything a path can hold but control characters."""

    regex = r"[^\x00-\x1f\x7f]{1,600}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class CodeConverter(ScannedConverter):
    regex = r"[^\x00-\x1f\x7f/]{1,200}"


class IdConverter:
    """A row's number; one that no row can have finds no address."""

    regex = r"[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


class GtinConverter(ScannedConverter):
    regex = r"[0-9]{8,14}"


def register() -> None:
    """Once, before any route is read."""
    register_converter(ScannedConverter, "scanned")
    register_converter(CodeConverter, "code")
    register_converter(IdConverter, "id")
    register_converter(GtinConverter, "gtin")
