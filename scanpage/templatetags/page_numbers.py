"""Numbers on the scan page."""

from typing import Any

from django import template

from scanpage.presenters import format_number

register = template.Library()


@register.filter
def grouped(value: Any) -> str:
    """A number with thousands grouped in the page's language. Anything else, such as None, becomes empty."""
    return format_number(value) if isinstance(value, int | float) else ""
