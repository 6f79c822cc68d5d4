"""Filters of the portal's lists, which name only rows that the person may see."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, ClassVar

from django.contrib.admin.filters import FieldListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from brands.models.tenants import Brand
from brands.tenants import local_time
from portal.unfold import ChoicesFilter, DropdownFilter, LookupFilter, LookupForm, RangeFilter, TypedFilter

__all__ = ["ChoicesFilter", "DayFilter", "DropdownFilter", "OwnRowsFilter", "StateFilter", "TextFilter", "ValuesFilter"]


class OwnRowsForm(LookupForm):
    """Knows only rows that the person may see: the label of another brand's id, put into the address, stays unknown.

    What was chosen is looked at by the filter, and not once more here.
    """

    def __init__(self, *, data: dict[str, Any], **arguments: Any) -> None:
        super().__init__(initial=data, **arguments)
        site, field = arguments["model_admin"].admin_site, arguments["field"]
        rows = site.get_model_admin(field.remote_field.model).get_queryset(arguments["request"])
        self.fields[arguments["name"]].queryset = rows  # type: ignore[attr-defined]


class OwnRowsFilter(LookupFilter):
    """By a related row, which is looked up as it is typed; `autocomplete` looks in the related page's rows only.

    A row that the person cannot see is refused as one that is not there. `chosen`: the rows asked for, by their ids.
    """

    form_class = OwnRowsForm

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, field_path: str
    ) -> None:
        super().__init__(field, request, params, model, model_admin, field_path)
        self.page = model_admin
        self.chosen: dict[str, Any] = {}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        ids = set(filter(None, self.lookup_val or ()))
        self.chosen = self.seen(request, ids)
        if not ids:
            self.used_parameters.pop(self.lookup_kwarg, None)
        elif len(self.chosen) < len(ids):
            raise IncorrectLookupParameters
        result: Any = FieldListFilter.queryset(self, request, queryset)  # unfold's own forgets `isnull`
        rows: QuerySet[Any] = result
        return rows

    def seen(self, request: HttpRequest, ids: set[str]) -> dict[str, Any]:
        """Those of the rows that the person sees, by their ids."""
        page: Any = self.page.admin_site.get_model_admin(self.field.related_model)
        try:
            rows = page.get_queryset(request).filter(pk__in=ids) if ids else ()
            return {str(row.pk): row for row in rows}
        except (ValueError, ValidationError):
            return {}


class BrandsFilter:
    """A filter of its page's own that knows the brands whose rows the person sees."""

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        self.page = model_admin
        super().__init__(request, params, model, model_admin)  # type: ignore[call-arg]

    def condition(self, value: str, brands: Sequence[Brand]) -> Q:
        """The rows that fit."""
        raise NotImplementedError


class StateFilter(BrandsFilter, DropdownFilter):
    """By a state that rows need not store as such; `states` names them.

    `keyset_partitions`: into which parts a list by key is cut while the filter is set, as TenantAdmin.keyset_partitions
    says; none: not by this filter.
    """

    states: ClassVar[Mapping[str, Any]] = {}
    keyset_partitions: Sequence[Q] = ()

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, Any]]:
        return list(self.states.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        state = self.value()
        if not state:
            return queryset
        if state not in self.states:
            raise IncorrectLookupParameters
        return queryset.filter(self.condition(state, self.page.brands_seen(request)))


class ValuesFilter(DropdownFilter):
    """By a text field without `choices` whose usual values are known, so that nobody has to look for them."""

    parameter_name: str

    def values(self) -> list[str]:
        raise NotImplementedError

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [(value, value) for value in self.values()]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        if value not in self.values():
            raise IncorrectLookupParameters
        return queryset.filter(**{self.parameter_name: value})


class BrandsValuesFilter(ValuesFilter):
    """By a text whose usual values depend on the brands that the person sees, `brand_ids`."""

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        self.brand_ids = [brand.pk for brand in model_admin.brands_seen(request)]
        super().__init__(request, params, model, model_admin)


class TextFilter(BrandsFilter, TypedFilter):
    """By a text, exactly as it is typed."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        text = (self.value() or "").strip()
        return queryset.filter(self.condition(text, self.page.brands_seen(request))) if text else queryset


class DayFilter(RangeFilter):
    """From a day to a day, both included, of each row's brand; a day that cannot be read is refused."""

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, field_path: str
    ) -> None:
        super().__init__(field, request, params, model, model_admin, field_path)
        self.page = model_admin
        self.title = str(self.title).removesuffix(" at")  # days, not moments: "Scanned from ... to ..."

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        first, last = self._day("from"), self._day("to")
        if not (first or last):
            return queryset
        return queryset.filter(self.condition(self.page.brands_seen(request), first, last))

    def condition(self, brands: Sequence[Brand], first: date | None, last: date | None) -> Q:
        return local_time.on_days(self.field_path, first, last, brands=brands, path=self.page.brand_path)

    def _day(self, end: str) -> date | None:
        chosen = str(self.used_parameters.get(f"{self.field_path}_{end}") or "").strip()
        day = local_time.read_day(chosen)
        if chosen and not day:
            raise IncorrectLookupParameters
        return day
