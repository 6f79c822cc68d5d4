"""Pages by key: each begins next to the previous page's last row, so page 30,000 costs as much as the first."""

import base64
import binascii
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import BooleanField, F, Field, Func, Model, OrderBy, Q, QuerySet, Value
from django.db.models.constants import LOOKUP_SEP
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from portal.lists import changelist
from portal.lists.changelist import Count, CountedChangeList, counted, plan_of

MAX_CURSOR_LENGTH = 500
# Below this expected number, rows are sorted instead of found by a walk along the index of the list's order. PostgreSQL
# assumes that they are evenly distributed; if they are all far away, a walk would read a million other rows first.
MAX_SORTED_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Cursor:
    """The row where a page begins: after it or, for a previous page, backwards from it. Without values: at the end."""

    back: bool
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of an order; `path` leads to it, possibly through a one-to-one row such as its sort keys."""

    path: str
    field: "Field[Any, Any]"
    descending: bool

    def value_of(self, row: Any) -> Any:
        *way, last = self.path.split(LOOKUP_SEP)
        for step in way:
            row = getattr(row, step)
        return getattr(row, last)


class RowComparison(Func):
    """Compares two columns as a row with two values: PostgreSQL uses both columns of an index for it."""

    output_field = BooleanField()

    def as_sql(self, compiler: Any, connection: Any, *_more: Any, **_extra: Any) -> Any:
        parts = [compiler.compile(expression) for expression in self.get_source_expressions()]
        one, two, first, second = (sql for sql, _ in parts)
        parameters = [value for _, values in parts for value in values]
        return f"({one}, {two}) {self.extra['operator']} ({first}, {second})", parameters


class Key:
    """The order of a list: columns that are never NULL, and together identify one row."""

    def __init__(self, model: type[Model], ordering: Sequence[Any]) -> None:
        """Raises ValueError if this order does not identify rows, or cannot compare them."""
        self.parts = [self.part(model, each) for each in ordering]

    @staticmethod
    def part(model: type[Model], name: Any) -> KeyColumn:
        *way, last = str(name).removeprefix("-").split(LOOKUP_SEP)
        try:
            for step in way:
                relation = model._meta.get_field(step)
                if not relation.one_to_one:
                    raise ValueError(name)
                model = relation.related_model  # type: ignore[assignment] # never generic, which is no one_to_one
            result = model._meta.pk if last == "pk" else model._meta.get_field(last)
        except FieldDoesNotExist as error:
            raise ValueError(name) from error
        if not isinstance(result, Field) or not result.concrete or result.null or result.is_relation:
            raise ValueError(name)
        return KeyColumn(LOOKUP_SEP.join([*way, result.name]), result, str(name).startswith("-"))

    @property
    def is_joined(self) -> bool:
        """Whether the columns are in another table."""
        return any(LOOKUP_SEP in part.path for part in self.parts)

    def ordering(self, *, back: bool, sort: bool = False) -> list[OrderBy]:
        """`sort`: by expressions without an index, so that PostgreSQL first finds all rows in the cheapest way."""
        columns = [Coalesce(part.path, part.path) if sort else F(part.path) for part in self.parts]
        return [
            OrderBy(column, descending=part.descending != back)
            for column, part in zip(columns, self.parts, strict=True)
        ]

    def merged(self, keyset_partitions: Sequence[QuerySet[Any]], *, back: bool) -> QuerySet[Any]:
        """The first rows of several walks, which are among the first ones of each."""
        one, *remaining = keyset_partitions
        if not remaining:
            return one
        order = (f"{'-' if part.descending != back else ''}{part.path}" for part in self.parts)
        return one.union(*remaining, all=True).order_by(*order)

    def after(self, cursor: Cursor) -> Q:
        """The rows that follow the cursor in its direction."""
        rows, same = Q(), Q()
        for part, value in zip(self.parts, cursor.values, strict=True):
            comparison = "lt" if part.descending != cursor.back else "gt"
            if not rows:
                nearest = Q(**{f"{part.path}__{comparison}e": value})
            rows |= same & Q(**{f"{part.path}__{comparison}": value})
            same &= Q(**{part.path: value})
        if self.is_joined and len(self.parts) == 2 and len({part.descending for part in self.parts}) == 1:
            return Q(self.row_after(cursor))
        # Only the first column can use the index; PostgreSQL would not use it for the OR.
        return nearest & rows if len(self.parts) > 1 else rows

    def row_after(self, cursor: Cursor) -> RowComparison:
        """Compares the row's key in the joined table, too, which is in its indexes: many rows may have one value."""
        one = self.parts[0]
        way = one.path.rpartition(LOOKUP_SEP)[0]
        values = [Value(value, part.field) for part, value in zip(self.parts, cursor.values, strict=True)]
        operator = "<" if one.descending != cursor.back else ">"
        return RowComparison(F(one.path), F(f"{way}{LOOKUP_SEP}pk"), *values, operator=operator)

    def cursor_at(self, row: Any, *, back: bool) -> Cursor:
        return Cursor(back, tuple(part.value_of(row) for part in self.parts))

    def write(self, cursor: Cursor, digest: str) -> str:
        values = json.dumps([cursor.back, *cursor.values], default=str).encode()
        return f"{digest}.{base64.urlsafe_b64encode(values).decode().rstrip('=')}"

    def read(self, text: str, digest: str) -> Cursor | None:
        """None for a cursor that no page of this list, with these filters in this order, can have created."""
        marked, _, encoded = text.partition(".")
        if marked != digest or len(encoded) > MAX_CURSOR_LENGTH:
            return None
        try:
            back, *values = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
            if values and len(values) != len(self.parts):
                return None
            fitting = zip(self.parts, values, strict=False)
            read = tuple(part.field.to_python(value) for part, value in fitting)
            return None if any(is_impossible_key(value) for value in read) else Cursor(bool(back), read)
        except (ValueError, TypeError, OverflowError, ValidationError, binascii.Error):
            return None


