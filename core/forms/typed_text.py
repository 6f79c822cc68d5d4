"""What somebody types to search by: trimmed, and refused where it is too long or holds control characters."""

from typing import Any

from core.errors import Invalid

MAX_TYPED = 200


def checked(typed: str, *, too_long: str, unprintable: str, details: dict[str, Any] | None = None) -> str:
    """Without space around it. Raises Invalid with one of the sentences; `too_long` names `most`."""
    typed = typed.strip()
    if len(typed) > MAX_TYPED:
        raise Invalid(too_long % {"most": MAX_TYPED}, details=details)
    if not typed.isprintable():
        raise Invalid(unprintable, details=details)
    return typed
