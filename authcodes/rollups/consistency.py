"""Checks that the rollups of closed days match the scans; changes nothing."""

from collections.abc import Iterator

from authcodes.rollups.rollups import COUNT_SCANS
from core import consistency
from core.consistency import Difference, check
from core.db.statements import part

# The expected content of every table, computed again from Scan for the rolled-up days.
CLOSED_SCANS = part("authcodes/rollups/sql/closed_scans.sql")


def _compared(table: str, keys: str) -> str:
    """Rows of a table of counts that differ from the scans."""
    return check(
        "authcodes/rollups/sql/compare_counts.sql",
        closed_scans=CLOSED_SCANS,
        counts=COUNT_SCANS,
        table=table,
        keys=keys,
    )


CHECKS = {
    "rollup by day is not what its scans say": _compared("authcodes_dayrollup", "batch_id, campaign_id, product_id"),
    "rollup by place is not what its scans say": _compared("authcodes_placerollup", "location"),
    "rollup by batch and place is not what its scans say": _compared(
        "authcodes_batchplacerollup", "batch_id, campaign_id, product_id, location"
    ),
    "unique scanners of a day are not those of its scans": check(
        "authcodes/rollups/sql/check_scanners_of_days.sql", closed_scans=CLOSED_SCANS
    ),
    "unique scanners are not those of the closed days": check(
        "authcodes/rollups/sql/check_unique_scanners.sql", closed_scans=CLOSED_SCANS
    ),
    "unsuccessful attempts are not those on unscanned codes": check(
        "authcodes/rollups/sql/check_unsuccessful_attempts.sql", closed_scans=CLOSED_SCANS
    ),
    "rollup by hour is not what its scans say": check("authcodes/rollups/sql/check_hours.sql"),
    "customers who scanned and came back are not those of the closed days": check(
        "authcodes/rollups/sql/check_returning.sql", closed_scans=CLOSED_SCANS
    ),
    "batch has not as many codes as were counted at their generation": check(
        "authcodes/rollups/sql/check_generated_codes.sql"
    ),
    "batch has not as many scanned codes as first scans": check("authcodes/rollups/sql/check_scanned_codes.sql"),
}


def differences() -> Iterator[Difference]:
    """Every row of a rollup that differs from the scans, and every scan that is missing in a rollup."""
    return consistency.differences(CHECKS)
