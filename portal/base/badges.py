"""Badges that show a state in lists and forms."""

from functools import lru_cache
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString


def badge(colour: str, text: Any) -> SafeString:
    """A state in lists and forms, in one of unfold's colours: success, info, warning, danger, or none."""
    return _badge(colour, str(text))


@lru_cache(maxsize=500)
def _badge(colour: str, text: str) -> SafeString:
    """Cached: there are few, and a list shows one in each row."""
    return render_to_string("unfold/helpers/label.html", {"type": colour, "text": text})
