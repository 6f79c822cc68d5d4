"""Rollups: derived from scans alone, the same however often they are made, and caught when they are not."""

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
from tests.support.concurrency import while_uncommitted

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
                {name: it for name, it in row.items() if name != "id"}
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


def scanned(brand: Brand, at: datetime, **fields: Any) -> Scan:
    code = factories.code(brand)
    code.scan_count = 1
    code.save()
    return portal.scan(code, **{"user": factories.customer(brand), "scanned_at": at, "scan_count": 1, **fields})


def test_rolling_up_again_changes_nothing(brand: Brand) -> None:
    fill(brand, random.Random(4))
    rollups.catch_up(brand=brand, at=timezone.now())
    once = rows(brand)

    rollups.roll_up(brand=brand, day=local(days_ago(2)))
    rollups.catch_up(brand=brand, at=timezone.now())
    rollups.rebuild(brand=brand, at=timezone.now())

    assert rows(brand) == once
    assert once[0]


def test_a_day_ends_at_the_brands_midnight(brand: Brand) -> None:
    midnight = days_ago(3).replace(hour=0, minute=0, second=0, microsecond=0)
    scanned(brand, midnight - timedelta(microseconds=1))
    scanned(brand, midnight)

    rollups.catch_up(brand=brand, at=timezone.now())

    found = DayRollup.objects.order_by("day").values_list("day", "accepted")
    assert list(found) == [(local(midnight) - timedelta(days=1), 1), (local(midnight), 1)]


def test_today_is_not_rolled_up_and_yet_counted(brand: Brand) -> None:
    scanned(brand, timezone.now())

    roll_up_closed_days()

    assert not DayRollup.objects.exists()
    assert figures.scans(brands=[brand], filters=Filters()).accepted == 1
    with pytest.raises(ValueError, match="has not ended"):
        rollups.roll_up(brand=brand, day=local(timezone.now()))


def test_the_task_rolls_up_what_has_closed(brand: Brand) -> None:
    scanned(brand, days_ago(2))

    roll_up_closed_days()

    assert RollupWatermark.objects.get(brand=brand).until == local(days_ago(1))
    assert DayRollup.objects.get().accepted == 1


def test_a_rebuild_after_a_move_stops_with_the_call_and_the_next_ones_go_on(brand: Brand) -> None:
    for days in (100, 50, 2):
        scanned(brand, days_ago(days))
    rollups.catch_up(brand=brand, at=timezone.now())
    Brand.objects.filter(pk=brand.pk).update(time_zone="Asia/Colombo")  # the clock is the same, so the days are
    reached = []

    while not reached or reached[-1] != local(days_ago(1)):
        assert len(reached) < 10, reached
        rollups.catch_up_all(at=timezone.now(), seconds=0)
        reached.append(RollupWatermark.objects.get(brand=brand).until)

    assert reached[0] == local(days_ago(100)) + timedelta(days=30)
    assert len(reached) == len(set(reached)) == 4
    assert [DayRollup.objects.filter(accepted=1).count(), RollupWatermark.objects.get().counted_until] == [
        3,
        reached[-1],
    ]


def test_a_brand_that_cannot_be_rolled_up_keeps_none_from_it(brand: Brand, caplog: pytest.LogCaptureFixture) -> None:
    Brand.objects.filter(pk=brand.pk).update(time_zone="Mars/Olympus")
    later = factories.brand(time_zone="Asia/Kolkata")
    scanned(later, days_ago(2))

    roll_up_closed_days()

    assert RollupWatermark.objects.get().brand == later
    assert f"the days of the brand {brand.slug} could not be rolled up" in caplog.text


def test_points_and_places_that_settle_late_are_picked_up(brand: Brand) -> None:
    late = scanned(brand, days_ago(20), points_status="pending")
    recent = scanned(brand, days_ago(2), points_status="limited")
    rollups.catch_up(brand=brand, at=timezone.now())

    Scan.objects.filter(pk=late.pk).update(points_status="awarded", points_awarded=7, location="Goa, Goa")
    Scan.objects.filter(pk=recent.pk).update(points_status="awarded", points_awarded=5)
    rollups.catch_up(brand=brand, at=timezone.now())

    found = figures.scans(brands=[brand], filters=Filters())
    assert (found.points, [place.name for place in found.places]) == (Decimal(12), ["Goa, Goa"])
    assert list(consistency.differences()) == []


