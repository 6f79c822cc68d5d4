"""What the header of every page of the portal shows."""

from typing import Any

from django import template

from portal.shell import breadcrumbs

register = template.Library()


@register.inclusion_tag("admin/breadcrumbs.html", takes_context=True)
def portal_breadcrumbs(context: Any) -> dict[str, Any]:
    return {"crumbs": breadcrumbs.crumbs(context["request"], context)}
