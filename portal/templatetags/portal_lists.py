"""Content around a list's rows: the active filters and, for an empty list, how to begin."""

import re
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst

from portal.lists.chips import chips_of
from portal.shell import first_steps

register = template.Library()
HEADING = re.compile(r'(?<= data-label=")\w')


@register.inclusion_tag("admin/portal/filter_chips.html", takes_context=True)
def filter_chips(context: Any, cl: Any) -> dict[str, Any]:
    return {"limited": chips_of(context["request"], cl)}


@register.simple_tag(takes_context=True)
def first_step(context: Any, label: str) -> first_steps.Button | None:
    return first_steps.button(context.request, label)  # Django's result list only has the label


@register.simple_tag
def illustration_of(label: str) -> str:
    return first_steps.illustration(label)


@register.filter
def labelled(field: Any, label: Any) -> Any:
    """A form field with another label."""
    field.label = capfirst(label)
    return field


@register.filter
def with_heading(cell: SafeString) -> SafeString:
    """A list cell whose heading, which phones show next to it, begins with a capital."""
    return mark_safe(HEADING.sub(lambda first: first[0].upper(), cell, count=1))  # noqa: S308 - as safe as it was
