"""Rollups: derived from scans alone, repeatable, and checked for differences."""

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from authcodes.dashboard import figures
from authcodes.dashboard.filters import Filters, Status
from authcodes.models.rollups import (
    BatchPlaceRollup,
    DayRollup,
    PlaceRollup,
    RollupWatermark,
    UniqueScanner,
    UniqueScannerRollup,
    UnscannedCodeAttempt,
)
from authcodes.models.scans import Scan
from authcodes.rollups import consistency, rollups
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from authcodes.tasks import roll_up_closed_days
from brands.models.tenants import Brand
from brands.tenants.closed_days import ClosedDays
from events import worker
from tests.authcodes.dashboard.dashboards import fill
from tests.support import factories, portal
from tests.support.concurrency import run_during_transaction

pytestmark = pytest.mark.django_db(transaction=True)
KOLKATA = ZoneInfo("Asia/Kolkata")


@pytest.fixture
def brand(transactional_db: None) -> Brand:
    return factories.brand(time_zone="Asia/Kolkata")


def rows(brand: Brand) -> list[Any]:
    models = (DayRollup, PlaceRollup, BatchPlaceRollup, UniqueScannerRollup, UniqueScanner, UnscannedCodeAttempt)
    return [
        sorted(
            [
                {name: value for name, value in row.items() if name != "id"}
                for row in model.objects.filter(brand=brand).values()
            ],
            key=str,
        )
        for model in models
    ]


def days_ago(days: int, hour: int = 12) -> datetime:
    return (timezone.now().astimezone(KOLKATA) - timedelta(days=days)).replace(hour=hour, minute=30)


def local(at: datetime) -> date:
    return at.astimezone(KOLKATA).date()


def create_scan(brand: Brand, at: datetime, **fields: Any) -> Scan:
    code = factories.code(brand)
    code.scan_count = 1
    code.save()
    return portal.scan(code, **{"user": factories.customer(brand), "scanned_at": at, "scan_count": 1, **fields})


def test_repeated_rollups_do_not_change_the_rows(brand: Brand) -> None:
    fill(brand, random.Random(4))
    rollups.catch_up(brand=brand, at=timezone.now())
    rows_before = rows(brand)

    rollups.roll_up(brand=brand, day=local(days_ago(2)))
    rollups.catch_up(brand=brand, at=timezone.now())
    rollups.rebuild(brand=brand, at=timezone.now())

    assert rows(brand) == rows_before
    assert rows_before[0]


def test_day_ends_at_midnight_in_the_brands_time_zone(brand: Brand) -> None:
    midnight = days_ago(3).replace(hour=0, minute=0, second=0, microsecond=0)
    create_scan(brand, midnight - timedelta(microseconds=1))
    create_scan(brand, midnight)

    rollups.catch_up(brand=brand, at=timezone.now())

    days = DayRollup.objects.order_by("day").values_list("day", "accepted")
    assert list(days) == [(local(midnight) - timedelta(days=1), 1), (local(midnight), 1)]


def test_today_is_counted_without_a_rollup(brand: Brand) -> None:
    create_scan(brand, timezone.now())

    roll_up_closed_days()

    assert not DayRollup.objects.exists()
    assert figures.scans(brands=[brand], filters=Filters()).accepted == 1
    with pytest.raises(ValueError, match="has not ended"):
        rollups.roll_up(brand=brand, day=local(timezone.now()))


def test_task_rolls_up_closed_days(brand: Brand) -> None:
    create_scan(brand, days_ago(2))

    roll_up_closed_days()

    assert RollupWatermark.objects.get(brand=brand).until == local(days_ago(1))
    assert DayRollup.objects.get().accepted == 1


def test_rebuild_after_a_time_zone_change_continues_over_several_calls(brand: Brand) -> None:
    for days in (100, 50, 2):
        create_scan(brand, days_ago(days))
    rollups.catch_up(brand=brand, at=timezone.now())
    Brand.objects.filter(pk=brand.pk).update(time_zone="Asia/Colombo")  # the same offset, so the days stay the same
    watermarks = []

    while not watermarks or watermarks[-1] != local(days_ago(1)):
        assert len(watermarks) < 10, watermarks
        rollups.catch_up_all(at=timezone.now(), seconds=0)
        watermarks.append(RollupWatermark.objects.get(brand=brand).until)

    assert watermarks[0] == local(days_ago(100)) + timedelta(days=30)
    assert len(watermarks) == len(set(watermarks)) == 4
    assert [DayRollup.objects.filter(accepted=1).count(), RollupWatermark.objects.get().counted_until] == [
        3,
        watermarks[-1],
    ]


