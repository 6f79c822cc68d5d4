"""Pages by key: each begins beside the last row of the page before, so page 30,000 costs what the first one does."""

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
from django.db.models import F, Field, Model, OrderBy, Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from portal.lists import changelist
from portal.lists.changelist import CountedChangeList, counted, plan_of

MAX_CURSOR_LENGTH = 500
# Expected rows that are rather sorted than met on a walk along the index of the list's order: PostgreSQL thinks that
# they lie evenly on it, and where they all lie far away it would read a million other rows first.
FEW = 20_000


@dataclass(frozen=True, slots=True)
class Cursor:
    """Beside which row a page begins: after it or, for a page before it, back from there. No values: at the end."""

    back: bool
    values: tuple[Any, ...] = ()


class Key:
    """What a list is ordered by: its own columns, never NULL, which together name one row."""

    def __init__(self, model: type[Model], ordering: Sequence[Any]) -> None:
        """Raises ValueError where rows cannot be told apart, or compared, by this order."""
        self.parts = [(self.column(model, each), each.startswith("-")) for each in ordering]

    @staticmethod
    def column(model: type[Model], name: Any) -> "Field[Any, Any]":
        bare = str(name).removeprefix("-")
        try:
            result = model._meta.pk if bare == "pk" else model._meta.get_field(bare)  # noqa: SLF001 - Django's public API
        except FieldDoesNotExist as error:
            raise ValueError(name) from error
        if not isinstance(result, Field) or not result.concrete or result.null or result.is_relation:
            raise ValueError(name)
        return result

    def ordering(self, *, back: bool, sort: bool = False) -> list[OrderBy]:
        """`sort`: by expressions that no index knows, so that all rows are found first, by whatever finds them best."""
        columns = [Coalesce(field.name, field.name) if sort else F(field.name) for field, _ in self.parts]
        return [
            OrderBy(column, descending=descending != back)
            for column, (_, descending) in zip(columns, self.parts, strict=True)
        ]

    def merged(self, keyset_partitions: Sequence[QuerySet[Any]], *, back: bool) -> QuerySet[Any]:
        """The first rows of several walks: they are among the first ones of each."""
        one, *remaining = keyset_partitions
        if not remaining:
            return one
        order = (f"{'-' if descending != back else ''}{field.name}" for field, descending in self.parts)
        return one.union(*remaining, all=True).order_by(*order)

    def beyond(self, place: Cursor) -> Q:
        """The rows that follow the place, in the direction that it looks."""
        rows, same = Q(), Q()
        for (field, descending), value in zip(self.parts, place.values, strict=True):
            comparison = "lt" if descending != place.back else "gt"
            if not rows:
                nearest = Q(**{f"{field.name}__{comparison}e": value})
            rows |= same & Q(**{f"{field.name}__{comparison}": value})
            same &= Q(**{field.name: value})
        # The index is entered by its first column alone; PostgreSQL would not do so for the OR.
        return nearest & rows if len(self.parts) > 1 else rows

    def cursor_at(self, row: Any, *, back: bool) -> Cursor:
        return Cursor(back, tuple(getattr(row, field.attname) for field, _ in self.parts))

    def write(self, place: Cursor, mark: str) -> str:
        values = json.dumps([place.back, *place.values], default=str).encode()
        return f"{mark}.{base64.urlsafe_b64encode(values).decode().rstrip('=')}"

    def read(self, text: str, mark: str) -> Cursor | None:
        """None for what no page of this list, with these filters in this order, can have named."""
        digest, _, encoded = text.partition(".")
        if digest != mark or len(encoded) > MAX_CURSOR_LENGTH:
            return None
        try:
            back, *values = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
            if values and len(values) != len(self.parts):
                return None
            fitting = zip(self.parts, values, strict=False)
            read = tuple(field.to_python(value) for (field, _), value in fitting)
            return None if any(is_no_key(value) for value in read) else Cursor(bool(back), read)
        except (ValueError, TypeError, OverflowError, ValidationError, binascii.Error):
            return None


def is_no_key(value: Any) -> bool:
    """Whether no row that was shown can have had it: ours are written whole, and their moments in UTC."""
    elsewhere = isinstance(value, datetime) and value.utcoffset() != timedelta(0)
    return value is None or elsewhere or "\0" in str(value)


