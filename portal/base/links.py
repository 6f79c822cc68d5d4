"""Links in the columns and read-only fields of the portal's pages."""

from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString


def link(address: str, text: Any, *, label: Any = "") -> SafeString:
    """A styled link. `label` is its accessible name if `text` alone is too short."""
    classes = "text-primary-600 underline dark:text-primary-500"
    if label:
        return format_html('<a class="{}" href="{}" aria-label="{}">{}</a>', classes, address, label, text)
    return format_html('<a class="{}" href="{}">{}</a>', classes, address, text)