def test_brand_that_cannot_be_rolled_up_does_not_stop_other_brands(
    brand: Brand, caplog: pytest.LogCaptureFixture
) -> None:
    Brand.objects.filter(pk=brand.pk).update(time_zone="Mars/Olympus")
    other = factories.brand(time_zone="Asia/Kolkata")
    create_scan(other, days_ago(2))

    roll_up_closed_days()

    assert RollupWatermark.objects.get().brand == other
    assert f"the days of the brand {brand.slug} could not be rolled up" in caplog.text


def test_points_and_places_that_arrive_late_are_rolled_up_again(brand: Brand) -> None:
    late = create_scan(brand, days_ago(20), points_status="pending")
    recent = create_scan(brand, days_ago(2), points_status="limited")
    rollups.catch_up(brand=brand, at=timezone.now())

    Scan.objects.filter(pk=late.pk).update(points_status="awarded", points_awarded=7, location="Goa, Goa")
    Scan.objects.filter(pk=recent.pk).update(points_status="awarded", points_awarded=5)
    rollups.catch_up(brand=brand, at=timezone.now())

    total = figures.scans(brands=[brand], filters=Filters())
    assert (total.points, [place.name for place in total.places]) == (Decimal(12), ["Goa, Goa"])
    assert list(consistency.differences()) == []


def test_day_rolled_up_out_of_order_does_not_hide_earlier_scans(brand: Brand) -> None:
    create_scan(brand, days_ago(9))
    create_scan(brand, days_ago(2))

    rollups.roll_up(brand=brand, day=local(days_ago(2)))

    assert RollupWatermark.objects.get(brand=brand).until is None
    assert figures.scans(brands=[brand], filters=Filters()).accepted == 2


def test_scans_are_counted_live_after_a_time_zone_change_until_the_rebuild(brand: Brand) -> None:
    create_scan(brand, days_ago(5, hour=1))
    rollups.catch_up(brand=brand, at=timezone.now())
    brand.time_zone = "America/Los_Angeles"
    brand.save()

    before = figures.scans(brands=[brand], filters=Filters())
    rollups.catch_up(brand=brand, at=timezone.now())

    assert before.days[0].day == local(days_ago(5)) - timedelta(days=1)
    assert figures.scans(brands=[brand], filters=Filters()) == before
    assert RollupWatermark.objects.get(brand=brand).time_zone == "America/Los_Angeles"


def test_run_with_a_stale_time_zone_deletes_no_rollups(brand: Brand) -> None:
    create_scan(brand, days_ago(2, hour=1))
    changed_brand = Brand.objects.get(pk=brand.pk)
    changed_brand.time_zone = "America/Los_Angeles"
    changed_brand.save()
    rollups.rebuild(brand=changed_brand, at=timezone.now())

    assert rollups.catch_up(brand=brand, at=timezone.now()) == 0

    watermark = RollupWatermark.objects.get(brand=brand)
    assert (watermark.time_zone, watermark.until is not None) == ("America/Los_Angeles", True)


def change_time_zone_during_a_run(brand: Brand) -> dict[date, int]:
    """Rebuilds after a change of time zone while a run with the old time zone waits. Returns the scans by day."""
    create_scan(brand, days_ago(2, hour=1))
    rollups.catch_up(brand=brand, at=timezone.now())
    changed_brand = Brand.objects.get(pk=brand.pk)
    changed_brand.time_zone = "America/Los_Angeles"
    changed_brand.save()

    run_during_transaction(
        lambda: rollups.rebuild(brand=changed_brand, at=timezone.now()),
        lambda: rollups.catch_up(brand=brand, at=timezone.now()),
    )

    return dict(DayRollup.objects.filter(accepted__gt=0).values_list("day", "accepted"))


def test_run_from_before_a_time_zone_change_does_not_change_rebuilt_days(brand: Brand) -> None:
    assert change_time_zone_during_a_run(brand) == {local(days_ago(3)): 1}
    assert RollupWatermark.objects.get(brand=brand).time_zone == "America/Los_Angeles"
    assert list(consistency.differences()) == []


