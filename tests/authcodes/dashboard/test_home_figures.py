"""Home: its periods, and figures that equal plain counting."""

import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from authcodes.codes.ranges import resolve_range
from authcodes.dashboard import home as home_figures
from authcodes.models.scans import Scan
from authcodes.printing import runs, selection
from authcodes.printing.request import PrintRequest
from authcodes.rollups import rollups
from brands.models.people import StaffRole
from brands.models.tenants import Brand
from core.redis import slow_answers
from jobs.models import Job
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.costs import PointCost
from loyalty.programme import rollups as programme_rollups
from tests.authcodes.dashboard.dashboards import DAY, current_time, fill, home, local, open_home
from tests.loyalty.programme import histories
from tests.support import factories, portal

pytestmark = pytest.mark.django_db


def tiles(page: Any) -> dict[str, str]:
    return {tile.title: tile.value for tile in page.tiles}


def test_unique_scanners_of_many_scans_are_cached_for_minutes(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(brand, random.Random(5))
    uncached = home(brand).scans
    monkeypatch.setattr(home_figures, "MANY_SCANS", 1)
    # Without this, the quick answer for so few scans would be saved for one second only.
    monkeypatch.setattr(slow_answers, "TIMES", 1_000_000)

    first = home(brand).scans
    Scan.objects.filter(brand=brand).update(user=None)
    cached = home(brand).scans

    assert first == uncached
    assert uncached.unique_scanners > 0
    assert (cached.unique_scanners, cached.total) == (uncached.unique_scanners, uncached.total)
    assert home(brand, period="7").scans.unique_scanners == 0


# --- Days ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "days"), [({}, 30), ({"period": "today"}, 1), ({"period": "90"}, 90)])
def test_period_ends_today_and_is_compared_with_the_same_length_before(
    brand: Brand, query: dict[str, str], days: int
) -> None:
    chosen = home(brand, **query).chosen

    today = local(current_time(), brand)
    assert (chosen.period.first, chosen.period.last) == (today - (days - 1) * DAY, today)
    assert (chosen.period.before.last, chosen.period.before.days) == (chosen.period.first - DAY, days)


def test_custom_days_take_precedence_over_a_period_and_are_in_links(brand: Brand) -> None:
    page = home(brand, period="7", first_day="2026-03-01", last_day="2026-03-31")

    assert (page.chosen.name, page.chosen.period.days) == ("custom", 31)
    assert "scanned_at_from=2026-03-01" in page.tiles[0].link


def test_period_choices_keep_other_filters_and_drop_custom_days(brand: Brand) -> None:
    page = home(brand, first_day="2026-03-01", last_day="2026-03-31", location="Pune")

    assert [choice.link for choice in page.period_choices][:2] == [
        "?location=Pune&period=today",
        "?location=Pune&period=7",
    ]


def test_unknown_period_is_the_default_period(brand: Brand) -> None:
    assert home(brand, period="x").chosen == home(brand).chosen


def test_too_many_days_are_an_error_at_their_field(brand: Brand) -> None:
    response = open_home(brand, first_day="2020-01-01", last_day="2026-01-01")

    assert response.status_code == 200
    assert "Choose at most 366 days." in portal.text(response)


# --- Figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_rolled_up", [False, True])
def test_figures_equal_plain_counting(is_rolled_up: bool) -> None:
    brand = factories.brand(time_zone="Asia/Kolkata", currency="EUR")
    factories.level(brand)
    fill(brand, random.Random(3))
    histories.fill(brand, random.Random(4), now=current_time(), entries=200, months=5)
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.02")
    if is_rolled_up:
        rollups.catch_up(brand=brand, at=current_time())
        programme_rollups.catch_up(brand=brand, at=current_time())
    first = local(current_time(), brand) - 6 * DAY

    page = home(brand, period="7")

    scans = [scan for scan in Scan.objects.filter(brand=brand) if local(scan.scanned_at, brand) >= first]
    accepted = sum(scan.outcome == "success" for scan in scans)
    entries = LoyaltyTransaction.objects.filter(user_point__brand=brand)
    points_by_movement = Counter[str]()
    for entry in entries:
        if local(entry.created_at, brand) >= first:
            points_by_movement[histories.movement_of(entry)] += entry.amount
    members = [
        account for account in UserPoints.objects.filter(brand=brand) if local(account.enrolled_at, brand) >= first
    ]
    outstanding = sum(account.points for account in UserPoints.objects.filter(brand=brand))
    values = tiles(page)
    assert number(values["Scans"]) == len(scans)
    assert values["Genuine"] == f"{100 * accepted / len(scans):.1f} %"
    assert number(values["New customers"]) == len(members)
    assert number(values["Points earned"]) == points_by_movement["earned"] + points_by_movement["released"]
    assert number(values["Points spent"]) == points_by_movement["redeemed"] - points_by_movement["refunded"]
    assert number(values["Points outstanding"]) == outstanding
    worth_note = next(tile.note for tile in page.tiles if tile.title == "Points outstanding")
    assert number(worth_note.removeprefix("worth ").removesuffix(" EUR")) == round(outstanding * Decimal("0.02"), 2)
    hours = Counter((at.isoweekday(), at.hour) for scan in scans for at in [scan.scanned_at.astimezone(brand.zone)])
    assert {(count.weekday, count.hour): count.scans for count in page.hour_counts} == hours


def number(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def test_monthly_balances_add_up_to_the_outstanding_points() -> None:
    brand = factories.brand()
    histories.fill(brand, random.Random(9), now=current_time(), entries=150, months=4)
    programme_rollups.catch_up(brand=brand, at=current_time())

    page = home(brand, period="90")

    programme = page.programme
    today = local(current_time(), brand)
    days = [today - number * DAY for number in range(30)]
    for day, balance in zip(days[::-1], programme.balances_after(days), strict=True):
        later = sum(movements.balance for other, movements in programme.days.items() if other > day)
        assert balance == programme.outstanding - later
    assert sum(movements.balance for movements in programme.months.values()) == programme.outstanding
    assert page.points_by_month.rows[0].cells[3] == tiles(page)["Points outstanding"]


def test_change_of_a_figure_is_relative_to_the_previous_period(brand: Brand) -> None:
    code = factories.code(brand)
    for days_ago in (1, 2, 3, 8, 9):
        portal.scan(code, scanned_at=current_time() - days_ago * DAY)

    page = home(brand, period="7")

    assert (page.tiles[0].value, page.tiles[0].change.text, page.tiles[0].change.direction) == ("3", "+50 %", "up")
    assert page.tiles[2].change is None


def test_codes_printed_several_times_are_counted_once(brand: Brand) -> None:
    batch = factories.batch(brand, quantity=100, prefix="PR-")
    codes = list(batch.codes.order_by("code").values_list("code", flat=True))

    def create_print_run(first: int, last: int, status: str) -> None:
        code_range = resolve_range(batch=batch, first=codes[first], last=codes[last])
        run = runs.start(selection=selection.of_range(code_range), print_request=PrintRequest(), by=None)
        Job.objects.filter(pk=run.job_id).update(status=status)

    create_print_run(0, 29, "done")
    create_print_run(10, 39, "done")
    create_print_run(15, 19, "done")
    create_print_run(90, 99, "done")
    create_print_run(50, 79, "failed")

    stages = {stage.title: stage.value for stage in home(brand).funnel[0]}

    assert (stages["Generated"], stages["Assigned"], stages["Printed"]) == ("100", "100", "50")


def test_customer_funnel_counts_customers_of_closed_days(brand: Brand) -> None:
    single_scan_customer, returning_customer = factories.customer(brand), factories.customer(brand)
    code = factories.code(brand)
    portal.scan(code, user=single_scan_customer, scanned_at=current_time() - 3 * DAY)
    portal.scan(code, user=single_scan_customer, scanned_at=current_time() - 3 * DAY)
    for days_ago in (5, 2):
        portal.scan(code, user=returning_customer, scanned_at=current_time() - days_ago * DAY)
    factories.points(returning_customer, brand, 50)
    factories.redemption(returning_customer, factories.reward(brand, cost=10), at=current_time() - DAY)
    portal.scan(code, user=factories.customer(brand), scanned_at=current_time())  # today is not closed
    portal.scan(code, user=single_scan_customer, scanned_at=current_time())
    rollups.catch_up(brand=brand, at=current_time())
    programme_rollups.catch_up(brand=brand, at=current_time())

    stages = {stage.title: stage.value for stage in home(brand).funnel[1]}

    assert stages == {"Known customers": "2", "Came back": "1", "Took a reward": "1"}


def test_figures_have_no_rows_of_another_brand(brand: Brand) -> None:
    other = factories.brand()
    fill(other, random.Random(5))
    histories.fill(other, random.Random(6), now=current_time(), entries=80, months=2)
    PointCost.objects.create(brand=other, valid_from="2020-01-01", cost="1")
    before = home(brand)

    rollups.catch_up(brand=other, at=current_time())
    programme_rollups.catch_up(brand=other, at=current_time())

    for page in (before, home(brand)):
        assert {title: value for title, value in tiles(page).items() if value not in {"0", "-"}} == {}
        assert {stage.value for stages in page.funnel for stage in stages} == {"0"}
        assert (page.map.rows, page.cohorts, page.levels, page.hour_counts) == ((), [], [], [])


def test_figures_of_several_brands_are_summed_and_their_worth_per_currency() -> None:
    euro, yen = factories.brand(currency="EUR"), factories.brand(currency="JPY")
    for brand, cost in ((euro, "0.5"), (yen, "2")):
        factories.points(factories.customer(brand), brand, 100)
        PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost=cost)
    user = portal.staff(euro, yen)

    page = portal.browser(user).get(reverse("admin:index")).context["home"]

    tile = next(tile for tile in page.tiles if tile.title == "Points outstanding")
    assert (tile.value, tile.note) == ("200", "worth 50.00 EUR, 200 JPY")


def test_points_are_summed_only_for_brands_where_the_user_may_see_them() -> None:
    owned_brand, supported_brand = factories.brand(), factories.brand()
    user = portal.staff(owned_brand)
    StaffRole.objects.create(user=user, brand=supported_brand, role="support")
    for brand in (owned_brand, supported_brand):
        factories.points(factories.customer(brand), brand, 70)

    page = portal.browser(user).get(reverse("admin:index")).context["home"]

    assert (tiles(page)["Points outstanding"], tiles(page)["New customers"]) == ("70", "2")


@pytest.mark.parametrize("role", ["support", "printer"])
def test_roles_without_permission_for_points_see_no_points(brand: Brand, role: str) -> None:
    factories.points(factories.customer(brand), brand, 4321)
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="1")

    html = portal.text(open_home(brand, role))

    assert "4,321" not in html
    assert "Points outstanding" not in html
    assert "Returning members" not in html


def test_home_needs_at_most_25_queries_with_all_its_parts(brand: Brand) -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")
    client = portal.browser(portal.staff(brand))
    client.get(reverse("admin:index"))

    with CaptureQueriesContext(connection) as captured:
        client.get(reverse("admin:index"))

    assert len(captured) <= 25
