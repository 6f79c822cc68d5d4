"""The dashboard's figures are the same as plain counting, for all filters and with or without rollups."""

import random
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from authcodes.dashboard import figures
from authcodes.dashboard.filters import Filters, codes_first_scanned
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.rollups import rollups
from brands.models.people import User
from tests.authcodes.dashboard.dashboards import (
    PLACES,
    BruteForceFigures,
    all_filters,
    codes_condition,
    fill,
    scans_condition,
)
from tests.support import factories, portal

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("rolled_up", ["none", "all", "some"])
@pytest.mark.parametrize("seed", [1, 2])
def test_figures_equal_plain_counting_for_every_combination_of_filters(seed: int, rolled_up: str) -> None:
    rng = random.Random(seed)
    brands = [factories.brand(time_zone=zone) for zone in ("Asia/Kolkata", "America/Los_Angeles", "Asia/Kolkata")]
    for brand in brands:
        fill(brand, rng)
    for brand in {"none": [], "all": brands, "some": brands[:1]}[rolled_up]:
        rollups.catch_up(brand=brand, at=timezone.now())

    for chosen_brands in (brands[:1], brands[:2]):
        brute_force = BruteForceFigures(chosen_brands)
        for filters in all_filters(chosen_brands):
            assert figures.codes(brands=chosen_brands, filters=filters) == brute_force.codes(filters), filters
            assert figures.scans(brands=chosen_brands, filters=filters) == brute_force.scans(filters), filters


@pytest.mark.parametrize("brand_count", [1, 2])
def test_figures_equal_the_row_counts_of_lists_with_the_same_filters(brand_count: int) -> None:
    brands = [factories.brand(time_zone=zone) for zone in ("Asia/Kolkata", "America/Los_Angeles")][:brand_count]
    for brand in brands:
        fill(brand, random.Random(4), codes=6, scans=80)
        rollups.catch_up(brand=brand, at=timezone.now())
    codes, scans = AuthCode.objects.filter(brand__in=brands), Scan.objects.filter(brand__in=brands)

    for filters in all_filters(brands):
        matching_codes = codes.filter(codes_condition(filters, brands))
        days = {name: getattr(filters, name) for name in ("first_day", "last_day")}
        scanned = matching_codes.filter(codes_first_scanned(brands=brands, **days, places=filters.where))
        code_figures = figures.codes(brands=brands, filters=filters)
        assert (code_figures.assigned, code_figures.scanned) == (matching_codes.count(), scanned.count()), filters
        total = figures.scans(brands=brands, filters=filters).total
        assert total == scans.filter(scans_condition(filters, brands)).count(), filters


def test_figures_without_brands_are_empty(db: Any) -> None:
    fill(factories.brand(), random.Random(3))

    result = figures.figures(brands=[])

    assert result == figures.Figures(figures.Codes(), figures.Scans(), figures.Delivery())


def test_figures_need_five_statements_for_any_brands_and_filters(django_assert_num_queries: Any) -> None:
    few = [factories.brand(time_zone="Asia/Kolkata")]
    many = [factories.brand(time_zone=zone) for zone in ("UTC", "Asia/Kolkata", "America/Los_Angeles", "Asia/Tokyo")]

    for brands in (few, many):
        for filters in (Filters(), Filters(location="Goa, Goa", campaign_id=1)):
            with django_assert_num_queries(5):
                figures.figures(brands=brands, filters=filters)


def test_delivery_counts_only_pending_and_dead_events_of_the_brand() -> None:
    brand, other = factories.brand(), factories.brand()
    oldest = portal.event(brand, status="pending")
    portal.event(brand, status="pending")
    portal.event(brand, status="done")
    portal.event(brand, status="dead")
    portal.event(other, status="dead")

    result = figures.delivery(brands=[brand])

    assert result == figures.Delivery(pending=2, oldest_at=oldest.created_at, dead=1)


def test_unscanned_codes_are_assigned_minus_scanned() -> None:
    codes = figures.Codes(assigned=3, scanned=1)

    assert codes.unscanned == 2


def assigned_codes() -> int:
    return AuthCode.objects.filter(product__isnull=False).count()


def front_page(user: User, **query: Any) -> Any:
    response = portal.browser(user).get(reverse("admin:index"), query)
    assert response.status_code == 200
    return response


@pytest.mark.parametrize("role", ["owner", "manager", "printer", "support"])
def test_home_shows_each_role_only_figures_it_may_see(role: str) -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")

    home = front_page(portal.staff(brand, role=role)).context["home"]

    assert home.codes.assigned == assigned_codes()
    scan_tiles, member_tiles = ["Scans", "Genuine"], ["New customers"]
    point_tiles = ["Points earned", "Points spent", "Points outstanding"]
    all_tiles = [*scan_tiles, *member_tiles, *point_tiles]
    expected_tiles = {"printer": [], "support": [*scan_tiles, *member_tiles]}.get(role, all_tiles)
    assert [tile.title for tile in home.tiles] == expected_tiles
    assert len(home.funnel) == (1 if role == "printer" else 2)
    assert home.sees_programme is (role in {"owner", "manager"})


