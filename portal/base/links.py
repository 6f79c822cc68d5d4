"""Addresses of the portal's pages, and links in their columns and read-only fields."""

from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString


def admin_address(label: str, view: str, *args: Any) -> str:
    """The address of a view of a model's page, such as `add`, or `change` of a row. `label`: the model's."""
    return reverse(f"admin:{label.replace('.', '_')}_{view}", args=args)


def link(address: str, text: Any, *, label: Any = "") -> SafeString:
    """A styled link. `label` is its accessible name if `text` alone is too short."""
    classes = "text-primary-600 underline dark:text-primary-500"
    if label:
        return format_html('<a class="{}" href="{}" aria-label="{}">{}</a>', classes, address, label, text)
    return format_html('<a class="{}" href="{}">{}</a>', classes, address, text)