def test_control_run_that_ignores_the_time_zone_change_counts_on_the_old_day(
    brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = ClosedDays._hold

    def lock_with_old_time_zone(days: ClosedDays, brand: Brand) -> RollupWatermark:
        watermark: RollupWatermark = lock(days, brand)
        watermark.time_zone = brand.time_zone
        return watermark

    monkeypatch.setattr(ClosedDays, "_hold", lock_with_old_time_zone)

    assert change_time_zone_during_a_run(brand) == {local(days_ago(2)): 1}
    assert list(consistency.differences()) != []


def test_attempts_on_an_unscanned_code_count_as_scanned_after_its_first_scan(brand: Brand) -> None:
    code, customer = factories.code(brand), factories.customer(brand)
    fields = {"user": customer, "outcome": "error", "reason": "bad_tag", "scan_count": 0, "scanned_at": days_ago(4)}
    portal.scan(code, **fields)
    create_scan(brand, days_ago(3))
    rollups.catch_up(brand=brand, at=timezone.now())
    scanned_filter, unscanned_filter = Filters(status=Status.SCANNED), Filters(status=Status.UNSCANNED)
    before = figures.scans(brands=[brand], filters=unscanned_filter)
    code.scan_count, code.first_scan_at = 1, timezone.now()
    code.save()
    portal.scan(code, user=factories.customer(brand), scan_count=1, scanned_at=timezone.now())

    for _stage in ("before they are rolled up again", "after that"):
        assert figures.scans(brands=[brand], filters=unscanned_filter) == figures.Scans()
        total = figures.scans(brands=[brand], filters=scanned_filter)
        assert (total.accepted, total.errors, total.unique_scanners) == (2, 1, 3)
        assert list(consistency.differences()) == []
        rollups.catch_up(brand=brand, at=timezone.now())

    assert (before.errors, before.unique_scanners, UnscannedCodeAttempt.objects.count()) == (1, 1, 0)


def test_points_claimed_again_after_weeks_are_rolled_up(brand: Brand) -> None:
    limited = create_scan(brand, days_ago(20), points_status="limited")
    rollups.catch_up(brand=brand, at=timezone.now())

    context = ScanContext(at=timezone.now(), user_id=limited.user_id)
    scan.scan(scanned=limited.code, context=context)
    rollups.catch_up(brand=brand, at=timezone.now())  # before the points are awarded
    worker.drain()
    rollups.catch_up(brand=brand, at=timezone.now())

    rolled_up = DayRollup.objects.get(day=local(limited.scanned_at))
    assert (rolled_up.points, rolled_up.unsettled) == (1, 0)
    assert list(consistency.differences()) == []


def test_check_rollups_reports_no_differences_after_a_rebuild(brand: Brand) -> None:
    fill(brand, random.Random(5))
    output = StringIO()

    call_command("rebuild_rollups", brand.slug, stdout=output)
    call_command("check_rollups", stdout=output)

    assert f"{brand.slug}: " in output.getvalue()
    assert output.getvalue().endswith("Rollups, scans and ledger agree.\n")


def test_rebuild_rollups_rejects_an_unknown_brand(brand: Brand) -> None:
    with pytest.raises(CommandError, match="No brand has the slug typo"):
        call_command("rebuild_rollups", brand.slug, "typo", stdout=StringIO())

    assert not RollupWatermark.objects.exists()


@pytest.mark.parametrize("model", [DayRollup, PlaceRollup, BatchPlaceRollup])
@pytest.mark.parametrize("difference", ["changed", "missing", "added"])
def test_check_rollups_reports_a_difference_in_counts(brand: Brand, model: Any, difference: str) -> None:
    fill(brand, random.Random(6))
    rollups.catch_up(brand=brand, at=timezone.now())
    row = model.objects.filter(brand=brand).latest("pk")
    if difference == "changed":
        model.objects.filter(pk=row.pk).update(points=row.points + 1)
    elif difference == "missing":
        row.delete()
    else:
        row.pk, row.day = None, row.day - timedelta(days=400)
        row.save()

    with pytest.raises(CommandError, match="1 differences"):
        call_command("check_rollups", stdout=StringIO())


@pytest.mark.parametrize("model", [UniqueScannerRollup, UniqueScanner, UnscannedCodeAttempt])
def test_check_rollups_reports_a_missing_unique_scanner_or_attempt(brand: Brand, model: Any) -> None:
    fill(brand, random.Random(7))
    rollups.catch_up(brand=brand, at=timezone.now())

    model.objects.filter(brand=brand).latest("pk").delete()

    with pytest.raises(CommandError, match="1 differences"):
        call_command("check_rollups", stdout=StringIO())


def test_check_rollups_reports_a_code_without_its_first_scan(brand: Brand) -> None:
    code = factories.code(brand)
    code.scan_count = 1
    code.save()

    assert [difference.subject for difference in consistency.differences()] == [f"batch {code.batch_id}"]


def test_rebuild_of_one_brand_does_not_change_another(brand: Brand) -> None:
    other = factories.brand()
    create_scan(other, days_ago(3))
    rollups.catch_up(brand=other, at=timezone.now())
    before = rows(other)

    rollups.rebuild(brand=brand, at=timezone.now())

    assert rows(other) == before
