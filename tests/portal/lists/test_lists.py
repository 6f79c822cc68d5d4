"""The portal's lists: a constant number of queries, cheap counts, filters."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from brands.models.people import StaffRole
from brands.models.tenants import Brand
from portal.lists import changelist
from portal.lists.changelist import Count, EstimatingPaginator, counted
from tests.support import factories
from tests.support.portal import LABELS, address, browser, event, print_run_of, scan, staff, text

pytestmark = pytest.mark.django_db


def add_rows(brand: Brand, count: int) -> None:
    """Add `count` rows of each growing table."""
    product, campaign = factories.product(brand), factories.campaign(brand)
    milestone = factories.milestone(campaign, 1)
    batch = factories.batch(brand, quantity=count, product=product, campaign=campaign)
    for code in batch.codes.all():
        customer = factories.customer(brand)
        account = factories.account(customer, brand)
        scan(code, user=customer)
        account.transactions.create(points_earned=1, reason="earned", reason_id=code.code)
        milestone.claims.create(user=customer)
        campaign.progress_rows.create(user=customer)
        event(brand)
        print_run_of(factories.batch(brand), by=customer)
        factories.level(brand, name=code.code, threshold=code.pk)
        StaffRole.objects.create(user=customer, brand=brand, role="support")


@pytest.mark.parametrize("superuser", [False, True])
def test_lists_take_as_many_queries_for_thirty_rows_as_for_one(superuser: bool, brand: Brand) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True) if superuser else staff(brand))
    add_rows(brand, 1)

    def query_counts() -> dict[str, int]:
        numbers = {}
        for label in LABELS:
            with CaptureQueriesContext(connection) as queries:
                client.get(address(label))
            numbers[label] = len(queries)
        return numbers

    query_counts()  # fills the caches
    counts_for_one = query_counts()
    add_rows(brand, 30)

    counts_for_thirty = query_counts()
    assert counts_for_thirty == counts_for_one
    assert max(counts_for_thirty.values()) <= 15


def test_short_lists_are_counted_exactly(brand: Brand) -> None:
    factories.batch(brand, quantity=40)

    assert counted(brand.batches.get().codes.order_by("-pk")) == Count(40)
    assert counted(Brand.objects.none()) == counted(Brand.objects.filter(pk__in=[])) == Count(0)


@pytest.mark.parametrize("analyzed", [True, False])
def test_long_lists_are_counted_only_up_to_the_limit(
    brand: Brand, monkeypatch: pytest.MonkeyPatch, *, analyzed: bool
) -> None:
    """It does not depend on the planner's statistics, which may be old."""
    monkeypatch.setattr(changelist, "EXACT_UP_TO", 10)
    if not analyzed:
        analyze_codes()
    codes = factories.batch(brand, quantity=400).codes.filter(scan_count=0, location="").order_by("-pk")
    if analyzed:
        analyze_codes()

    with CaptureQueriesContext(connection) as queries:
        count = counted(codes)

    assert (count.exact, count.text) == (False, "more than 10")
    assert "LIMIT 11" in queries[-1]["sql"]


def analyze_codes() -> None:
    with connection.as_owner(), connection.cursor() as cursor:  # type: ignore[attr-defined] # our own backend's
        cursor.execute("ANALYZE authcodes_authcode")


def test_expensive_count_is_estimated(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changelist, "MAX_COUNT_COST", 0)

    codes = factories.batch(brand, quantity=3).codes.all()

    with CaptureQueriesContext(connection) as queries:
        count = counted(codes)

    assert not count.exact
    assert {query["sql"].split()[0] for query in queries} == {"EXPLAIN"}


@pytest.mark.parametrize(
    ("count", "expected_text"),
    [
        (Count(0), "0"),
        (Count(12_345), "12,345"),
        (Count(1_003_120, exact=False), "about 1,000,000"),
        (Count(96_400, exact=False), "about 96,000"),
        (Count(7, exact=False), "about 7"),
        (Count(10_001, exact=False, at_least=True), "more than 10,000"),
    ],
)
def test_count_text_shows_only_the_known_precision(count: Count, expected_text: str) -> None:
    assert count.text == expected_text


def test_lists_label_an_estimated_count(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    client = browser(staff(brand))
    add_rows(brand, 31)
    assert "31 events" in text(client.get(address("events.event")))

    monkeypatch.setattr(changelist, "MAX_COUNT_COST", 0)

    for label in ("events.event", "authcodes.scan"):
        assert "about " in text(client.get(address(label)))


def test_only_a_filtered_list_has_its_count_and_a_link_to_all_rows(brand: Brand) -> None:
    event(brand, status="dead")
    event(brand)
    client = browser(staff(brand))

    assert "Show all" not in text(client.get(address("events.event")))
    filtered_page = " ".join(text(client.get(address("events.event"), {"status__exact": "dead"})).split())
    assert '1 result (<a href="?">Show all</a>)' in filtered_page


def test_list_that_fits_on_one_page_has_an_exact_count(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changelist, "MAX_COUNT_COST", 0)
    factories.batch(brand, quantity=3)

    assert "3 results" in " ".join(
        text(browser(staff(brand)).get(address("authcodes.authcode"), {"assigned": "yes"})).split()
    )
    assert "3 codes" in text(browser(staff(brand)).get(address("authcodes.authcode")))


def test_paginator_counts_plain_lists() -> None:
    assert EstimatingPaginator(["a", "b"], 30).count == 2


@pytest.mark.parametrize(
    ("bounds", "expected_count"),
    [
        ({}, 3),
        ({"from": "2026-03-02"}, 2),
        ({"to": "2026-03-02"}, 2),
        ({"from": "2026-03-02", "to": "2026-03-02"}, 1),
        ({"from": "2026-03-04"}, 0),
    ],
)
def test_date_range_includes_its_first_and_last_day(brand: Brand, bounds: dict[str, str], expected_count: int) -> None:
    for created_at in ("2026-03-01T23:59:59Z", "2026-03-02T23:59:59Z", "2026-03-03T00:00:00Z"):
        event(brand, created_at=created_at)

    query = {f"created_at_{end}": day for end, day in bounds.items()}
    response = browser(staff(brand)).get(address("events.event"), query)

    assert len(response.context["cl"].result_list) == expected_count


def test_choice_filters_accept_only_known_values(brand: Brand) -> None:
    event(brand, detail_type="notify")
    event(brand, status="dead")
    client = browser(staff(brand))

    def count_of(**query: str) -> int:
        return len(client.get(address("events.event"), query).context["cl"].result_list)

    assert count_of(status__exact="dead") == count_of(detail_type="notify") == 1
    assert client.get(address("events.event"), {"detail_type": "unheard of"}).status_code == 302


@pytest.mark.parametrize(
    "query", ["p=abc", "p=999999", "o=9.9", "q=%27", "status=x", "all=", "e=1", "p=-1", f"p={'9' * 50}"]
)
def test_mistyped_query_still_shows_a_list(brand: Brand, query: str) -> None:
    factories.batch(brand)

    response = browser(staff(brand)).get(f"{address('authcodes.authcode')}?{query}", follow=True)

    assert response.status_code == 200
