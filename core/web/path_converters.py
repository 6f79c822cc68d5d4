"""Converters for parts of a path, such as `<code:device>` in a route."""

from django.urls import register_converter
from django.urls.converters import IntConverter, StringConverter


class ScannedConverter(StringConverter):
    """A code or a whole scanned address in a path: any characters that a path can contain except control characters."""

    regex = r"[^\x00-\x1f\x7f]{1,600}"


class CodeConverter(StringConverter):
    regex = r"[^\x00-\x1f\x7f/]{1,200}"


class IdConverter(IntConverter):
    """A row's id; a number that cannot be an id matches no route."""

    regex = r"[0-9]{1,18}"


class GtinConverter(StringConverter):
    regex = r"[0-9]{8,14}"


def register() -> None:
    """Call once, before any route is read."""
    register_converter(ScannedConverter, "scanned")
    register_converter(CodeConverter, "code")
    register_converter(IdConverter, "id")
    register_converter(GtinConverter, "gtin")
