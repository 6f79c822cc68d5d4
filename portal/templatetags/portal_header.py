"""What the header of every page of the portal shows."""

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
    """With all scripts run after the page is read, in their order: until then nothing of it would be painted."""
    return mark_safe(BLOCKING.sub("<script defer", html))  # noqa: S308 - the page's own HTML


@register.inclusion_tag("admin/breadcrumbs.html", takes_context=True)
def portal_breadcrumbs(context: Any) -> dict[str, Any]:
    return {"crumbs": breadcrumbs.crumbs(context["request"], context)}


@register.simple_tag(takes_context=True)
def portal_title(context: Any) -> str:
    """What a tab of the browser says: where one is, in the words of the breadcrumbs."""
    request = context.get("request")
    if request is None or not context.get("has_permission"):
        return str(context.get("title") or "")
    path = breadcrumbs.crumbs(request, context)
    return " · ".join(crumb.title for crumb in path[:-3:-1])


@register.inclusion_tag("admin/portal/tabs.html", takes_context=True)
def group_tabs(context: Any) -> dict[str, Any]:
    """The lists next to the one that the page belongs to."""
    opts = context.get("opts") or getattr(context.get("original"), "_meta", None)
    if opts is None or context.get("is_popup") or not context.get("has_permission"):
        return {"tabs": None}
    return {"tabs": navigation.tabs(context["request"], opts.label_lower)}


@register.inclusion_tag("admin/portal/shortcuts.html", takes_context=True)
def header_shortcuts(context: Any) -> dict[str, Any]:
    """The till, and the bell of the jobs that one started."""
    request = context.get("request")
    if request is None or context.get("is_popup") or not context.get("has_permission"):
        return {}
    # The guide opens beside the page: what is typed there stays.
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