def walks_an_index(rows: QuerySet[Any]) -> bool:
    """Whether PostgreSQL would find the rows in an index alone: a walk that far is no dearer than all else."""
    table = rows.model._meta.db_table  # noqa: SLF001 - Django's public API
    return any(
        node["Node Type"] == "Index Only Scan" and node["Relation Name"] == table for node in nodes(plan_of(rows))
    )


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


@dataclass(frozen=True, slots=True)
class Pages:
    """Where a page's neighbours are, for the template; an address is empty where there is none."""

    first: str = ""
    previous: str = ""
    next: str = ""
    last: str = ""
    template_name: str = "admin/pages_by_key.html"


class KeysetChangeList(CountedChangeList):
    """A changelist whose `p` names a row instead of a number.

    Rows are chosen by their keys first, which an index alone may answer, and then read whole.
    """

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        result = super().get_ordering(request, queryset)
        try:
            Key(self.model, result)
        except ValueError:  # a column that has no index, asked for by hand
            self.params.pop(ORDER_VAR, None)
            return super().get_ordering(request, queryset)
        return result

    def get_results(self, request: HttpRequest) -> None:
        key = Key(self.model, self.queryset.query.order_by)
        place = key.read(request.GET.get(PAGE_VAR, ""), self.mark)
        page: Any = self.model_admin
        self.parts: Sequence[Q] = page.keyset_partitions(request)
        self.show_count(page.known_count(request, self) or counted(self.queryset))
        rows, more = self.page(key, place)
        if place and (not rows or (place.back and place.values and not more)):
            # Rows went away meanwhile, or these are the first ones: the first page, whole.
            place = None
            rows, more = self.page(key, None)
        self.result_list = rows
        self.paginator = self.pages(key, place, rows, more=more)
        if not (self.paginator.previous or self.paginator.next):
            self.show_count(self.count.of(len(rows)))
        self.multi_page = self.can_show_all = False

    @property
    def mark(self) -> str:
        """Of the filters and the order, so that a place in one list is none in another."""
        requested = sorted((name, value) for name, value in self.filter_params.items() if name != PAGE_VAR)
        return f"{zlib.crc32(json.dumps(requested).encode()):08x}"

    def page(self, key: Key, place: Cursor | None) -> tuple[list[Any], bool]:
        """The rows of a page, in the list's order, and whether more follow in the direction that it looks."""
        back = bool(place and place.back)
        ids = self.ids(key, place)
        more = len(ids) > self.list_per_page
        chosen = self.apply_select_related(self.root_queryset).filter(pk__in=ids[: self.list_per_page])
        page: Any = self.model_admin
        by_id = {row.pk: row for row in page.with_related(chosen)}
        rows = [by_id[it] for it in ids if it in by_id]
        return rows[::-1] if back else rows, more

    def ids(self, key: Key, place: Cursor | None) -> list[Any]:
        """Of the page's rows and one more, in the direction that it looks."""
        back, most = bool(place and place.back), self.list_per_page + 1
        columns = [self.lookup_opts.pk.name, *(field.name for field, _ in key.parts if not field.primary_key)]
        beyond = self.queryset.filter(key.beyond(place)) if place and place.values else self.queryset
        result = beyond.order_by(*key.ordering(back=back, sort=True)).values_list(*columns)[:most]
        if self.count.number > changelist.EXACT_UP_TO or not self.count.exact:
            keyset_partitions = [beyond.filter(part).order_by(*key.ordering(back=back)) for part in self.parts]
            walked = key.merged([walk.values_list(*columns)[:most] for walk in keyset_partitions], back=back)[:most]
            result = walked if self.count.number > FEW or self.count.at_least or walks_an_index(walked) else result
        return [row[0] for row in result]

    def pages(self, key: Key, place: Cursor | None, rows: Sequence[Any], *, more: bool) -> Pages:
        def at(place: Cursor) -> str:
            return self.get_query_string({PAGE_VAR: key.write(place, self.mark)})

        before = place is not None and (more if place.back else True)
        after = bool(place.back and place.values) or (more and not place.back) if place else more
        return Pages(
            first=self.get_query_string() if before else "",
            previous=at(key.cursor_at(rows[0], back=True)) if before and rows else "",
            next=at(key.cursor_at(rows[-1], back=False)) if after else "",
            last=at(Cursor(back=True)) if after else "",
        )
