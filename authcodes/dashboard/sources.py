"""The sources of the dashboard's SELECTs: rollups for closed days, Scan for the rest, in the same shape."""
# ruff: noqa: S608 - built from constants and names of parameters

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from authcodes.dashboard.filters import Filters, Status
from authcodes.models.rollups import RollupWatermark
from authcodes.rollups.rollups import OF_SCANNED_CODE, UNSUCCESSFUL
from brands.models.tenants import Brand
from brands.tenants.local_time import midnight

COUNTS = "accepted, first_scans, warnings, errors, recalled, points"
# A scan as a row of a rollup.
AS_COUNTS = """
    (s.outcome = 'success')::int AS accepted, (s.outcome = 'success' AND s.scan_count = 1)::int AS first_scans,
    (s.outcome = 'warning')::int AS warnings, (s.outcome = 'error')::int AS errors,
    (s.reason = 'recalled')::int AS recalled, s.points_awarded AS points
"""
# An unsuccessful attempt as a row of a rollup, and as a row that subtracts it again.
AS_ATTEMPT = """
    0 AS accepted, 0 AS first_scans, (v.outcome = 'warning')::int AS warnings, (v.outcome = 'error')::int AS errors,
    (v.reason = 'recalled')::int AS recalled, 0::numeric AS points
"""
LESS_ATTEMPT = "0, 0, -(v.outcome = 'warning')::int, -(v.outcome = 'error')::int, -(v.reason = 'recalled')::int, 0"


@dataclass
class Parameters:
    """The parameters of a statement, each with its own name."""

    values: dict[str, Any] = field(default_factory=dict)

    def add(self, value: Any) -> str:
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f"%({name})s"


@dataclass(frozen=True, slots=True)
class Group:
    """Brands with the same time zone and rollup watermark; statements read each group separately.

    `until`: the last day of the rollups, None without any. Later days are live.
    """

    brand_ids: tuple[int, ...]
    zone: Any
    until: date | None
    today: date

    def midnight(self, day: date) -> datetime:
        return midnight(day, self.zone)


def groups(brands: Iterable[Brand], at: datetime) -> list[Group]:
    """One statement. A watermark in another time zone than its brand's is ignored, since its days differ."""
    brands = list(brands)
    marks = {mark.brand_id: mark for mark in RollupWatermark.objects.filter(brand__in=brands)}
    result: dict[tuple[str, date | None], list[Brand]] = {}
    for brand in brands:
        mark = marks.get(brand.pk)
        until = mark.until if mark and mark.time_zone == brand.time_zone else None
        result.setdefault((brand.time_zone, until), []).append(brand)
    return [
        Group(tuple(it.pk for it in same), same[0].zone, until, same[0].day_at(at))
        for (_zone, until), same in result.items()
    ]


