"""Codes, keys and phone numbers read from left to right, also on pages that read from right to left."""

from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

LEFT_TO_RIGHT, END = "\u2066", "\u2069"  # Unicode's isolates, for where no tags can be


def display_code(text: Any) -> SafeString:
    return format_html('<bdi dir="ltr">{}</bdi>', text)


def isolated(text: str) -> str:
    """For text without HTML."""
    return f"{LEFT_TO_RIGHT}{text}{END}"
