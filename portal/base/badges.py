"""Badges that show a state in lists and forms."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from portal.unfold import display


def badge(colour: str, text: Any) -> SafeString:
    """A state in lists and forms, in one of unfold's colours: success, info, warning, danger, or none."""
    return _badge(colour, str(text))


def badge_column(
    field: str, colours: Mapping[str, str], *, description: Any, ordering: str | None = None
) -> Callable[[Any, Any], SafeString]:
    """A page's column that shows the choice of a field as a badge, in the colour of that choice."""

    @display(description=description, ordering=ordering)
    def column(_page: Any, row: Any) -> SafeString:
        return badge(colours[getattr(row, field)], getattr(row, f"get_{field}_display")())

    return column


@lru_cache(maxsize=500)
def _badge(colour: str, text: str) -> SafeString:
    """Cached: there are few, and a list shows one in each row."""
    return render_to_string("unfold/helpers/label.html", {"type": colour, "text": text})
