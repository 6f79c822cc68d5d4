"""Lists whose row counts stay cheap with millions of rows."""

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR
from django.core.exceptions import EmptyResultSet
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from core.numbers import grouped
from portal.unfold import ChangeList

if TYPE_CHECKING:
    AnyPaginator = Paginator[Any]
else:
    AnyPaginator = Paginator

EXACT_UP_TO = 10_000
# In the planner's units, about 50 ms; counting a selective filter on a million rows costs more than showing its rows.
MAX_COUNT_COST = 20_000
MAX_NUMBER = 2**63 - 1
MAX_UTC_OFFSET = timedelta(hours=15)


@dataclass(frozen=True, slots=True)
class Count:
    """The number of rows: exact, an estimate or, with `at_least`, a count that was stopped early."""

    number: int
    exact: bool = True
    at_least: bool = False

    def of(self, number: int) -> "Count":
        """The count when all rows are shown."""
        return replace(self, number=number, exact=True, at_least=False)

    @property
    def text(self) -> str:
        if self.exact:
            return grouped(self.number)
        if self.at_least:
            return _("more than %(number)s") % {"number": grouped(self.number - 1)}
        return _("about %(number)s") % {"number": grouped(_rounded(self.number))}


def _rounded(number: int) -> int:
    """Round to two digits: more would suggest false precision."""
    unit: int = 10 ** max(len(str(number)) - 2, 0)
    return round(number / unit) * unit


def counted(rows: QuerySet[Any]) -> Count:
    """The number of rows: counted up to EXACT_UP_TO, and estimated only if even that would be too expensive."""
    rows = rows.order_by().values("pk")
    try:
        rows.query.sql_with_params()
    except EmptyResultSet:  # no row can match, and Django could not explain the query
        return Count(0)
    some = rows[: EXACT_UP_TO + 1]
    if plan_of(some)["Total Cost"] <= MAX_COUNT_COST:
        result = some.count()
        return Count(result) if result <= EXACT_UP_TO else Count(result, exact=False, at_least=True)
    return Count(plan_of(rows)["Plan Rows"], exact=False)


def plan_of(rows: QuerySet[Any]) -> dict[str, Any]:
    """PostgreSQL's plan, without running the query."""
    plan: dict[str, Any] = json.loads(rows.explain(format="json"))[0]["Plan"]
    return plan


class EstimatingPaginator(AnyPaginator):
    """Counts as `counted` does."""

    template_name = "admin/pages_by_number.html"

    @cached_property
    def row_count(self) -> Count:
        rows = self.object_list
        return counted(rows) if isinstance(rows, QuerySet) else Count(len(rows))

    @cached_property
    def count(self) -> int:
        return self.row_count.number


def is_beyond_every_column(value: str) -> bool:
    """Whether PostgreSQL would raise an error for the value: NUL, huge numbers, moments in impossible zones."""
    bare = value.strip().removeprefix("-")
    if bare.isdecimal():
        return len(bare) > 19 or int(bare) > MAX_NUMBER
    try:
        moment = parse_datetime(value)
    except ValueError:
        moment = None
    offset = moment.utcoffset() if moment else None
    return "\0" in value or bool(offset and abs(offset) > MAX_UTC_OFFSET)


class CountedChangeList(ChangeList):
    """A changelist that shows when its count is an estimate, and rejects values that no column can hold."""

    count: Count

    def get_filters_params(self, params: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
        """Raises an error for values that would make PostgreSQL fail; they can only be mistyped."""
        result: dict[str, list[str]] = super().get_filters_params(params)
        page: Any = self.model_admin
        for name in page.other_parameters:
            result.pop(name, None)
        if any(is_beyond_every_column(value) for values in result.values() for value in values):
            raise IncorrectLookupParameters
        return result

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.show_count(self.paginator.row_count)

    def is_filtered_only_by(self, *names: str) -> bool:
        """Whether the list is filtered by these parameters only, each with one value."""
        requested = {name: values for name, values in self.filter_params.items() if any(values) and name != ORDER_VAR}
        return (
            not self.query and requested.keys() <= set(names) and all(len(values) == 1 for values in requested.values())
        )

    def show_count(self, count: Count) -> None:
        self.count, self.result_count = count, count.number
        self.full_result_count, self.show_full_result_count = None, False
        self.show_admin_actions = True

    @property
    def is_limited(self) -> bool:
        """Whether any filter or search is active."""
        return bool(self.query or any(any(values) for values in self.get_filters_params().values()))

    @property
    def result_text(self) -> str:
        names = self.opts.verbose_name, self.opts.verbose_name_plural
        name = names[0] if self.result_count == 1 else names[1]
        return _("%(count)s %(name)s") % {"count": self.count.text, "name": name}
