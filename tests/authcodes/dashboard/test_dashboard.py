"""The dashboard's figures: the same as counting everything by hand, whatever is filtered and rolled up."""

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
from tests.authcodes.dashboard.dashboards import PLACES, Plainly, all_filters, codes_condition, fill, scans_condition
from tests.support import factories, portal

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("rolled_up", ["none", "all", "some"])
@pytest.mark.parametrize("seed", [1, 2])
def test_figures_are_what_plain_counting_finds_for_every_combination_of_filters(seed: int, rolled_up: str) -> None:
    chance = random.Random(seed)
    brands = [factories.brand(time_zone=zone) for zone in ("Asia/Kolkata", "America/Los_Angeles", "Asia/Kolkata")]
    for brand in brands:
        fill(brand, chance)
    for brand in {"none": [], "all": brands, "some": brands[:1]}[rolled_up]:
        rollups.catch_up(brand=brand, at=timezone.now())

    for shown in (brands[:1], brands[:2]):
        plainly = Plainly(shown)
        for filters in all_filters(shown):
            assert figures.codes(brands=shown, filters=filters) == plainly.codes(filters), filters
            assert figures.scans(brands=shown, filters=filters) == plainly.scans(filters), filters


@pytest.mark.parametrize("shown", [1, 2])
def test_figures_count_the_rows_that_the_filters_mean_for_the_lists(shown: int) -> None:
    brands = [factories.brand(time_zone=zone) for zone in ("Asia/Kolkata", "America/Los_Angeles")][:shown]
    for brand in brands:
        fill(brand, random.Random(4), codes=6, scans=80)
        rollups.catch_up(brand=brand, at=timezone.now())
    codes, scans = AuthCode.objects.filter(brand__in=brands), Scan.objects.filter(brand__in=brands)

    for filters in all_filters(brands):
        matching_codes = codes.filter(codes_condition(filters, brands))
        days = {name: getattr(filters, name) for name in ("first_day", "last_day")}
        scanned = matching_codes.filter(codes_first_scanned(brands=brands, **days, places=filters.where))
        found = figures.codes(brands=brands, filters=filters)
        assert (found.assigned, found.scanned) == (matching_codes.count(), scanned.count()), filters
        total = figures.scans(brands=brands, filters=filters).total
        assert total == scans.filter(scans_condition(filters, brands)).count(), filters


def test_no_brands_no_figures(db: Any) -> None:
    fill(factories.brand(), random.Random(3))

    found = figures.figures(brands=[])

    assert found == figures.Figures(figures.Codes(), figures.Scans(), figures.Delivery())


def test_five_statements_whatever_the_brands_and_filters(django_assert_num_queries: Any) -> None:
    few = [factories.brand(time_zone="Asia/Kolkata")]
    many = [factories.brand(time_zone=zone) for zone in ("UTC", "Asia/Kolkata", "America/Los_Angeles", "Asia/Tokyo")]

    for brands in (few, many):
        for filters in (Filters(), Filters(location="Goa, Goa", campaign_id=1)):
            with django_assert_num_queries(5):
                figures.figures(brands=brands, filters=filters)


def test_delivery_counts_the_brands_own_pending_and_dead_events() -> None:
    brand, other = factories.brand(), factories.brand()
    oldest = portal.event(brand, status="pending")
    portal.event(brand, status="pending")
    portal.event(brand, status="done")
    portal.event(brand, status="dead")
    portal.event(other, status="dead")

    found = figures.delivery(brands=[brand])

    assert found == figures.Delivery(pending=2, oldest_at=oldest.created_at, dead=1)


def test_assigned_codes_are_scanned_or_not() -> None:
    found = figures.Codes(assigned=3, scanned=1)

    assert found.unscanned == 2


def assigned_codes() -> int:
    return AuthCode.objects.filter(product__isnull=False).count()


def front_page(person: User, **query: Any) -> Any:
    response = portal.browser(person).get(reverse("admin:index"), query)
    assert response.status_code == 200
    return response


@pytest.mark.parametrize("role", ["owner", "manager", "printer", "support"])
def test_the_page_shows_each_role_what_it_may_see_elsewhere(role: str) -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")

    shown = front_page(portal.staff(brand, role=role)).context["home"]

    assert shown.codes.assigned == assigned_codes()
    of_scans, of_members = ["Scans", "Genuine"], ["New customers"]
    of_points = ["Points earned", "Points spent", "Points outstanding"]
    everything = [*of_scans, *of_members, *of_points]
    seen = {"printer": [], "support": [*of_scans, *of_members]}.get(role, everything)
    assert [tile.title for tile in shown.tiles] == seen
    assert len(shown.funnel) == (1 if role == "printer" else 2)
    assert shown.sees_programme is (role in {"owner", "manager"})


