"""Codes scanned in a row: neighbouring numbers of a plain batch, first scanned shortly after one another.

Anyone with one plain code can count on from it, while a buyer has one number. Products sold side by side are scanned by
different customers, or hours apart. So a run needs `MIN_CODES` codes, each at most `MAX_GAP` numbers and `MAX_PAUSE`
from the next, and at most `MAX_CUSTOMERS` customers, with all guests counted as one. A shop that opens a carton of ten
or more and scans each product looks the same; the alert says so, and staff check.

Only the newest first scans are read, so the cost is bounded.
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
NEWEST = 1000  # scans read for each brand
MAX_BRANDS = 20
MAX_RUNS = 5


@dataclass(frozen=True, slots=True)
class CodeRun:
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


FETCH_RUNS = query("authcodes/fraud/sql/fetch_runs.sql", returns=CodeRun)


def newest_runs(brand_ids: Sequence[int], *, at: datetime | None = None) -> list[CodeRun]:
    """The newest runs of these brands; none for more than `MAX_BRANDS`, whose owners check them. One statement."""
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
