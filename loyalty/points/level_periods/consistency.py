"""Checks that levels and the points of periods match the ledger and the history. Changes nothing."""

from core.consistency import check
from loyalty.points.ledger import lifetime_of

CHECKS = {
    "points of the period are not those of the ledger": check(
        "loyalty/points/level_periods/sql/check_period_points.sql", lifetime=lifetime_of("a")
    ),
    "level is not what its history says": check("loyalty/points/level_periods/sql/check_levels_of_periods.sql"),
}