def test_the_page_names_nothing_of_another_brand() -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")
    other, its = portal.brand_with_one_of_each("zebra")
    person = portal.staff(brand)
    campaign, place = its["campaigns.campaign"].pk, "zebra town"

    plain = portal.text(front_page(person))
    assert "aardvark" in plain
    assert "zebra" not in plain.lower()
    for query in ({"brand": other.pk}, {"campaign": campaign}):
        assert "zebra" not in portal.text(front_page(person, **query)).lower()
    assert front_page(person, location=place).context["home"].scans.total == 0


def test_somebody_with_several_brands_sees_all_or_the_chosen_one() -> None:
    first, _rows = portal.brand_with_one_of_each("aardvark")
    second, _rows = portal.brand_with_one_of_each("badger")
    person = portal.staff(first, second)

    assert front_page(person).context["home"].scans.accepted == 2
    shown = front_page(person, brand=second.pk).context["home"]
    assert (shown.scans.accepted, [top.name for top in shown.scans.products]) == (1, ["badger product"])
    assert "aardvark product" not in portal.text(front_page(person, brand=second.pk))


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
def test_what_the_form_does_not_understand_breaks_nothing(query: dict[str, str]) -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")

    response = front_page(portal.staff(brand), **query)

    assert '"<script>' not in portal.text(response)
    assert response.context["home"].codes.assigned == assigned_codes()


def test_the_page_costs_the_same_queries_at_1_and_30_rows(django_assert_num_queries: Any) -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")
    client = portal.browser(portal.staff(brand))

    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(reverse("admin:index"))
        return len(captured)

    one = count()
    for number in range(30):
        made = factories.batch(brand, campaign=factories.campaign(brand))
        portal.scan(made.codes.get(), user=factories.customer(brand), location=f"Town {number}")

    assert count() == one <= 25


@pytest.mark.parametrize("which", ["one of two brands", "two brands"])
def test_every_figure_leads_to_a_list_of_as_many_rows(which: str) -> None:
    brand, other = factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="America/Los_Angeles")
    fill(brand, random.Random(8), codes=6, scans=90)
    fill(other, random.Random(9), codes=4, scans=40)
    person = portal.staff(brand, other)
    client = portal.browser(person)
    since = timezone.now().date() - timedelta(days=4)
    when, where = {"first_day": since, "last_day": since + timedelta(days=2)}, {"location": PLACES[0]}
    of = {"campaign": brand.campaigns.earliest("pk").pk}
    own = {"brand": brand.pk} if which == "one of two brands" else {}

    for query in (
        {},
        {**when, **of},
        where,
        {"status": "scanned", **of},
        {"status": "unscanned", **when},
        {"status": "expired", **when, **where},
        {"status": "deactivated", **where},
    ):
        shown = front_page(person, **own, **query).context["home"]
        of_codes = [stage for stage in shown.funnel[0] if stage.title in {"Assigned", "Scanned"}]
        cards = [*of_codes, shown.tiles[0], *shown.outcomes, *shown.products, shown.recalled]
        places = [(row.scans_link, row.scans_text) for row in shown.map.rows]
        for link, value in [*((card.link, card.value) for card in cards), *places]:
            assert link, (query, value)
            assert listed_at(client, link).result_count == int(value.replace(",", "")), (query, link)
        scanners = shown.unique_scanners
        people = listed_at(client, scanners.link).queryset.order_by().values("user").distinct().count()
        assert str(people) == scanners.value.replace(",", ""), (query, scanners)


def listed_at(client: Any, link: str) -> Any:
    with portal.unrendered():
        response = client.get(link)
    assert response.status_code == 200, link
    return response.context_data["cl"]


@pytest.mark.parametrize("there", ["nothing", "product"])
def test_an_empty_page_says_what_to_do_next(there: str) -> None:
    brand = factories.brand()
    if there == "product":
        factories.product(brand)
    address = {"nothing": "authcodes_product_add", "product": "authcodes_batchrange_add"}[there]

    assert f'href="{reverse(f"admin:{address}")}"' in portal.text(front_page(portal.staff(brand)))
    if there == "nothing":
        assert "An owner or manager must do this next." in portal.text(front_page(portal.staff(brand, role="support")))


def test_staff_without_a_brand_see_an_empty_page() -> None:
    portal.brand_with_one_of_each("zebra")

    assert "zebra" not in portal.text(front_page(factories.user(is_staff=True)))


def test_the_superuser_sees_every_brand() -> None:
    portal.brand_with_one_of_each("aardvark")
    portal.brand_with_one_of_each("badger")

    shown = front_page(factories.user(is_staff=True, is_superuser=True)).context["home"]
    assert shown.codes.assigned == assigned_codes()


def test_the_page_has_no_inline_script_or_style() -> None:
    brand, _rows = portal.brand_with_one_of_each("aardvark")

    found = portal.text(front_page(portal.staff(brand)))

    content = found[found.index('id="content"') :]
    assert '<svg class="home-map"' in content
    assert "style=" not in content[: content.index("</main>") if "</main>" in content else content.index("unfold/js")]
