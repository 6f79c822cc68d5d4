"""Brands' use of their quotas: codes, uploads, jobs, broadcasts and storage, counted for brands.tenants.quotas."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from authcodes import data_exports
from brands.tenants.quotas import Used
from core.db.statements import query


@dataclass(frozen=True, slots=True)
class TableUsage:
    """A brand's use of a resource, according to one table."""

    brand_id: int
    resource: str
    used: int | None  # None: some rows of the sum have no number yet


COUNT_USAGE = query("authcodes/sql/count_usage.sql", returns=TableUsage)


def counted(brand_ids: Sequence[int], since: datetime, resources: Collection[str]) -> Used:
    """One statement. `since`: the start of the day."""
    used: Used = {}
    for row in COUNT_USAGE.all(
        brands=list(brand_ids),
        resources=[str(resource) for resource in resources],
        since=since,
        today=since.date(),
        uncounted_kind=data_exports.KIND,
    ):
        used[row.brand_id, row.resource] = used.get((row.brand_id, row.resource), 0) + (row.used or 0)
    return used
