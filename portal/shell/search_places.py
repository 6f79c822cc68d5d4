"""What the search box finds besides rows: pages, actions and sections of the guide, by their search terms."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.dataclasses import SearchResult

from brands.identity.roles import ACT, brand_scope
from portal.base.links import admin_address
from portal.guide import sections
from portal.shell.navigation import address_of, list_name, lists, may_see, may_use_till, page_of

MAX_PAGES, MAX_ACTIONS, MAX_SECTIONS = 8, 5, 5
MAX_SHORT_TERM = 3  # letters
MEMBERS = "loyalty.userpoints"
# Search terms of a page besides its name and its group's.
PAGE_TERMS = {
    "authcodes.authcode": gettext_lazy("auth export print"),
    "authcodes.batchrange": gettext_lazy("batch ranges export"),
    "authcodes.product": gettext_lazy("articles export"),
    "authcodes.scan": gettext_lazy("export"),
    "jobs.job": gettext_lazy("export downloads"),
    MEMBERS: gettext_lazy("members people customers export"),
    "loyalty.loyaltytransaction": gettext_lazy("ledger points export"),
    "loyalty.redemption": gettext_lazy("till vouchers export"),
    "brands.staffrole": gettext_lazy("staff colleagues roles"),
    "brands.apikey": gettext_lazy("api"),
    "brands.auditlogentry": gettext_lazy("history log"),
}
# The most common actions, the most frequent first, by the model of the created row.
ACTIONS = {
    "authcodes.batchrange": gettext_lazy("New batch"),
    "authcodes.product": gettext_lazy("New product"),
    "campaigns.campaign": gettext_lazy("New campaign"),
    "loyalty.reward": gettext_lazy("New reward"),
    "authcodes.import": gettext_lazy("Import a file of codes"),
    "authcodes.recall": gettext_lazy("Recall products"),
    "campaigns.earningrule": gettext_lazy("New earning rule"),
    "loyalty.broadcast": gettext_lazy("New broadcast"),
    "loyalty.segment": gettext_lazy("New segment"),
    "loyalty.brandlevel": gettext_lazy("New level"),
    "authcodes.printer": gettext_lazy("New printer"),
    "staff_login.invitation": gettext_lazy("Invite a colleague"),
    "brands.brand": gettext_lazy("New brand with its owner"),
    "brands.apikey": gettext_lazy("New API key"),
    "loyalty.webhookendpoint": gettext_lazy("New webhook"),
    "loyalty.walletissuer": gettext_lazy("Upload wallet certificates"),
}
# Search terms of an action besides its name.
ACTION_TERMS = {
    "authcodes.batchrange": gettext_lazy("make create codes print"),
    "authcodes.import": gettext_lazy("upload assign csv"),
    "authcodes.recall": gettext_lazy("call back"),
    "staff_login.invitation": gettext_lazy("user staff role"),
}


class SearchEntry(NamedTuple):
    """Something that the search can find, by its search terms. `result` is only built for an entry that matches."""

    search_terms: str
    result: Callable[[], SearchResult]


def search(request: HttpRequest, typed: str) -> list[SearchResult]:
    """Actions, pages and sections whose search terms contain all typed terms."""
    terms = typed.casefold().split()

    def first(entries: Iterator[SearchEntry], most: int) -> list[SearchResult]:
        matches = (entry for entry in entries if has_all(terms, entry.search_terms))
        return [entry.result() for entry in islice(matches, most)]

    return [*first(actions(request), MAX_ACTIONS), *first(pages(request), MAX_PAGES), *first(guide(), MAX_SECTIONS)]


def has_all(terms: list[str], search_terms: str) -> bool:
    """Short terms must start a word (`ann` must not find channels), after its Arabic article if it has one; longer
    ones may be anywhere in a compound."""
    text = search_terms.casefold()
    return all(
        term in text if len(term) > MAX_SHORT_TERM else re.search(rf"\b(?:ال)?{re.escape(term)}", text)
        for term in terms
    )


def pages(request: HttpRequest) -> Iterator[SearchEntry]:
    """The pages that this user may open."""
    yield SearchEntry(_("home overview dashboard"), lambda: link(_("Home"), _("Home"), reverse("admin:index"), "home"))
    if may_use_till(request):
        yield SearchEntry(_("till checkout vouchers"), link_to_till)
    for group, entry, label in lists(request):
        search_terms = f"{list_name(label)} {group} {PAGE_TERMS.get(label, '')}"
        yield SearchEntry(search_terms, partial(link_to_list, label, group, entry.icon))
    yield SearchEntry(
        _("help api documentation"), lambda: link(_("API documentation"), _("Help"), reverse("docs"), "help")
    )


def link_to_till() -> SearchResult:
    return link(_("Redeem a code"), _("Customers"), reverse("admin:loyalty_redemption_till"), "point_of_sale")


def link_to_list(label: str, group: Any, icon: str) -> SearchResult:
    return link(list_name(label), group, address_of(label), icon)


def actions(request: HttpRequest) -> Iterator[SearchEntry]:
    """The actions that this user may start."""
    for label, name in ACTIONS.items():
        if page_of(label).has_add_permission(request):
            yield SearchEntry(f"{name} {ACTION_TERMS.get(label, '')}", partial(link_to_form, label))
    if may_adjust(request):
        yield SearchEntry(_("adjust points of correct give member customer"), link_to_adjusting)


def link_to_form(label: str) -> SearchResult:
    return link(ACTIONS[label], _("Action"), admin_address(label, "add"), "add")


def link_to_adjusting() -> SearchResult:
    """For these words alone. With a name after them, the search finds that member instead."""
    return link(_("Adjust points of …"), _("Type a name after these words"), address_of(MEMBERS), "exposure")


def may_adjust(request: HttpRequest) -> bool:
    return may_see(request, MEMBERS) and bool(brand_scope(request.user, ACT, MEMBERS))


def guide() -> Iterator[SearchEntry]:
    label = _("help guide")
    for each in sections.places():
        yield SearchEntry(f"{each.section.title} {each.page_title} {label}", partial(link_to_section, each))


def link_to_section(of: sections.Place) -> SearchResult:
    is_page = of.section.level == 1
    address = sections.address_of(of.page if is_page else f"{of.page}#{of.section.slug}")
    group = _("Guide") if is_page else _("Guide: %(page)s") % {"page": of.page_title}
    return link(of.section.title, group, address, "menu_book")


def link(title: Any, group: Any, address: str, icon: str) -> SearchResult:
    return SearchResult(title=str(title), description=str(group), link=address, icon=icon)
