"""Checks that the programme's rollups match the ledger and the accounts. Changes nothing."""

from collections.abc import Iterator

from brands.models.tenants import Brand
from core import consistency
from core.consistency import Difference, check
from loyalty.models.programme.rollups import ExpiringRollup, ProgrammeWatermark
from loyalty.programme import rollups
from loyalty.programme.movements import AMOUNT_SQL, activity_sql, case_sql

CHECKS = {
    "points of a day are not what the ledger says": check(
        "loyalty/programme/sql/check_points.sql", movement=case_sql(), amount=AMOUNT_SQL
    ),
    "member of a month is not who the ledger says was active": check(
        "loyalty/programme/sql/check_active_members.sql", activity=activity_sql()
    ),
    "members of a month are not as many as the accounts say": check("loyalty/programme/sql/check_members.sql"),
    "members who enrolled on a day are not as many as the accounts say": check(
        "loyalty/programme/sql/check_enrolments.sql"
    ),
    "members with a reward are not as many as the redemptions say": check("loyalty/programme/sql/check_rewarded.sql"),
    "cohort has not as many active members as are noted": check("loyalty/programme/sql/check_cohorts.sql"),
}
EXPIRING = "points to expire are not what the ledger says"


def differences() -> Iterator[Difference]:
    """Rollup rows that do not match the ledger, and entries that no rollup includes."""
    yield from consistency.differences(CHECKS)
    for mark in ProgrammeWatermark.objects.filter(counted_until__isnull=False).select_related("brand"):
        if mark.counted_until == mark.until:  # otherwise they are being counted right now
            yield from _expiring(mark.brand, mark)


def _expiring(brand: Brand, mark: ProgrammeWatermark) -> Iterator[Difference]:
    if mark.counted_until is None or mark.expiry_rule != rollups.rule_text(brand):
        return
    expected = rollups.expiring(brand, mark.counted_until)
    rows = dict(ExpiringRollup.objects.filter(brand=brand).values_list("month", "points"))
    for month in sorted({*expected, *rows}):
        if expected.get(month) != rows.get(month):
            subject = f"brand {brand.pk}, {month}"
            yield Difference(EXPIRING, subject, str(expected.get(month)), str(rows.get(month)))
