"""The status dashboard's figures, defined in docs/dashboard.md. Closed days come from rollups, today from scans."""
# ruff: noqa: S608 - built from constants and names of parameters

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connections
from django.utils import timezone

from authcodes.dashboard.filters import EVER, Filters, Status
from authcodes.dashboard.sources import Group, Parameters, Sources, groups
from brands.models.tenants import Brand
from core.db import replica
from core.db.statements import part, query

__all__ = ["Codes", "Delivery", "Figures", "Filters", "Scans", "Status", "codes", "delivery", "figures", "scans"]

MAX_PLACES = 5
PATIENCE_SECONDS = 0.3  # how long a page waits for a replica to catch up


@dataclass(frozen=True, slots=True)
class Codes:
    """Assigned codes, and how many of them were scanned."""

    assigned: int = 0
    scanned: int = 0

    @property
    def unscanned(self) -> int:
        return self.assigned - self.scanned


@dataclass(frozen=True, slots=True)
class Day:
    day: date
    accepted: int
    warnings: int
    errors: int

    @property
    def total(self) -> int:
        return self.accepted + self.warnings + self.errors


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A product or a place with its accepted scans. `id`: the product's id, or the place's name."""

    id: Any
    name: str
    scans: int


@dataclass(frozen=True, slots=True)
class Scans:
    """Scans by outcome, the points they earned, and who made them. `days`: days with scans, in order."""

    accepted: int = 0
    warnings: int = 0
    errors: int = 0
    recalled: int = 0
    points: Decimal = Decimal(0)
    unique_scanners: int = 0
    days: tuple[Day, ...] = ()
    products: tuple[RankedRow, ...] = ()
    places: tuple[RankedRow, ...] = ()

    @property
    def total(self) -> int:
        return self.accepted + self.warnings + self.errors


@dataclass(frozen=True, slots=True)
class Delivery:
    """The state of event handling, whatever the filters. `oldest_at`: when the oldest pending event was stored."""

    pending: int = 0
    oldest_at: datetime | None = None
    dead: int = 0


# Its placeholders are filled for each request. A row has a kind, then a day, a product id, a name, and counts.
COUNT_SCANS = part("authcodes/dashboard/sql/count_scans.sql")
FETCH_DELIVERY = query("authcodes/dashboard/sql/fetch_delivery.sql", returns=Delivery)


@dataclass(frozen=True, slots=True)
class Figures:
    codes: Codes
    scans: Scans
    delivery: Delivery


def figures(*, brands: Iterable[Brand], filters: Filters = EVER) -> Figures:
    """All figures of the dashboard for these brands."""
    brands = list(brands)
    return Figures(
        codes(brands=brands, filters=filters), scans(brands=brands, filters=filters), delivery(brands=brands)
    )


def codes(*, brands: Iterable[Brand], filters: Filters) -> Codes:
    """Two statements."""
    return codes_of(groups(brands, timezone.now()), filters)


def codes_of(result: Sequence[Group], filters: Filters) -> Codes:
    """One statement."""
    parameters = Parameters()
    if not result:
        return Codes()
    count = _deactivated_codes if filters.status == Status.DEACTIVATED else _codes
    parts = _union([count(group, filters, parameters) for group in result])
    statement = f"SELECT sum(assigned), sum(scanned) FROM ({parts}) AS part"
    return Codes(*(int(value) for value in _rows(statement, parameters)[0]))


def scans(*, brands: Iterable[Brand], filters: Filters, max_places: int = MAX_PLACES) -> Scans:
    """Two statements. `max_places`: how many of the busiest places to return."""
    return scans_of(groups(brands, timezone.now()), filters, max_places=max_places)


def scans_of(
    result: Sequence[Group], filters: Filters, *, max_places: int = MAX_PLACES, unique_scanners: int | None = None
) -> Scans:
    """One statement. `unique_scanners`: the number if known; otherwise it is counted."""
    if not result:
        return Scans()
    parameters = Parameters()
    sources = [Sources(group, filters, parameters) for group in result]
    statement = COUNT_SCANS.format(
        max_places=int(max_places),
        single=_union([part for it in sources for part in it.single(["day", "product_id", "location", "user_id"])]),
        rolled=_also([part for it in sources for part in it.rolled(["day", "product_id"])]),
        rolled_places=_also([part for it in sources for part in it.rolled_places()]),
        known_unique_scanners=""
        if unique_scanners is not None
        else _also([part for it in sources for part in it.known_unique_scanners()]),
    )
    counted = _display_rows(_rows(statement, parameters))
    return counted if unique_scanners is None else replace(counted, unique_scanners=unique_scanners)


def delivery(*, brands: Iterable[Brand]) -> Delivery:
    """One statement, using the indexes of pending and dead events."""
    parameters = Parameters({"brand_ids": [brand.pk for brand in brands]})
    return Delivery(*_rows(FETCH_DELIVERY.text, parameters)[0])


def _codes(group: Group, filters: Filters, parameters: Parameters) -> str:
    """SELECT of assigned and scanned codes. Batches store their code counts; only unassigned codes are counted."""
    batches = _batches(group, filters, parameters)
    assigned = f"""
        (SELECT COALESCE(sum(generated_count), 0) FROM authcodes_batchrange WHERE id IN ({batches}))
        - (SELECT count(*) FROM authcodes_authcode
            WHERE product_id IS NULL AND brand_id = ANY({parameters.add(list(group.brand_ids))})
              AND batch_id IN ({batches}))
    """
    ever = _first_scans(group, Filters(batch_ids=tuple(filters.batches)), parameters, batches)
    if filters.status == Status.UNSCANNED:
        return f"SELECT {assigned} - {ever} AS assigned, 0 AS scanned"
    scanned = _first_scans(group, _when_and_where(filters), parameters, batches) if filters.by_scan else ever
    return f"SELECT {ever if filters.status == Status.SCANNED else assigned} AS assigned, {scanned} AS scanned"


def _deactivated_codes(group: Group, filters: Filters, parameters: Parameters) -> str:
    """The same for deactivated codes, in a single query because there are few."""
    scanned = ["c.scan_count > 0"]
    first, last = filters.first_day, filters.last_day
    if first:
        scanned.append(f"c.first_scan_at >= {parameters.add(group.midnight(first))}")
    if last:
        scanned.append(f"c.first_scan_at < {parameters.add(group.midnight(last + timedelta(days=1)))}")
    if filters.where:
        scanned.append(f"c.first_scan_location = ANY({parameters.add(filters.where)})")
    return f"""
        SELECT count(*) AS assigned, count(*) FILTER (WHERE {" AND ".join(scanned)}) AS scanned
          FROM authcodes_authcode c
         WHERE c.deactivated_at IS NOT NULL AND c.product_id IS NOT NULL
           AND c.brand_id = ANY({parameters.add(list(group.brand_ids))})
           AND c.batch_id = ANY(ARRAY({_batches(group, filters, parameters)}))
    """


def _when_and_where(filters: Filters) -> Filters:
    """The filters that remain once the batches are selected by the others."""
    return replace(filters, status=None, campaign_id=None)


def _batches(group: Group, filters: Filters, parameters: Parameters) -> str:
    """A SELECT of the batches whose codes are counted."""
    where = [f"brand_id = ANY({parameters.add(list(group.brand_ids))})"]
    if filters.batches:
        where.append(f"id = ANY({parameters.add(filters.batches)})")
    if filters.campaign_id is not None:
        where.append(f"campaign_id = {parameters.add(filters.campaign_id)}")
    if filters.status == Status.EXPIRED:
        where.append(f"expiration_date < {parameters.add(group.today)}")
    return f"SELECT id FROM authcodes_batchrange WHERE {' AND '.join(where)}"


def _first_scans(group: Group, filters: Filters, parameters: Parameters, batches: str) -> str:
    """How many codes of `batches` were first scanned at these places in this period."""
    source = Sources(group, filters, parameters)
    parts = [*source.rolled(["batch_id"]), *source.single(["batch_id"])]
    # An array is built once. Otherwise the planner, expecting one batch, would read all scans again for each batch.
    return f"""
        (SELECT COALESCE(sum(first_scans), 0)::bigint FROM ({_union(parts)}) f WHERE f.batch_id = ANY(ARRAY({batches})))
    """


def _display_rows(rows: Sequence[tuple[Any, ...]]) -> Scans:
    totals, days, products, places = Scans(), [], [], []
    for what, day, product_id, name, accepted, warnings, errors, recalled, points, unique_scanners in rows:
        if what == "day":
            days.append(Day(day, int(accepted), int(warnings), int(errors)))
        elif what == "product":
            products.append(RankedRow(product_id, name, int(accepted)))
        elif what == "place":
            places.append(RankedRow(name, name, int(accepted)))
        else:
            totals = Scans(int(accepted), int(warnings), int(errors), int(recalled), points, unique_scanners)
    return replace(
        totals,
        days=tuple(sorted(days, key=lambda it: it.day)),
        products=tuple(sorted(products, key=lambda it: (-it.scans, it.id))),
        places=tuple(sorted(places, key=lambda it: (-it.scans, it.id))),
    )


def _also(parts: Sequence[str]) -> str:
    return "".join(f" UNION ALL {part}" for part in parts)


def _union(parts: Sequence[str]) -> str:
    return " UNION ALL ".join(parts)


def _rows(statement: str, parameters: Parameters) -> list[tuple[Any, ...]]:
    return rows_of(statement, parameters.values)


def rows_of(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Parameters are bound by the client, so that the planner can choose a plan for these places and days."""
    with connections[replica.alias(patience_seconds=PATIENCE_SECONDS)].cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
