"""The portal's search box (Ctrl K): finds a few rows of the most common kinds, actions, pages, and the guide.

A page defines in `first_match` how its rows are found here; others are found as in their own list. Either way, only
rows that the user can see in the selected brand are found. Nothing is cached: roles and choices change.
`describe_match` of the page adds details to a result, from what `first_match` has read.
"""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from unfold.dataclasses import SearchResult

from portal.base.links import admin_address
from portal.shell import search_places
from portal.shell.navigation import list_name, may_see, page_of
from portal.shell.search_places import MEMBERS, link, may_adjust

MAX_QUERY_LENGTH = 200
# Shorter texts match the start of too many codes and addresses.
MIN_QUERY_LENGTH = 3
MAX_PER_KIND = 5
ROWS = {
    "authcodes.authcode": "qr_code_2",
    MEMBERS: "group",
    "authcodes.product": "category",
    "authcodes.batchrange": "inventory_2",
    "campaigns.campaign": "flag",
}


def search(request: HttpRequest, typed: str) -> list[SearchResult]:
    """Rows come first: users who type a code do not look for a page of that name. An empty text returns actions."""
    query = typed.strip()
    if len(query) > MAX_QUERY_LENGTH or not query.isprintable():
        return []
    if not query:
        return [action.result() for action in search_places.actions(request)]
    if (name := whose_points(query)) and may_adjust(request):
        return adjustments(request, name)
    rows = [result for label in ROWS if may_see(request, label) for result in rows_of(request, label, query)]
    return [*rows, *search_places.search(request, query)]


def whose_points(query: str) -> str:
    """The name in `adjust points of Anna` and the like; empty for the action alone, or for any other text."""
    first, *remaining = query.split()
    before = {*_("adjust points of").split(), "adjust", "points", "of"}
    if first.casefold() not in {"adjust", _("adjust points of").split()[0].casefold()}:
        return ""
    while remaining and remaining[0].casefold() in before:
        remaining = remaining[1:]
    return " ".join(remaining)


def adjustments(request: HttpRequest, name: str) -> list[SearchResult]:
    """Members with this name whose points the user may adjust."""
    results = []
    for row in matches(request, MEMBERS, name):
        title = _("Adjust the points of %(member)s") % {"member": row}
        address = reverse("admin:loyalty_userpoints_adjust", args=[row.pk])
        results.append(link(title, _("Action"), address, "exposure"))
    return results or [search_places.link_to_adjusting()]


def rows_of(request: HttpRequest, label: str, text: str) -> list[SearchResult]:
    page = page_of(label)
    return [
        link(row, line_of(page, row), admin_address(label, "change", row.pk), ROWS[label])
        for row in matches(request, label, text)
    ]


def line_of(page: Any, row: Any) -> str:
    """The text below the row's name: its kind, and details from its page."""
    more = page.describe_match(row) if hasattr(page, "describe_match") else []
    return " · ".join([str(page.opts.verbose_name), *more])


def matches(request: HttpRequest, label: str, text: str) -> list[Any]:
    """A few rows, in one query."""
    if len(text) < MIN_QUERY_LENGTH:
        return []
    page = page_of(label)
    rows = page.get_queryset(request)
    if hasattr(page, "first_match"):
        rows = page.first_match(request, rows, text)
    else:
        rows = page.get_search_results(request, rows, text)[0].order_by("-pk")
    return list(rows[:MAX_PER_KIND])


def kinds(request: HttpRequest) -> list[str]:
    """The kinds of rows that the user can find here."""
    return [list_name(label) for label in ROWS if may_see(request, label)]