def test_home_shows_nothing_of_another_brand() -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")
    other, other_rows = portal.brand_with_one_of_each("zebra")
    user = portal.staff(brand)
    campaign, place = other_rows["campaigns.campaign"].pk, "zebra town"

    html = portal.text(front_page(user))
    assert "aardvark" in html
    assert "zebra" not in html.lower()
    for query in ({"brand": other.pk}, {"campaign": campaign}):
        assert "zebra" not in portal.text(front_page(user, **query)).lower()
    assert front_page(user, location=place).context["home"].scans.total == 0


def test_staff_of_several_brands_see_all_or_the_selected_one() -> None:
    first, _rows = portal.brand_with_one_of_each("aardvark")
    second, _rows = portal.brand_with_one_of_each("badger")
    user = portal.staff(first, second)

    assert front_page(user).context["home"].scans.accepted == 2
    home = front_page(user, brand=second.pk).context["home"]
    assert (home.scans.accepted, [top.name for top in home.scans.products]) == (1, ["badger product"])
    assert "aardvark product" not in portal.text(front_page(user, brand=second.pk))


@pytest.mark.parametrize(
    "query",
    [
        {"status": "nonsense"},
        {"first_day": "2026-99-01"},
        {"first_day": "2026-02-02", "last_day": "2026-01-01"},
        {"first_day": "0001-01-01", "last_day": "9999-12-31"},
        {"campaign": "9" * 30},
        {"brand": "-1"},
        {"location": "'\"<script>"},
    ],
)
def test_invalid_filters_do_not_break_home(query: dict[str, str]) -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")

    response = front_page(portal.staff(brand), **query)

    assert '"<script>' not in portal.text(response)
    assert response.context["home"].codes.assigned == assigned_codes()


def test_home_needs_the_same_query_count_for_1_and_30_rows(django_assert_num_queries: Any) -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")
    client = portal.browser(portal.staff(brand))

    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(reverse("admin:index"))
        return len(captured)

    baseline = count()
    for number in range(30):
        batch = factories.batch(brand, campaign=factories.campaign(brand))
        portal.scan(batch.codes.get(), user=factories.customer(brand), location=f"Town {number}")

    assert count() == baseline <= 25


@pytest.mark.parametrize("brand_filter", ["one of two brands", "two brands"])
def test_every_figure_links_to_a_list_with_as_many_rows(brand_filter: str) -> None:
    brand, other = factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="America/Los_Angeles")
    fill(brand, random.Random(8), codes=6, scans=90)
    fill(other, random.Random(9), codes=4, scans=40)
    user = portal.staff(brand, other)
    client = portal.browser(user)
    since = timezone.now().date() - timedelta(days=4)
    days_query, place_query = {"first_day": since, "last_day": since + timedelta(days=2)}, {"location": PLACES[0]}
    campaign_query = {"campaign": brand.campaigns.earliest("pk").pk}
    brand_query = {"brand": brand.pk} if brand_filter == "one of two brands" else {}

    for query in (
        {},
        {**days_query, **campaign_query},
        place_query,
        {"status": "scanned", **campaign_query},
        {"status": "unscanned", **days_query},
        {"status": "expired", **days_query, **place_query},
        {"status": "deactivated", **place_query},
    ):
        home = front_page(user, **brand_query, **query).context["home"]
        code_stages = [stage for stage in home.funnel[0] if stage.title in {"Assigned", "Scanned"}]
        cards = [*code_stages, home.tiles[0], *home.outcomes, *home.products, home.recalled]
        place_links = [(row.scans_link, row.scans_text) for row in home.map.rows]
        for link, value in [*((card.link, card.value) for card in cards), *place_links]:
            assert link, (query, value)
            assert changelist_at(client, link).result_count == int(value.replace(",", "")), (query, link)
        unique_scanners = home.unique_scanners
        customer_count = (
            changelist_at(client, unique_scanners.link).queryset.order_by().values("user").distinct().count()
        )
        assert str(customer_count) == unique_scanners.value.replace(",", ""), (query, unique_scanners)


def changelist_at(client: Any, link: str) -> Any:
    with portal.without_rendering():
        response = client.get(link)
    assert response.status_code == 200, link
    return response.context_data["cl"]


@pytest.mark.parametrize("existing", ["nothing", "product"])
def test_empty_home_shows_the_next_step(existing: str) -> None:
    brand = factories.brand()
    if existing == "product":
        factories.product(brand)
    address = {"nothing": "authcodes_product_add", "product": "authcodes_batchrange_add"}[existing]

    assert f'href="{reverse(f"admin:{address}")}"' in portal.text(front_page(portal.staff(brand)))
    if existing == "nothing":
        assert "An owner or manager must do this next." in portal.text(front_page(portal.staff(brand, role="support")))


def test_staff_without_a_brand_see_an_empty_home() -> None:
    portal.brand_with_one_of_each("zebra")

    assert "zebra" not in portal.text(front_page(factories.user(is_staff=True)))


def test_superuser_sees_figures_of_every_brand() -> None:
    portal.brand_with_one_of_each("aardvark")
    portal.brand_with_one_of_each("badger")

    home = front_page(factories.user(is_staff=True, is_superuser=True)).context["home"]
    assert home.codes.assigned == assigned_codes()


def test_home_has_no_inline_styles() -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")

    html = portal.text(front_page(portal.staff(brand)))

    content = html[html.index('id="content"') :]
    assert '<svg class="home-map"' in content
    assert "style=" not in content[: content.index("</main>") if "</main>" in content else content.index("unfold/js")]
