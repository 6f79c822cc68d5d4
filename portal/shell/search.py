"""What the portal's search box (Ctrl K) finds: pages and actions by their words, and a few rows of the commonest kinds.

A page says how its rows are found here in `first_match`; others are found as their own list searches. Either way only
rows that the page shows this person, in the brand that they look at. Nothing is cached: roles and choices change.
"""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.dataclasses import SearchResult

from portal.shell.navigation import address_of, list_name, lists, may_see, may_use_till, page_of

LONGEST = 200
# Fewer characters begin too many codes and addresses to read them in passing.
SHORTEST = 3
MAX_PER_KIND = 5
MAX_PAGES = 8
ROWS = {
    "authcodes.authcode": "qr_code_2",
    "loyalty.userpoints": "group",
    "authcodes.product": "category",
    "authcodes.batchrange": "inventory_2",
    "campaigns.campaign": "flag",
}
# What people call a page, beside its name and its group's.
SYNONYMS = {
    "authcodes.authcode": gettext_lazy("auth export print"),
    "authcodes.batchrange": gettext_lazy("batch ranges export"),
    "authcodes.product": gettext_lazy("articles export"),
    "authcodes.scan": gettext_lazy("export"),
    "jobs.job": gettext_lazy("export downloads"),
    "loyalty.userpoints": gettext_lazy("members people customers export"),
    "loyalty.loyaltytransaction": gettext_lazy("ledger points export"),
    "loyalty.redemption": gettext_lazy("till vouchers export"),
    "brands.staffrole": gettext_lazy("staff colleagues roles"),
    "brands.apikey": gettext_lazy("api"),
    "brands.auditlogentry": gettext_lazy("history log"),
}


def search(request: HttpRequest, typed: str) -> list[SearchResult]:
    """Rows first, because who types a code wants no page that is called alike."""
    query = typed.strip()
    if not query or len(query) > LONGEST or not query.isprintable():
        return []
    rows = [result for label in ROWS if may_see(request, label) for result in rows_of(request, label, query)]
    pages = [result for result, known_as in places(request) if query.casefold() in known_as.casefold()]
    return [*rows, *pages[:MAX_PAGES]]


def rows_of(request: HttpRequest, label: str, text: str) -> list[SearchResult]:
    """One query, of a few rows."""
    if len(text) < SHORTEST:
        return []
    page = page_of(label)
    rows = page.get_queryset(request)
    if hasattr(page, "first_match"):
        rows = page.first_match(request, rows, text)
    else:
        rows = page.get_search_results(request, rows, text)[0].order_by("-pk")
    kind, address = page.opts.verbose_name, f"admin:{page.opts.app_label}_{page.opts.model_name}_change"
    return [
        SearchResult(title=str(row), description=kind, link=reverse(address, args=[row.pk]), icon=ROWS[label])
        for row in rows[:MAX_PER_KIND]
    ]


def places(request: HttpRequest) -> Iterator[tuple[SearchResult, str]]:
    """The actions and pages that this person may open, each with the words that it is known by."""
    home = place(_("Home"), _("Home"), reverse("admin:index"), "home")
    yield home, _("home overview dashboard")
    if may_use_till(request):
        till = place(_("Redeem a code"), _("Customers"), reverse("admin:loyalty_redemption_till"), "point_of_sale")
        yield till, _("till checkout vouchers")
    for group, entry, label in lists(request):
        name = list_name(label)
        yield place(name, group, address_of(label), entry.icon), f"{name} {group} {SYNONYMS.get(label, '')}"
    yield place(_("API documentation"), _("Help"), reverse("docs"), "help"), _("help api documentation")


def place(title: Any, group: Any, link: str, icon: str) -> SearchResult:
    return SearchResult(title=str(title), description=str(group), link=link, icon=icon)