def test_a_day_rolled_up_out_of_order_hides_none_before_it(brand: Brand) -> None:
    scanned(brand, days_ago(9))
    scanned(brand, days_ago(2))

    rollups.roll_up(brand=brand, day=local(days_ago(2)))

    assert RollupWatermark.objects.get(brand=brand).until is None
    assert figures.scans(brands=[brand], filters=Filters()).accepted == 2


def test_a_brand_that_moves_to_another_time_zone_is_read_live_until_it_is_rebuilt(brand: Brand) -> None:
    scanned(brand, days_ago(5, hour=1))
    rollups.catch_up(brand=brand, at=timezone.now())
    brand.time_zone = "America/Los_Angeles"
    brand.save()

    before = figures.scans(brands=[brand], filters=Filters())
    rollups.catch_up(brand=brand, at=timezone.now())

    assert before.days[0].day == local(days_ago(5)) - timedelta(days=1)
    assert figures.scans(brands=[brand], filters=Filters()) == before
    assert RollupWatermark.objects.get(brand=brand).time_zone == "America/Los_Angeles"


def test_who_has_read_a_brand_before_its_move_deletes_nothing_afterwards(brand: Brand) -> None:
    scanned(brand, days_ago(2, hour=1))
    moved = Brand.objects.get(pk=brand.pk)
    moved.time_zone = "America/Los_Angeles"
    moved.save()
    rollups.rebuild(brand=moved, at=timezone.now())

    assert rollups.catch_up(brand=brand, at=timezone.now()) == 0

    mark = RollupWatermark.objects.get(brand=brand)
    assert (mark.time_zone, mark.until is not None) == ("America/Los_Angeles", True)


def move_while_an_older_run_goes_on(brand: Brand) -> dict[date, int]:
    """The scans by day, once a rebuild after a move is over and so is a run that has read the brand before the move."""
    scanned(brand, days_ago(2, hour=1))
    rollups.catch_up(brand=brand, at=timezone.now())
    moved = Brand.objects.get(pk=brand.pk)
    moved.time_zone = "America/Los_Angeles"
    moved.save()

    while_uncommitted(
        lambda: rollups.rebuild(brand=moved, at=timezone.now()),
        lambda: rollups.catch_up(brand=brand, at=timezone.now()),
    )

    return dict(DayRollup.objects.filter(accepted__gt=0).values_list("day", "accepted"))


def test_a_run_from_before_a_move_writes_nothing_into_the_rebuilt_days(brand: Brand) -> None:
    assert move_while_an_older_run_goes_on(brand) == {local(days_ago(3)): 1}
    assert RollupWatermark.objects.get(brand=brand).time_zone == "America/Los_Angeles"
    assert list(consistency.differences()) == []


