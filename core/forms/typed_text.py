"""Typed search text: trimmed, and rejected if it is too long or contains control characters."""

from typing import Any

from core.errors import Invalid

MAX_TYPED = 200


def checked(typed: str, *, too_long: str, unprintable: str, details: dict[str, Any] | None = None) -> str:
    """`typed` without surrounding space. Raises Invalid with one of the messages; `too_long` contains `%(most)s`."""
    typed = typed.strip()
    if len(typed) > MAX_TYPED:
        raise Invalid(too_long % {"most": MAX_TYPED}, details=details)
    if not typed.isprintable():
        raise Invalid(unprintable, details=details)
    return typed
