"""The portal's lists: counts that stay cheap at millions of rows, and filters that name a person's own rows only."""

import json
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.functional import cached_property

from brands.unfolded import ChoicesFilter, DropdownFilter, LookupFilter, LookupForm, RangeFilter

__all__ = [
    "ChoicesFilter",
    "DayFilter",
    "DropdownFilter",
    "EstimatingPaginator",
    "OwnRowsFilter",
    "StateFilter",
    "ValuesFilter",
]

if TYPE_CHECKING:
    AnyPaginator = Paginator[Any]
else:
    AnyPaginator = Paginator


class EstimatingPaginator(AnyPaginator):
    """Counts exactly up to EXACT_UP_TO rows; beyond that it takes the planner's estimate, which costs nothing."""

    EXACT_UP_TO = 10_000

    @cached_property
    def count(self) -> int:
        rows = self.object_list.order_by() if isinstance(self.object_list, QuerySet) else None
        if rows is None:
            return len(self.object_list)
        counted = rows.values("pk")[: self.EXACT_UP_TO + 1].count()
        return counted if counted <= self.EXACT_UP_TO else max(counted, planned_rows(rows))


def planned_rows(rows: QuerySet[Any]) -> int:
    """How many rows PostgreSQL's planner expects."""
    plan = json.loads(rows.explain(format="json"))
    number: int = plan[0]["Plan"]["Plan Rows"]
    return number


class OwnRowsForm(LookupForm):
    """Knows only rows that the person may see: the label of another brand's id, put into the address, stays unknown."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        site, field = arguments["model_admin"].admin_site, arguments["field"]
        rows = site.get_model_admin(field.remote_field.model).get_queryset(arguments["request"])
        self.fields[arguments["name"]].queryset = rows  # type: ignore[attr-defined]


class OwnRowsFilter(LookupFilter):
    """By a related row, which is looked up as it is typed; `autocomplete` looks in the related page's rows only."""

    form_class = OwnRowsForm


class StateFilter(DropdownFilter):
    """By a state that rows do not store; `states` names it, and the method of the QuerySet that finds its rows."""

    states: dict[str, Any] = {}

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, Any]]:
        return list(self.states.items())

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        state = self.value()
        found: QuerySet[Any] = getattr(queryset, state)() if state in self.states else queryset
        return found


class ValuesFilter(DropdownFilter):
    """By a text field without `choices` whose usual values are known, so that nobody has to look for them."""

    parameter_name: str

    def values(self) -> list[str]:
        raise NotImplementedError

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [(value, value) for value in self.values()]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(**{self.parameter_name: value}) if value in self.values() else queryset


class DayFilter(RangeFilter):
    """From a day to a day, both included, in the current time zone; a day that cannot be read is no limit."""

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        first, last = self._day("from"), self._day("to")
        if first:
            queryset = queryset.filter(**{f"{self.field_path}__gte": midnight(first)})
        if last:
            queryset = queryset.filter(**{f"{self.field_path}__lt": midnight(last + timedelta(days=1))})
        return queryset

    def _day(self, end: str) -> date | None:
        try:
            return parse_date(str(self.used_parameters.get(f"{self.field_path}_{end}", "")))
        except ValueError:
            return None


def midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