class Sources:
    """The SELECTs of one group with the given filters; their values go into `parameters`."""

    def __init__(self, group: Group, filters: Filters, parameters: Parameters) -> None:
        self.group, self.filters, self.parameters = group, filters, parameters
        self.brands = parameters.add(list(group.brand_ids))

    # --- Conditions -------------------------------------------------------------------------------------------------

    def narrowed(self, row: str) -> list[str]:
        """Conditions on brand, batch, campaign, place and expiry, for a scan or for a rollup row with these columns."""
        where = [f"{row}.brand_id = ANY({self.brands})"]
        if self.filters.batches:
            where.append(f"{row}.batch_id = ANY({self.parameters.add(self.filters.batches)})")
        if self.filters.campaign_id is not None:
            where.append(f"{row}.campaign_id = {self.parameters.add(self.filters.campaign_id)}")
        if self.filters.where:
            where.append(f"{row}.location = ANY({self.parameters.add(self.filters.where)})")
        if self.filters.status == Status.EXPIRED:
            where.append(f"{row}.batch_id = ANY(ARRAY({self.expired_batches()}))")
        return where

    def expired_batches(self) -> str:
        today = self.parameters.add(self.group.today)
        return f"SELECT id FROM authcodes_batchrange WHERE brand_id = ANY({self.brands}) AND expiration_date < {today}"

    def closed(self, row: str) -> list[str]:
        """Conditions on the days of a rollup; days after its watermark may be incomplete."""
        last = min(self.filters.last_day or date.max, self.group.until or date.min)
        where = [f"{row}.day <= {self.parameters.add(last)}"]
        if self.filters.first_day:
            where.append(f"{row}.day >= {self.parameters.add(self.filters.first_day)}")
        return where

    def between(self, first: date | None, last: date | None) -> list[str]:
        """Conditions on the time of a scan."""
        where = []
        if first:
            where.append(f"s.scanned_at >= {self.parameters.add(self.group.midnight(first))}")
        if last:
            where.append(f"s.scanned_at < {self.parameters.add(self.group.midnight(last + timedelta(days=1)))}")
        return where

    def open(self) -> list[str]:
        """Conditions on the time of scans that are not in a rollup yet."""
        first = max(self.filters.first_day or date.min, self.first_open or date.min)
        return self.between(None if first == date.min else first, self.filters.last_day)

    @property
    def first_open(self) -> date | None:
        return self.group.until + timedelta(days=1) if self.group.until else None

    # --- SELECTs ----------------------------------------------------------------------------------------------------

    def columns(self, names: Sequence[str], row: str) -> str:
        if row != "s":
            return ", ".join(f"{row}.{name}" for name in names)
        zone = self.parameters.add(str(self.group.zone)) if "day" in names else ""
        day = f"(s.scanned_at AT TIME ZONE {zone})::date AS day"
        return ", ".join(day if name == "day" else f"s.{name}" for name in names)

    def rolled(self, names: Sequence[str]) -> list[str]:
        """SELECTs of the `names` columns and COUNTS for closed days."""
        if not self.uses_rollups:
            return []
        rows = f"SELECT {self.columns(names, 'r')}, {COUNTS} FROM {self.table()} r"
        where = [*self.narrowed("r"), *self.closed("r")]
        if self.filters.status != Status.SCANNED:
            return [f"{rows} WHERE {' AND '.join(where)}"]
        known = f"{rows} WHERE {' AND '.join([*where, 'r.batch_id IS NOT NULL'])}"
        return [known, *self.of_unsuccessful(f"{self.columns(names, 'v')}, {LESS_ATTEMPT}")]

    def rolled_places(self) -> list[str]:
        """SELECTs of `location` and `accepted` for closed days."""
        if not self.uses_rollups:
            return []
        where = " AND ".join([*self.narrowed("r"), *self.closed("r"), "r.accepted > 0"])
        return [f"SELECT r.location, r.accepted FROM {self.table(places=True)} r WHERE {where}"]

    def known_unique_scanners(self) -> list[str]:
        """SELECTs of `user_id` for closed days, possibly with duplicates."""
        if not self.uses_rollups:
            return []
        filters = self.filters
        of_scanned = filters.status == Status.SCANNED
        where = [*(["r.scanned"] if of_scanned else [])]
        if not (filters.by_scan or self.by_batch):
            where.append(f"r.brand_id = ANY({self.brands})")
            return [
                f"SELECT r.user_id FROM authcodes_uniquescanner r WHERE {' AND '.join(where)}",
                *self.late_unique_scanners(),
            ]
        where += [*self.narrowed("r"), *self.closed("r")]
        return [
            f"SELECT r.user_id FROM authcodes_uniquescannerrollup r WHERE {' AND '.join(where)}",
            *self.late_unique_scanners(),
        ]

    def late_unique_scanners(self) -> list[str]:
        """Users whose attempts were on codes that were first scanned after the days were closed."""
        return self.of_unsuccessful("v.user_id", still=False) if self.filters.status == Status.SCANNED else []

    def single(self, names: Sequence[str]) -> list[str]:
        """SELECTs of the `names` columns and COUNTS for scans that must be read one by one."""
        status, columns = self.filters.status, f"{self.columns(names, 's')}, {AS_COUNTS}"
        if status == Status.DEACTIVATED:
            return [self.of_deactivated(columns)]
        if status == Status.UNSCANNED:
            return [
                *self.of_unsuccessful(f"{self.columns(names, 'v')}, {AS_ATTEMPT}"),
                self.of_open(columns, UNSUCCESSFUL),
            ]
        return [self.of_open(columns, *([OF_SCANNED_CODE] if status == Status.SCANNED else []))]

    @property
    def uses_rollups(self) -> bool:
        """Rollups have no states of single codes, except for unsuccessful attempts."""
        return bool(self.group.until) and self.filters.status not in {Status.UNSCANNED, Status.DEACTIVATED}

    @property
    def by_batch(self) -> bool:
        """Whether only rows with a batch or campaign can be used."""
        filters = self.filters
        is_narrowed = bool(filters.batches) or filters.campaign_id is not None
        return is_narrowed or filters.status == Status.EXPIRED

    # --- Tables -----------------------------------------------------------------------------------------------------

    def table(self, *, places: bool = False) -> str:
        """The smallest rollup with the required columns."""
        if places and not self.by_batch:
            return "authcodes_placerollup"
        return "authcodes_batchplacerollup" if places or self.filters.location else "authcodes_dayrollup"

    def of_open(self, columns: str, *conditions: str) -> str:
        where = [*self.narrowed("s"), *self.open(), *conditions]
        return f"SELECT {columns} FROM authcodes_scan s WHERE {' AND '.join(where)}"

    def of_unsuccessful(self, columns: str, *, still: bool = True) -> list[str]:
        """Attempts of closed days on codes not scanned by then: codes `still` not scanned now, or the others."""
        if self.group.until is None:
            return []
        where = [*self.narrowed("v"), *self.closed("v")]
        since = f"""
            {"NOT" if still else ""} EXISTS (SELECT 1 FROM authcodes_scan s WHERE s.auth_code_id = v.auth_code_id
                AND s.outcome = 'success' AND s.brand_id = ANY({self.brands})
                AND {" AND ".join(self.between(self.first_open, None))})
        """
        return [f"SELECT {columns} FROM authcodes_unscannedcodeattempt v WHERE {' AND '.join([*where, since])}"]

    def of_deactivated(self, columns: str) -> str:
        """OFFSET 0 is a planner fence: few codes are deactivated, so the scans are looked up code by code."""
        where = [*self.narrowed("s"), *self.between(self.filters.first_day, self.filters.last_day)]
        return f"""
            SELECT {columns}
              FROM authcodes_authcode c
             CROSS JOIN LATERAL (SELECT * FROM authcodes_scan s
                                  WHERE s.auth_code_id = c.id AND {" AND ".join(where)} OFFSET 0) s
             WHERE c.brand_id = ANY({self.brands}) AND c.deactivated_at IS NOT NULL
        """
