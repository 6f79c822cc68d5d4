"""Elements that occur by the hundred in charts and their tables, rendered without a template for each."""

from collections.abc import Iterable
from typing import Protocol

from django import template
from django.utils.safestring import SafeString, mark_safe

from portal.figures.drawings import Box

register = template.Library()


class Row(Protocol):
    """A row of a table that renders itself, such as portal.figures.tables.TableRow."""

    def as_html(self) -> str:
        """Its HTML element, with every text escaped."""


@register.simple_tag
def boxes_as_svg(drawn: Iterable[Box], *, prefix: str = "") -> SafeString:
    """`prefix`: before each box's kind in its class."""
    return mark_safe("".join(box.as_svg(prefix) for box in drawn))  # noqa: S308 - titles are escaped


@register.simple_tag
def rows_as_html(rows: Iterable[Row]) -> SafeString:
    return mark_safe("".join(row.as_html() for row in rows))  # noqa: S308 - all texts are escaped
