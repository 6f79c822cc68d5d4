"""The content of the header of every portal page."""

import re
from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from portal.guide import sections
from portal.shell import breadcrumbs, navigation

register = template.Library()
JOBS = "jobs.job"
BLOCKING = re.compile(r"<script(?=[^>]*\ssrc=)(?![^>]*\s(?:async|defer|type)\b)")


@register.filter
def deferred(html: str) -> SafeString:
    """Defer all scripts until the page is parsed, in their order: otherwise they would block the first paint."""
    return mark_safe(BLOCKING.sub("<script defer", html))  # noqa: S308 - the page's own HTML


@register.inclusion_tag("admin/breadcrumbs.html", takes_context=True)
def portal_breadcrumbs(context: Any) -> dict[str, Any]:
    return {"crumbs": breadcrumbs.crumbs(context["request"], context)}


@register.simple_tag(takes_context=True)
def portal_title(context: Any) -> str:
    """The title of the browser's tab: the current place, from the breadcrumbs."""
    request = context.get("request")
    if request is None or not context.get("has_permission"):
        return str(context.get("title") or "")
    path = breadcrumbs.crumbs(request, context)
    return " · ".join(crumb.title for crumb in path[:-3:-1])


@register.inclusion_tag("admin/portal/tabs.html", takes_context=True)
def group_tabs(context: Any) -> dict[str, Any]:
    """The other lists of the page's group."""
    opts = context.get("opts") or getattr(context.get("original"), "_meta", None)
    if opts is None or context.get("is_popup") or not context.get("has_permission"):
        return {"tabs": None}
    return {"tabs": navigation.tabs(context["request"], opts.label_lower)}


@register.inclusion_tag("admin/portal/shortcuts.html", takes_context=True)
def header_shortcuts(context: Any) -> dict[str, Any]:
    """The till, and the bell of the user's own jobs."""
    request = context.get("request")
    if request is None or context.get("is_popup") or not context.get("has_permission"):
        return {}
    # The guide opens next to the page, so that typed text is kept.
    guide = sections.address_of(sections.section_for(request))
    till = reverse("admin:loyalty_redemption_till") if navigation.may_use_till(request) else ""
    sees_jobs = navigation.may_see(request, JOBS)
    return {
        "guide": guide,
        "till": till,
        "is_at_till": bool(till) and request.path == till,
        "bell": reverse("admin:jobs_job_bell") if sees_jobs else "",
        "all_jobs": reverse("admin:jobs_job_changelist"),
    }