def is_impossible_key(value: Any) -> bool:
    """Whether the value cannot come from a row that was shown: ours are complete, and their moments in UTC."""
    elsewhere = isinstance(value, datetime) and value.utcoffset() != timedelta(0)
    return value is None or elsewhere or "\0" in str(value)


def uses_index_only_scan(rows: QuerySet[Any]) -> bool:
    """Whether PostgreSQL would use an index-only scan: then even a long walk is no more expensive than other plans."""
    table = rows.model._meta.db_table
    return any(
        node["Node Type"] == "Index Only Scan" and node["Relation Name"] == table for node in plan_nodes(plan_of(rows))
    )


def plan_nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from plan_nodes(part)


@dataclass(frozen=True, slots=True)
class Pages:
    """The neighbours of a page, for the template; an address is empty if there is none."""

    first: str = ""
    previous: str = ""
    next: str = ""
    last: str = ""
    template_name: str = "admin/pages_by_key.html"


class KeysetChangeList(CountedChangeList):
    """A changelist whose `p` identifies a row instead of a page number.

    It first selects the rows' keys, for which an index alone may suffice, and then loads the rows.
    """

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        result = super().get_ordering(request, queryset)
        try:
            key = Key(self.model, result)
        except ValueError:  # a column without an index, requested by hand
            self.params.pop(ORDER_VAR, None)
            return super().get_ordering(request, queryset)
        if key.is_joined and result[-1] == "-pk" and not key.parts[0].descending:
            result = [*result[:-1], "pk"]  # an index covers two columns with the same direction
        return result

    def get_results(self, request: HttpRequest) -> None:
        self.request = request
        key = Key(self.model, self.queryset.query.order_by)
        cursor = key.read(request.GET.get(PAGE_VAR, ""), self.list_digest)
        page: Any = self.model_admin
        of_filters = (getattr(spec, "keyset_partitions", ()) for spec in self.filter_specs)
        self.parts: Sequence[Q] = next(filter(None, of_filters), ()) or page.keyset_partitions(request)
        self.show_count(page.known_count(request, self) or counted(self.queryset))
        rows, more = self.page(key, cursor)
        if cursor and (not rows or (cursor.back and cursor.values and not more)):
            # Rows have been deleted, or these are the first ones: show the first page, complete.
            cursor = None
            rows, more = self.page(key, None)
        self.result_list = rows
        self.paginator = self.pages(key, cursor, rows, more=more)
        if not (self.paginator.previous or self.paginator.next):
            self.show_count(self.count.of(len(rows)))
        self.multi_page = self.can_show_all = False

    @property
    def list_digest(self) -> str:
        """A digest of the filters and the order, so that a cursor is not valid in another list."""
        requested = sorted((name, value) for name, value in self.filter_params.items() if name != PAGE_VAR)
        return f"{zlib.crc32(json.dumps(requested).encode()):08x}"

    def page(self, key: Key, cursor: Cursor | None) -> tuple[list[Any], bool]:
        """The rows of a page, in the list's order, and whether more follow in the cursor's direction."""
        back = bool(cursor and cursor.back)
        ids = self.ids(key, cursor)
        more = len(ids) > self.list_per_page
        chosen = self.apply_select_related(self.root_queryset).filter(pk__in=ids[: self.list_per_page])
        page: Any = self.model_admin
        if key.is_joined:
            chosen = page.with_sort_keys(self.request, chosen)
        by_id = {row.pk: row for row in page.with_related(chosen)}
        rows = [by_id[it] for it in ids if it in by_id]
        return rows[::-1] if back else rows, more

    def ids(self, key: Key, cursor: Cursor | None) -> list[Any]:
        """The ids of the page's rows and one more, in the cursor's direction."""
        if self.count == Count(0):
            return []
        back, most = bool(cursor and cursor.back), self.list_per_page + 1
        columns = [self.lookup_opts.pk.name, *(part.path for part in key.parts if not part.field.primary_key)]
        page: Any = self.model_admin
        rows = page.with_sort_keys(self.request, self.queryset) if key.is_joined else self.queryset
        beyond = rows.filter(key.after(cursor)) if cursor and cursor.values else rows
        result = beyond.order_by(*key.ordering(back=back, sort=True)).values_list(*columns)[:most]
        if self.count.number > changelist.EXACT_UP_TO or not self.count.exact:
            keyset_partitions = [beyond.filter(part).order_by(*key.ordering(back=back)) for part in self.parts]
            walked = key.merged([walk.values_list(*columns)[:most] for walk in keyset_partitions], back=back)[:most]
            if self.count.number > MAX_SORTED_ROWS or self.count.at_least or uses_index_only_scan(walked):
                result = walked
        return [row[0] for row in result]

    def pages(self, key: Key, cursor: Cursor | None, rows: Sequence[Any], *, more: bool) -> Pages:
        def at(cursor: Cursor) -> str:
            return self.get_query_string({PAGE_VAR: key.write(cursor, self.list_digest)})

        before = cursor is not None and (more if cursor.back else True)
        after = bool(cursor.back and cursor.values) or (more and not cursor.back) if cursor else more
        return Pages(
            first=self.get_query_string() if before else "",
            previous=at(key.cursor_at(rows[0], back=True)) if before and rows else "",
            next=at(key.cursor_at(rows[-1], back=False)) if after else "",
            last=at(Cursor(back=True)) if after else "",
        )
