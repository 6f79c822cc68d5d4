"""What charts and the tables under them have hundreds of, written without a template for each."""

from collections.abc import Iterable

from django import template
from django.utils.safestring import SafeString, mark_safe

from portal.figures.drawings import Box
from portal.figures.tables import TableRow

register = template.Library()


@register.simple_tag
def boxes_as_svg(drawn: Iterable[Box], *, prefix: str = "") -> SafeString:
    """`prefix`: before each box's kind in its class."""
    return mark_safe("".join(box.as_svg(prefix) for box in drawn))  # noqa: S308 - titles are escaped


@register.simple_tag
def rows_as_html(rows: Iterable[TableRow]) -> SafeString:
    return mark_safe("".join(row.as_html() for row in rows))  # noqa: S308 - all texts are escaped
