"""Where the dashboard's statements read: rollups for closed days, Scan for the rest, as SELECTs of the same shape."""
# ruff: noqa: S608 - built from constants and names of parameters

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from authcodes.models import RollupMark
from brands.models import Brand


class Status(models.TextChoices):
    """A code's state as the dashboard filters by it."""

    SCANNED = "scanned", _("Scanned")
    UNSCANNED = "unscanned", _("Unscanned")
    EXPIRED = "expired", _("Expired")
    DEACTIVATED = "deactivated", _("Deactivated")


@dataclass(frozen=True, slots=True)
class Filters:
    """What docs/dashboard.md says of each. Days are the brand's own, both included."""

    status: Status | None = None
    first_day: date | None = None
    last_day: date | None = None
    location: str = ""
    campaign_id: int | None = None

    @property
    def by_scan(self) -> bool:
        """Whether they ask when or where codes were scanned."""
        return bool(self.first_day or self.last_day or self.location)


EVER = Filters()
COUNTS = "accepted, first_scans, warnings, errors, recalled, points"
# A scan as a row of a rollup.
AS_COUNTS = """
    (s.outcome = 'success')::int AS accepted, (s.outcome = 'success' AND s.scan_count = 1)::int AS first_scans,
    (s.outcome = 'warning')::int AS warnings, (s.outcome = 'error')::int AS errors,
    (s.reason = 'recalled')::int AS recalled, s.points_awarded AS points
"""
# Of one that was not accepted everything else is nothing; so it is read from its index alone.
AS_ATTEMPT = """
    0 AS accepted, 0 AS first_scans, (s.outcome = 'warning')::int AS warnings, (s.outcome = 'error')::int AS errors,
    (s.reason = 'recalled')::int AS recalled, 0::numeric AS points
"""


@dataclass
class Parameters:
    """Values of a statement, each under a name of its own."""

    values: dict[str, Any] = field(default_factory=dict)

    def add(self, value: Any) -> str:
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f"%({name})s"


@dataclass(frozen=True, slots=True)
class Group:
    """Brands that share a time zone and how far they are rolled up; statements read each group by itself.

    `until`: the last day of the rollups, None where there are none; what follows is live.
    """

    brand_ids: tuple[int, ...]
    zone: Any
    until: date | None
    today: date

    def midnight(self, day: date) -> datetime:
        return datetime.combine(day, time.min, self.zone)


def groups(brands: Iterable[Brand], at: datetime) -> list[Group]:
    """One statement. A mark in another zone than its brand's is none: its days were cut elsewhere."""
    brands = list(brands)
    marks = {mark.brand_id: mark for mark in RollupMark.objects.filter(brand__in=brands)}
    found: dict[tuple[str, date | None], list[Brand]] = {}
    for brand in brands:
        mark = marks.get(brand.pk)
        until = mark.until if mark and mark.time_zone == brand.time_zone else None
        found.setdefault((brand.time_zone, until), []).append(brand)
    return [
        Group(tuple(it.pk for it in same), same[0].zone, until, at.astimezone(same[0].zone).date())
        for (_zone, until), same in found.items()
    ]


