"""Converters for parts of a path, such as `<code:device>` in a route."""

from django.urls import register_converter


class ScannedConverter:
    """A code or a whole scanned address in a path: any characters that a path can contain except control characters."""

    regex = r"[^\x00-\x1f\x7f]{1,600}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class CodeConverter(ScannedConverter):
    regex = r"[^\x00-\x1f\x7f/]{1,200}"


class IdConverter:
    """A row's id; a number that cannot be an id matches no route."""

    regex = r"[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


class GtinConverter(ScannedConverter):
    regex = r"[0-9]{8,14}"


def register() -> None:
    """Call once, before any route is read."""
    register_converter(ScannedConverter, "scanned")
    register_converter(CodeConverter, "code")
    register_converter(IdConverter, "id")
    register_converter(GtinConverter, "gtin")
