"""Lists whose columns the user chooses. The choice is part of the list's address, and so of a saved list."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib.admin.utils import label_for_field
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.http import HttpRequest
from django.utils.text import capfirst

from portal.base.tenant_admin import TenantAdmin
from portal.lists.chips import address_without

COLUMN = "column"


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    name: str
    title: str
    is_chosen: bool


class ColumnChoiceMixin(TenantAdmin):
    """A list that shows `list_display` until the user chooses. The first column, which links to the row, stays."""

    list_before_template = "admin/portal/list_choices.html"
    other_parameters = (COLUMN,)
    columns_on_offer: ClassVar[tuple[str, ...]] = ()  # besides those of `list_display`

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
            context["resent_parameters"] = list(resent_parameters(request))
            context["without_columns"] = address_without(request, COLUMN, ORDER_VAR)
        return response

    def choices_of(self, request: HttpRequest) -> Iterator[ColumnChoice]:
        """All columns except the first."""
        displayed = {getattr(column, "__name__", column) for column in self.get_list_display(request)}
        for name in self.offered()[1:]:
            title = capfirst(str(label_for_field(name, self.model, self)))
            yield ColumnChoice(name, title, name in displayed)


def resent_parameters(request: HttpRequest) -> Iterator[tuple[str, str]]:
    """The parameters that the column form sends again. An order refers to a column's position, which changes."""
    for name, values in request.GET.lists():
        if name not in {COLUMN, ORDER_VAR, PAGE_VAR}:
            yield from ((name, value) for value in values)