class Sources:
    """The SELECTs of one group under some filters; their values go into `parameters`."""

    def __init__(self, group: Group, filters: Filters, parameters: Parameters) -> None:
        self.group, self.filters, self.parameters = group, filters, parameters
        self.brands = parameters.add(list(group.brand_ids))

    # --- which rows -------------------------------------------------------------------------------------------------

    def narrowed(self, row: str) -> list[str]:
        """Brand, campaign, place and expiry of a scan or of a row of a rollup that has these."""
        where = [f"{row}.brand_id = ANY({self.brands})"]
        if self.filters.campaign_id is not None:
            where.append(f"{row}.campaign_id = {self.parameters.add(self.filters.campaign_id)}")
        if self.filters.location:
            where.append(f"{row}.location = {self.parameters.add(self.filters.location)}")
        if self.filters.status == Status.EXPIRED:
            where.append(f"{row}.batch_id = ANY(ARRAY({self.expired_batches()}))")
        return where

    def expired_batches(self) -> str:
        today = self.parameters.add(self.group.today)
        return f"SELECT id FROM authcodes_batchrange WHERE brand_id = ANY({self.brands}) AND expiration_date < {today}"

    def closed(self) -> list[str]:
        """The days of a rollup; what lies beyond its mark may be half made."""
        last = min(self.filters.last_day or date.max, self.group.until or date.min)
        where = [f"r.day <= {self.parameters.add(last)}"]
        if self.filters.first_day:
            where.append(f"r.day >= {self.parameters.add(self.filters.first_day)}")
        return where

    def between(self, first: date | None, last: date | None) -> list[str]:
        """When a scan was made."""
        where = []
        if first:
            where.append(f"s.scanned_at >= {self.parameters.add(self.group.midnight(first))}")
        if last:
            where.append(f"s.scanned_at < {self.parameters.add(self.group.midnight(last + timedelta(days=1)))}")
        return where

    def open(self) -> list[str]:
        """When a scan was made that no rollup knows of yet."""
        first = self.filters.first_day
        if self.group.until:
            first = max(first or date.min, self.group.until + timedelta(days=1))
        return self.between(first, self.filters.last_day)

    # --- what of them -----------------------------------------------------------------------------------------------

    def columns(self, wanted: Sequence[str], row: str) -> str:
        if row == "r":
            return ", ".join(f"r.{name}" for name in wanted)
        zone = self.parameters.add(str(self.group.zone)) if "day" in wanted else ""
        day = f"(s.scanned_at AT TIME ZONE {zone})::date AS day"
        return ", ".join(day if name == "day" else f"s.{name}" for name in wanted)

    def rolled(self, wanted: Sequence[str], *, places: bool = False) -> list[str]:
        """SELECTs of the `wanted` columns and COUNTS of closed days. `places`: what is wanted is the place alone."""
        if not self.uses_rollups:
            return []
        accepted = self.filters.status == Status.SCANNED
        counts = "accepted, first_scans, 0, 0, 0, points" if accepted else COUNTS
        where = [*self.narrowed("r"), *self.closed(), *(["r.accepted > 0"] if accepted else [])]
        table = self.table(places=places)
        return [f"SELECT {self.columns(wanted, 'r')}, {counts} FROM {table} r WHERE {' AND '.join(where)}"]

    def known_scanners(self) -> list[str]:
        """SELECTs of `user_id` in closed days; one may come several times."""
        if not self.uses_rollups:
            return []
        filters = self.filters
        accepted = " AND r.accepted" if filters.status == Status.SCANNED else ""
        if filters.by_scan or filters.campaign_id is not None or filters.status == Status.EXPIRED:
            where = " AND ".join([*self.narrowed("r"), *self.closed()])
            return [f"SELECT r.user_id FROM authcodes_scannerrollup r WHERE {where}{accepted}"]
        return [f"SELECT r.user_id FROM authcodes_scanner r WHERE r.brand_id = ANY({self.brands}){accepted}"]

    def single(self, wanted: Sequence[str]) -> list[str]:
        """SELECTs of the `wanted` columns and COUNTS of what has to be read scan by scan."""
        status, columns = self.filters.status, self.columns(wanted, "s")
        if status == Status.DEACTIVATED:
            return [self.of_deactivated(f"{columns}, {AS_COUNTS}")]
        attempts = self.of_attempts(f"{columns}, {AS_ATTEMPT}")
        if status == Status.UNSCANNED:
            return [attempts]
        opened = self.of_open(f"{columns}, {AS_COUNTS}", accepted=status == Status.SCANNED)
        return [attempts, opened] if status == Status.SCANNED else [opened]

    @property
    def uses_rollups(self) -> bool:
        """Rollups know no single codes, but that an accepted scan's code is a scanned one."""
        return bool(self.group.until) and self.filters.status not in {Status.UNSCANNED, Status.DEACTIVATED}

    # --- the sources ------------------------------------------------------------------------------------------------

    def table(self, *, places: bool) -> str:
        """The smallest rollup that knows what is asked."""
        by_batch = self.filters.campaign_id is not None or self.filters.status == Status.EXPIRED
        if places and not by_batch:
            return "authcodes_placerollup"
        return "authcodes_cellrollup" if places or self.filters.location else "authcodes_dayrollup"

    def of_open(self, columns: str, *, accepted: bool) -> str:
        where = [*self.narrowed("s"), *self.open(), *(["s.outcome = 'success'"] if accepted else [])]
        return f"SELECT {columns} FROM authcodes_scan s WHERE {' AND '.join(where)}"

    def of_attempts(self, columns: str) -> str:
        """Scans that were not accepted, of codes that at another time were (or of those that never were)."""
        state = "c.scan_count > 0" if self.filters.status == Status.SCANNED else "c.scan_count = 0"
        where = [*self.narrowed("s"), *self.between(self.filters.first_day, self.filters.last_day)]
        return f"""
            SELECT {columns} FROM authcodes_scan s JOIN authcodes_authcode c ON c.id = s.auth_code_id AND {state}
             WHERE s.outcome <> 'success' AND {" AND ".join(where)}
        """

    def of_deactivated(self, columns: str) -> str:
        where = [*self.narrowed("s"), *self.between(self.filters.first_day, self.filters.last_day)]
        return f"""
            SELECT {columns} FROM authcodes_authcode c JOIN authcodes_scan s ON s.auth_code_id = c.id
             WHERE c.brand_id = ANY({self.brands}) AND c.deactivated_at IS NOT NULL AND {" AND ".join(where)}
        """
