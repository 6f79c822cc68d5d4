"""What lists show around their rows: the filters that limit them and, while they are empty, how to begin."""

from typing import Any

from django import template

from portal.lists.chips import chips_of
from portal.shell import first_steps

register = template.Library()


@register.inclusion_tag("admin/portal/filter_chips.html", takes_context=True)
def filter_chips(context: Any, cl: Any) -> dict[str, Any]:
    return {"limited": chips_of(context["request"], cl)}


@register.simple_tag(takes_context=True)
def first_step(context: Any, label: str) -> first_steps.Button | None:
    return first_steps.button(context.request, label)  # Django's list of results has it as this alone


@register.simple_tag
def illustration_of(label: str) -> str:
    return first_steps.illustration(label)
