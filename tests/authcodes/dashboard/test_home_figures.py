"""Home: periods, and figures as plain counting has them."""

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
from tests.authcodes.dashboard.dashboards import DAY, NOW, fill, home, local, opened
from tests.loyalty.programme import histories
from tests.support import factories, portal

pytestmark = pytest.mark.django_db


def tiles(page: Any) -> dict[str, str]:
    return {tile.title: tile.value for tile in page.tiles}


def test_of_many_scans_who_made_them_is_counted_every_few_minutes(
    brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(brand, random.Random(5))
    counted = home(brand).scans
    monkeypatch.setattr(home_figures, "MANY_SCANS", 1)
    # So few scans are counted in milliseconds, and would be saved for a second.
    monkeypatch.setattr(slow_answers, "TIMES", 1_000_000)

    first = home(brand).scans
    Scan.objects.filter(brand=brand).update(user=None)
    again = home(brand).scans

    assert first == counted
    assert counted.unique_scanners > 0
    assert (again.unique_scanners, again.total) == (counted.unique_scanners, counted.total)
    assert home(brand, period="7").scans.unique_scanners == 0


# --- Days ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "days"), [({}, 30), ({"period": "today"}, 1), ({"period": "90"}, 90)])
def test_a_period_ends_today_and_is_compared_with_one_as_long(brand: Brand, query: dict[str, str], days: int) -> None:
    chosen = home(brand, **query).chosen

    today = local(NOW(), brand)
    assert (chosen.period.first, chosen.period.last) == (today - (days - 1) * DAY, today)
    assert (chosen.period.before.last, chosen.period.before.days) == (chosen.period.first - DAY, days)


def test_days_of_ones_own_go_before_a_length_and_are_in_the_links(brand: Brand) -> None:
    page = home(brand, period="7", first_day="2026-03-01", last_day="2026-03-31")

    assert (page.chosen.name, page.chosen.period.days) == ("custom", 31)
    assert "scanned_at_from=2026-03-01" in page.tiles[0].link


def test_the_switch_keeps_the_other_filters_and_drops_days_of_ones_own(brand: Brand) -> None:
    page = home(brand, first_day="2026-03-01", last_day="2026-03-31", location="Pune")

    assert [choice.link for choice in page.period_choices][:2] == [
        "?location=Pune&period=today",
        "?location=Pune&period=7",
    ]


@pytest.mark.parametrize("query", [{"period": "x"}, {"first_day": "2020-01-01", "last_day": "2026-01-01"}])
def test_what_is_no_period_is_answered_at_its_field_or_shows_the_usual_one(brand: Brand, query: Any) -> None:
    response = opened(brand, **query)

    assert response.status_code == 200
    if "first_day" in query:
        assert "Choose at most 366 days." in portal.text(response)


# --- Figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_rolled_up", [False, True])
def test_figures_are_what_plain_counting_finds(is_rolled_up: bool) -> None:
    brand = factories.brand(time_zone="Asia/Kolkata", currency="EUR")
    factories.level(brand)
    fill(brand, random.Random(3))
    histories.fill(brand, random.Random(4), now=NOW(), entries=200, months=5)
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.02")
    if is_rolled_up:
        rollups.catch_up(brand=brand, at=NOW())
        programme_rollups.catch_up(brand=brand, at=NOW())
    first = local(NOW(), brand) - 6 * DAY

    page = home(brand, period="7")

    scans = [scan for scan in Scan.objects.filter(brand=brand) if local(scan.scanned_at, brand) >= first]
    accepted = sum(scan.outcome == "success" for scan in scans)
    lines = LoyaltyTransaction.objects.filter(user_point__brand=brand)
    moved = Counter[str]()
    for line in lines:
        if local(line.created_at, brand) >= first:
            moved[histories.movement_of(line)] += line.amount
    members = [each for each in UserPoints.objects.filter(brand=brand) if local(each.enrolled_at, brand) >= first]
    outstanding = sum(account.points for account in UserPoints.objects.filter(brand=brand))
    shown = tiles(page)
    assert number(shown["Scans"]) == len(scans)
    assert shown["Genuine"] == f"{100 * accepted / len(scans):.1f} %"
    assert number(shown["New customers"]) == len(members)
    assert number(shown["Points earned"]) == moved["earned"] + moved["released"]
    assert number(shown["Points spent"]) == moved["redeemed"] - moved["refunded"]
    assert number(shown["Points outstanding"]) == outstanding
    worth = next(tile.note for tile in page.tiles if tile.title == "Points outstanding")
    assert number(worth.removeprefix("worth ").removesuffix(" EUR")) == round(outstanding * Decimal("0.02"), 2)
    hours = Counter((at.isoweekday(), at.hour) for scan in scans for at in [scan.scanned_at.astimezone(brand.zone)])
    assert {(it.weekday, it.hour): it.scans for it in page.hour_counts} == hours


def number(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def test_balances_of_months_end_in_what_is_outstanding_and_add_up() -> None:
    brand = factories.brand()
    histories.fill(brand, random.Random(9), now=NOW(), entries=150, months=4)
    programme_rollups.catch_up(brand=brand, at=NOW())

    page = home(brand, period="90")

    programme = page.programme
    today = local(NOW(), brand)
    days = [today - number * DAY for number in range(30)]
    for day, balance in zip(days[::-1], programme.balances_after(days), strict=True):
        later = sum(moved.balance for other, moved in programme.days.items() if other > day)
        assert balance == programme.outstanding - later
    assert sum(moved.balance for moved in programme.months.values()) == programme.outstanding
    assert page.points_by_month.rows[0].cells[3] == tiles(page)["Points outstanding"]


def test_a_change_is_against_the_period_before(brand: Brand) -> None:
    code = factories.code(brand)
    for days_ago in (1, 2, 3, 8, 9):
        portal.scan(code, scanned_at=NOW() - days_ago * DAY)

    page = home(brand, period="7")

    assert (page.tiles[0].value, page.tiles[0].change.text, page.tiles[0].change.direction) == ("3", "+50 %", "up")
    assert page.tiles[2].change is None


def test_codes_are_printed_once_however_often_their_batch_was(brand: Brand) -> None:
    batch = factories.batch(brand, quantity=100, prefix="PR-")
    codes = list(batch.codes.order_by("code").values_list("code", flat=True))

    def printed(first: int, last: int, status: str) -> None:
        code_range = resolve_range(batch=batch, first=codes[first], last=codes[last])
        run = runs.start(selection=selection.of_range(code_range), print_request=PrintRequest(), by=None)
        Job.objects.filter(pk=run.job_id).update(status=status)

    printed(0, 29, "done")
    printed(10, 39, "done")
    printed(15, 19, "done")
    printed(90, 99, "done")
    printed(50, 79, "failed")

    stages = {stage.title: stage.value for stage in home(brand).funnel[0]}

    assert (stages["Generated"], stages["Assigned"], stages["Printed"]) == ("100", "100", "50")


def test_customers_of_the_funnel_are_those_of_closed_days(brand: Brand) -> None:
    once, often = factories.customer(brand), factories.customer(brand)
    code = factories.code(brand)
    portal.scan(code, user=once, scanned_at=NOW() - 3 * DAY)
    portal.scan(code, user=once, scanned_at=NOW() - 3 * DAY)
    for days_ago in (5, 2):
        portal.scan(code, user=often, scanned_at=NOW() - days_ago * DAY)
    factories.points(often, brand, 50)
    factories.redemption(often, factories.reward(brand, cost=10), at=NOW() - DAY)
    rollups.catch_up(brand=brand, at=NOW())
    programme_rollups.catch_up(brand=brand, at=NOW())

    stages = {stage.title: stage.value for stage in home(brand).funnel[1]}

    assert stages == {"Known customers": "2", "Came back": "1", "Took a reward": "1"}


def test_another_brands_rows_are_in_no_figure(brand: Brand) -> None:
    other = factories.brand()
    fill(other, random.Random(5))
    histories.fill(other, random.Random(6), now=NOW(), entries=80, months=2)
    PointCost.objects.create(brand=other, valid_from="2020-01-01", cost="1")
    before = home(brand)

    rollups.catch_up(brand=other, at=NOW())
    programme_rollups.catch_up(brand=other, at=NOW())

    for page in (before, home(brand)):
        assert {title: value for title, value in tiles(page).items() if value not in {"0", "-"}} == {}
        assert {stage.value for stages in page.funnel for stage in stages} == {"0"}
        assert (page.map.rows, page.cohorts, page.levels, page.hour_counts) == ((), [], [], [])


def test_several_brands_are_added_up_and_their_worth_stands_by_currency() -> None:
    euro, yen = factories.brand(currency="EUR"), factories.brand(currency="JPY")
    for brand, cost in ((euro, "0.5"), (yen, "2")):
        factories.points(factories.customer(brand), brand, 100)
        PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost=cost)
    person = portal.staff(euro, yen)

    page = portal.browser(person).get(reverse("admin:index")).context["home"]

    tile = next(tile for tile in page.tiles if tile.title == "Points outstanding")
    assert (tile.value, tile.note) == ("200", "worth 50.00 EUR, 200 JPY")


def test_points_are_those_of_the_brands_in_which_one_may_see_them() -> None:
    own, helped = factories.brand(), factories.brand()
    person = portal.staff(own)
    StaffRole.objects.create(user=person, brand=helped, role="support")
    for brand in (own, helped):
        factories.points(factories.customer(brand), brand, 70)

    page = portal.browser(person).get(reverse("admin:index")).context["home"]

    assert (tiles(page)["Points outstanding"], tiles(page)["New customers"]) == ("70", "2")


@pytest.mark.parametrize("role", ["support", "printer"])
def test_who_may_not_see_points_reads_nothing_of_them(brand: Brand, role: str) -> None:
    factories.points(factories.customer(brand), brand, 4321)
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="1")

    shown = portal.text(opened(brand, role))

    assert "4,321" not in shown
    assert "Points outstanding" not in shown
    assert "Returning members" not in shown


def test_home_costs_at_most_25_queries_with_everything_on_it(brand: Brand) -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")
    client = portal.browser(portal.staff(brand))
    client.get(reverse("admin:index"))

    with CaptureQueriesContext(connection) as captured:
        client.get(reverse("admin:index"))

    assert len(captured) <= 25
