"""Filters of the portal's lists, which only reveal rows that the user may see."""

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
from portal.unfold import DropdownFilter, LookupFilter, LookupForm, RangeFilter, TypedFilter


class OwnRowsForm(LookupForm):
    """Only knows rows that the user may see: another brand's id in the address does not reveal that row's label.

    The filter has already looked up the selected rows; the form does not query them again.
    """

    def __init__(self, *, data: dict[str, Any], **arguments: Any) -> None:
        super().__init__(initial=data, **arguments)
        site, field = arguments["model_admin"].admin_site, arguments["field"]
        rows = site.get_model_admin(field.remote_field.model).get_queryset(arguments["request"])
        self.fields[arguments["name"]].queryset = rows  # type: ignore[attr-defined]


class OwnRowsFilter(LookupFilter):
    """Filters by a related row, which is looked up while typing; `autocomplete` only searches the related page's rows.

    A row that the user cannot see is rejected like a missing one. `chosen`: the requested rows, by their ids.
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
        """The rows with these ids that the user sees, by id."""
        page: Any = self.page.admin_site.get_model_admin(self.field.related_model)
        try:
            rows = page.get_queryset(request).filter(pk__in=ids) if ids else ()
            return {str(row.pk): row for row in rows}
        except (ValueError, ValidationError):
            return {}


class BrandsFilter:
    """A custom filter that knows the brands whose rows the user sees."""

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        self.page = model_admin
        super().__init__(request, params, model, model_admin)  # type: ignore[call-arg]

    def condition(self, value: str, brands: Sequence[Brand]) -> Q:
        """The condition for matching rows."""
        raise NotImplementedError


class StateFilter(BrandsFilter, DropdownFilter):
    """By a state that rows need not store as such; `states` names them.

    `keyset_partitions`: the partitions of a list by key while the filter is set, as in
    TenantAdmin.keyset_partitions. If empty, the filter does not partition it.
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
    """By a text field without `choices` whose usual values are known, so that they can be offered."""

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
    """By a text whose usual values depend on the brands that the user sees, `brand_ids`."""

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        self.brand_ids = [brand.pk for brand in model_admin.brands_seen(request)]
        super().__init__(request, params, model, model_admin)


class TextFilter(BrandsFilter, TypedFilter):
    """By a text, exactly as typed."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        text = (self.value() or "").strip()
        return queryset.filter(self.condition(text, self.page.brands_seen(request))) if text else queryset


class DayFilter(RangeFilter):
    """Between two days, both included, in the zone of each row's brand; an unreadable day is rejected."""

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
