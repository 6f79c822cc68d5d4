"""Codes that were scanned in a row: neighbouring numbers of a plain batch, first scanned one soon after the other.

Whoever has one plain code can count on from it; whoever buys a product has one number. What is sold side by side is
scanned by different customers, or hours apart. So a run takes all of these: `MIN_CODES` codes, each at most
`MAX_GAP` numbers and `MAX_PAUSE` from the next, and no more than `MAX_CUSTOMERS` customers, guests being
counted as one. A shop that opens a carton of ten or more and scans each product itself looks the same: the notice
says so, and staff look.

Read from the newest first scans alone, so its cost is bounded however many scans there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from core.db import sql

MIN_CODES = 10
MAX_GAP = 3
MAX_PAUSE = timedelta(hours=1)
MAX_CUSTOMERS = 3
LOOKS_BACK = timedelta(days=2)
NEWEST = 1000  # scans of a brand that are read
MAX_BRANDS = 20
MAX_RUNS = 5

# Per brand the first scans among the newest; of each its number in the batch. An island ends where the next number or
# its scan is too far away.
RUNS = """
    WITH first_scans AS MATERIALIZED (
        SELECT s.brand_id, s.batch_id, s.user_id, s.scanned_at,
               substr(s.code, length(b.prefix) + 1)::bigint AS number, s.code
          FROM unnest(%(brand_ids)s::bigint[]) AS asked(brand_id)
         CROSS JOIN LATERAL (
               SELECT newest.brand_id, newest.batch_id, newest.user_id, newest.scanned_at, c.code
                 FROM (SELECT brand_id, batch_id, user_id, scanned_at, auth_code_id, scan_count
                         FROM authcodes_scan
                        WHERE brand_id = asked.brand_id AND scanned_at >= %(since)s::timestamptz
                        ORDER BY scanned_at DESC, scan_id DESC
                        LIMIT %(newest)s::int) newest
                 JOIN authcodes_authcode c ON c.id = newest.auth_code_id
                WHERE newest.scan_count = 1) s
          JOIN authcodes_batchrange b ON b.id = s.batch_id AND b.tag_version IS NULL
         WHERE substr(s.code, length(b.prefix) + 1) ~ '^[0-9]{1,18}$'),
    marked AS (
        SELECT *, CASE WHEN number - lag(number) OVER beside <= %(gap)s::int
                        AND abs(extract(epoch FROM scanned_at - lag(scanned_at) OVER beside)) <= %(pause)s::float
                       THEN 0 ELSE 1 END AS begins
          FROM first_scans WINDOW beside AS (PARTITION BY batch_id ORDER BY number)),
    islands AS (
        SELECT *, sum(begins) OVER (PARTITION BY batch_id ORDER BY number) AS island FROM marked)
    SELECT i.brand_id, i.batch_id, b.range_name, min(i.code), max(i.code), count(*)::int, min(i.scanned_at),
           max(i.scanned_at), count(DISTINCT COALESCE(i.user_id, 0))::int
      FROM islands i JOIN authcodes_batchrange b ON b.id = i.batch_id
     GROUP BY i.brand_id, i.batch_id, b.range_name, i.island
    HAVING count(*) >= %(least)s::int AND count(DISTINCT COALESCE(i.user_id, 0)) <= %(customers)s::int
     ORDER BY max(i.scanned_at) DESC
     LIMIT %(most)s::int
"""


@dataclass(frozen=True, slots=True)
class Run:
    """Codes of a batch, from the lowest to the highest, that were first scanned in a row."""

    brand_id: int
    batch_id: int
    batch: str
    first_code: str
    last_code: str
    codes: int
    first_at: datetime
    last_at: datetime
    customers: int  # guests count as one


def of(brand_ids: Sequence[int], *, at: datetime | None = None) -> list[Run]:
    """The newest runs of these brands; of no more than `MAX_BRANDS`, whose owners look themselves. One statement."""
    if not 0 < len(brand_ids) <= MAX_BRANDS:
        return []
    found = sql.rows(
        RUNS,
        {
            "brand_ids": list(brand_ids),
            "since": (at or timezone.now()) - LOOKS_BACK,
            "newest": NEWEST,
            "gap": MAX_GAP,
            "pause": MAX_PAUSE.total_seconds(),
            "least": MIN_CODES,
            "customers": MAX_CUSTOMERS,
            "most": MAX_RUNS,
        },
    )
    return [Run(*row) for row in found]
