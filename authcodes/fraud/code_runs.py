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

from core.db.statements import query

MIN_CODES = 10
MAX_GAP = 3
MAX_PAUSE = timedelta(hours=1)
MAX_CUSTOMERS = 3
WINDOW = timedelta(days=2)
NEWEST = 1000  # scans of a brand that are read
MAX_BRANDS = 20
MAX_RUNS = 5


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


FETCH_RUNS = query("authcodes/fraud/sql/fetch_runs.sql", returns=Run)


def of(brand_ids: Sequence[int], *, at: datetime | None = None) -> list[Run]:
    """The newest runs of these brands; of no more than `MAX_BRANDS`, whose owners look themselves. One statement."""
    if not 0 < len(brand_ids) <= MAX_BRANDS:
        return []
    return FETCH_RUNS.all(
        brand_ids=list(brand_ids),
        since=(at or timezone.now()) - WINDOW,
        newest=NEWEST,
        gap=MAX_GAP,
        pause=MAX_PAUSE.total_seconds(),
        least=MIN_CODES,
        customers=MAX_CUSTOMERS,
        most=MAX_RUNS,
    )
