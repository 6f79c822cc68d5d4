"""The active filters of a list, above it: each as a chip that removes it, and one link that removes all."""

from dataclasses import dataclass
from typing import Any

from django.contrib.admin.views.main import PAGE_VAR
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from portal.lists.selection import limits_of


@dataclass(frozen=True, slots=True)
class FilterChip:
    """An active filter as text; `address` is the list without it, and `label` says so."""

    text: str
    label: str
    address: str


@dataclass(frozen=True, slots=True)
class FilterChips:
    """`cleared`: the list without any of them, with its columns and its order unchanged."""

    chips: tuple[FilterChip, ...]
    cleared: str


def chips_of(request: HttpRequest, changes: Any) -> FilterChips:
    limits = limits_of(request, changes)
    chips = (
        FilterChip(each.text, _("%(filter)s: remove") % {"filter": each.text}, address_without(request, each.parameter))
        for each in limits
    )
    return FilterChips(tuple(chips), address_without(request, *(each.parameter for each in limits)))


def address_without(request: HttpRequest, *names: str) -> str:
    query: QueryDict = request.GET.copy()
    for name in (*names, PAGE_VAR):
        query.pop(name, None)
    return f"?{query.urlencode()}" if query else request.path
