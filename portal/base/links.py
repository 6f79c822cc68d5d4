"""Links in lists and forms, beside the values that Django writes."""

from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString


def link(address: str, text: Any, *, label: Any = "") -> SafeString:
    """A link that looks like one. `label` is what is read aloud instead of `text`, where that says too little alone."""
    classes = "text-primary-600 underline dark:text-primary-500"
    if label:
        return format_html('<a class="{}" href="{}" aria-label="{}">{}</a>', classes, address, label, text)
    return format_html('<a class="{}" href="{}">{}</a>', classes, address, text)
