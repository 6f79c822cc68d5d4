"""Lists whose columns a person chooses; the choice is part of the list's address, and so of a saved list."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib.admin.utils import label_for_field
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.http import HttpRequest, QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from portal.base.tenant_admin import TenantAdmin
from portal.lists.changelist import CountedChangeList
from portal.lists.selection import filters_of

COLUMN = "column"


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    name: str
    title: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class FilterChip:
    """A filter that limits the list, in words; `address` is the list without it, and `label` says so."""

    text: str
    label: str
    address: str


class ChoosesColumns(TenantAdmin):
    """A list that shows `list_display` until somebody chooses; the first column, which leads to the row, stays."""

    list_before_template = "admin/portal/list_choices.html"
    other_parameters = (COLUMN,)
    columns_on_offer: ClassVar[tuple[str, ...]] = ()  # beside those of `list_display`

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """In the order of the offer, whatever the order in the address."""
        usual = super().get_list_display(request)
        chosen = set(request.GET.getlist(COLUMN))
        if not chosen & set(self.offered()):
            return usual
        first, *following = self.offered()
        names = [first, *(name for name in following if name in chosen)]
        extra = [column for column in usual if column not in [self.column(request, each) for each in self.list_display]]
        return [*(self.column(request, name) for name in names), *extra]

    def offered(self) -> list[str]:
        return list(dict.fromkeys([*self.list_display, *self.columns_on_offer]))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        response = super().changelist_view(request, extra_context)
        context = getattr(response, "context_data", None)
        if context and "cl" in context:
            context["column_choices"] = list(self.choices_of(request))
            context["filter_chips"] = list(chips_of(request, context["cl"]))
            context["resent_parameters"] = list(resent_parameters(request))
            context["without_columns"] = address_without(request, COLUMN, ORDER_VAR)
        return response

    def choices_of(self, request: HttpRequest) -> Iterator[ColumnChoice]:
        """Of all columns but the first."""
        displayed = {getattr(column, "__name__", column) for column in self.get_list_display(request)}
        for name in self.offered()[1:]:
            title = capfirst(str(label_for_field(name, self.model, self)))
            yield ColumnChoice(name, title, name in displayed)


def resent_parameters(request: HttpRequest) -> Iterator[tuple[str, str]]:
    """What the form of the columns sends again. An order names a column by its place, which changes."""
    for name, values in request.GET.lists():
        if name not in {COLUMN, ORDER_VAR, PAGE_VAR}:
            yield from ((name, value) for value in values)


def chips_of(request: HttpRequest, changes: CountedChangeList) -> Iterator[FilterChip]:
    """In the order in which `filters_of` names them."""
    names = [
        name for spec in changes.filter_specs for name in spec.expected_parameters() if name and request.GET.get(name)
    ]
    names += ["q"] if changes.query else []
    for text, name in zip(filters_of(request, changes), names, strict=True):
        yield FilterChip(text, _("%(filter)s: remove") % {"filter": text}, address_without(request, name))


def address_without(request: HttpRequest, *names: str) -> str:
    query: QueryDict = request.GET.copy()
    for name in (*names, PAGE_VAR):
        query.pop(name, None)
    return f"?{query.urlencode()}" if query else request.path
