"""Checks that codes and scans agree with balances, ledger, progress and events; changes nothing."""

from collections.abc import Iterator

from campaigns.progress import consistency as progress
from campaigns.segments import consistency as segments
from core import consistency
from core.consistency import Difference, check
from loyalty.points import consistency as points
from loyalty.points.level_periods import consistency as levels

CHECKS = {
    **points.CHECKS,
    **levels.CHECKS,
    **progress.CHECKS,
    **segments.CHECKS,
    "code's scan count is not its number of accepted scans": check("authcodes/scanning/sql/check_scan_counts.sql"),
    "code was scanned more often than its batch allows": check("authcodes/scanning/sql/check_scan_limits.sql"),
    "code did not give back as many scans as lapsed": check("authcodes/scanning/sql/check_returned_slots.sql"),
    "scan's points are not those of its ledger line": check("authcodes/scanning/sql/check_scans_against_ledger.sql"),
    "ledger line of a code has no scan or several that say awarded": check(
        "authcodes/scanning/sql/check_ledger_against_scans.sql"
    ),
}


def differences() -> Iterator[Difference]:
    """Every contradiction in the database."""
    return consistency.differences(CHECKS)