def test_control_a_run_that_ignores_the_move_counts_a_scan_on_the_old_day(
    brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = ClosedDays._hold

    def hold_as_if_nobody_had_moved(days: ClosedDays, brand: Brand) -> RollupWatermark:
        mark: RollupWatermark = hold(days, brand)
        mark.time_zone = brand.time_zone
        return mark

    monkeypatch.setattr(ClosedDays, "_hold", hold_as_if_nobody_had_moved)

    assert move_while_an_older_run_goes_on(brand) == {local(days_ago(2)): 1}
    assert list(consistency.differences()) != []


def test_an_attempt_is_in_vain_until_somebody_scans_its_code(brand: Brand) -> None:
    code, person = factories.code(brand), factories.customer(brand)
    fields = {"user": person, "outcome": "error", "reason": "bad_tag", "scan_count": 0, "scanned_at": days_ago(4)}
    portal.scan(code, **fields)
    scanned(brand, days_ago(3))
    rollups.catch_up(brand=brand, at=timezone.now())
    scanned_ones, unscanned_ones = Filters(status=Status.SCANNED), Filters(status=Status.UNSCANNED)
    before = figures.scans(brands=[brand], filters=unscanned_ones)
    code.scan_count, code.first_scan_at = 1, timezone.now()
    code.save()
    portal.scan(code, user=factories.customer(brand), scan_count=1, scanned_at=timezone.now())

    for _when in ("before they are rolled up again", "after that"):
        assert figures.scans(brands=[brand], filters=unscanned_ones) == figures.Scans()
        found = figures.scans(brands=[brand], filters=scanned_ones)
        assert (found.accepted, found.errors, found.unique_scanners) == (2, 1, 3)
        assert list(consistency.differences()) == []
        rollups.catch_up(brand=brand, at=timezone.now())

    assert (before.errors, before.unique_scanners, UnscannedCodeAttempt.objects.count()) == (1, 1, 0)


def test_points_that_are_asked_for_again_after_weeks_are_found(brand: Brand) -> None:
    limited = scanned(brand, days_ago(20), points_status="limited")
    rollups.catch_up(brand=brand, at=timezone.now())

    context = ScanContext(at=timezone.now(), user_id=limited.user_id)
    scan.scan(scanned=limited.code, context=context)
    rollups.catch_up(brand=brand, at=timezone.now())  # before they are there
    worker.drain()
    rollups.catch_up(brand=brand, at=timezone.now())

    rolled_up = DayRollup.objects.get(day=local(limited.scanned_at))
    assert (rolled_up.points, rolled_up.unsettled) == (1, 0)
    assert list(consistency.differences()) == []


def test_check_rollups_agrees_and_rebuild_makes_it_agree(brand: Brand) -> None:
    fill(brand, random.Random(5))
    output = StringIO()

    call_command("rebuild_rollups", brand.slug, stdout=output)
    call_command("check_rollups", stdout=output)

    assert f"{brand.slug}: " in output.getvalue()
    assert output.getvalue().endswith("Rollups, scans and ledger agree.\n")


@pytest.mark.parametrize("model", [DayRollup, PlaceRollup, BatchPlaceRollup])
@pytest.mark.parametrize("planted", ["changed", "missing", "added"])
def test_check_rollups_finds_a_planted_difference_in_counts(brand: Brand, model: Any, planted: str) -> None:
    fill(brand, random.Random(6))
    rollups.catch_up(brand=brand, at=timezone.now())
    row = model.objects.filter(brand=brand).latest("pk")
    if planted == "changed":
        model.objects.filter(pk=row.pk).update(points=row.points + 1)
    elif planted == "missing":
        row.delete()
    else:
        row.pk, row.day = None, row.day - timedelta(days=400)
        row.save()

    with pytest.raises(CommandError, match="1 differences"):
        call_command("check_rollups", stdout=StringIO())


@pytest.mark.parametrize("model", [UniqueScannerRollup, UniqueScanner, UnscannedCodeAttempt])
def test_check_rollups_finds_a_missing_scanner_or_attempt(brand: Brand, model: Any) -> None:
    fill(brand, random.Random(7))
    rollups.catch_up(brand=brand, at=timezone.now())

    model.objects.filter(brand=brand).latest("pk").delete()

    with pytest.raises(CommandError, match="1 differences"):
        call_command("check_rollups", stdout=StringIO())


def test_check_rollups_finds_a_code_whose_first_scan_is_missing(brand: Brand) -> None:
    code = factories.code(brand)
    code.scan_count = 1
    code.save()

    assert [each.subject for each in consistency.differences()] == [f"batch {code.batch_id}"]


def test_a_rollup_of_one_brand_leaves_others_alone(brand: Brand) -> None:
    other = factories.brand()
    scanned(other, days_ago(3))
    rollups.catch_up(brand=other, at=timezone.now())
    before = rows(other)

    rollups.rebuild(brand=brand, at=timezone.now())

    assert rows(other) == before
