"""The portal's lists: as many questions for thirty rows as for one, cheap counts, filters."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from brands.models.people import StaffRole
from brands.models.tenants import Brand
from portal.lists import changelist
from portal.lists.changelist import Count, EstimatingPaginator, counted
from tests.support import factories
from tests.support.portal import LABELS, address, browser, event, printed, scan, staff, text

pytestmark = pytest.mark.django_db


def many(brand: Brand, count: int) -> None:
    """`count` more rows of whatever grows."""
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
        printed(factories.batch(brand), by=customer)
        factories.level(brand, name=code.code, threshold=code.pk)
        StaffRole.objects.create(user=customer, brand=brand, role="support")


@pytest.mark.parametrize("superuser", [False, True])
def test_lists_ask_as_many_questions_for_thirty_rows_as_for_one(superuser: bool, brand: Brand) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True) if superuser else staff(brand))
    many(brand, 1)

    def counts() -> dict[str, int]:
        found = {}
        for label in LABELS:
            with CaptureQueriesContext(connection) as queries:
                client.get(address(label))
            found[label] = len(queries)
        return found

    counts()  # what is asked for once stays known
    one = counts()
    many(brand, 30)

    thirty = counts()
    assert thirty == one
    assert max(thirty.values()) <= 15


def test_short_lists_are_counted_exactly(brand: Brand) -> None:
    factories.batch(brand, quantity=40)

    assert counted(brand.batches.get().codes.order_by("-pk")) == Count(40)
    assert counted(Brand.objects.none()) == counted(Brand.objects.filter(pk__in=[])) == Count(0)


@pytest.mark.parametrize("analyzed", [True, False])
def test_long_lists_are_counted_up_to_the_limit(
    brand: Brand, monkeypatch: pytest.MonkeyPatch, *, analyzed: bool
) -> None:
    """Whatever the planner expects: its statistics may be old."""
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


def test_what_is_dear_to_count_is_estimated(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_estimates_pretend_to_no_more_than_they_know(count: Count, expected_text: str) -> None:
    assert count.text == expected_text


def test_lists_say_when_their_count_is_an_estimate(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    client = browser(staff(brand))
    many(brand, 31)
    assert "31 events" in text(client.get(address("events.event")))

    monkeypatch.setattr(changelist, "MAX_COUNT_COST", 0)

    for label in ("events.event", "authcodes.scan"):
        assert "about " in text(client.get(address(label)))


def test_a_list_that_is_limited_says_so_and_can_be_undone(brand: Brand) -> None:
    event(brand, status="dead")
    event(brand)
    client = browser(staff(brand))

    assert "Show all" not in text(client.get(address("events.event")))
    assert "1 result (" in " ".join(text(client.get(address("events.event"), {"status__exact": "dead"})).split())


def test_a_list_that_is_shown_whole_was_counted(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changelist, "MAX_COUNT_COST", 0)
    factories.batch(brand, quantity=3)

    assert "3 results" in " ".join(
        text(browser(staff(brand)).get(address("authcodes.authcode"), {"assigned": "yes"})).split()
    )
    assert "3 codes" in text(browser(staff(brand)).get(address("authcodes.authcode")))


def test_lists_of_other_things_are_counted_too() -> None:
    assert EstimatingPaginator(["a", "b"], 30).count == 2


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ({}, 3),
        ({"from": "2026-03-02"}, 2),
        ({"to": "2026-03-02"}, 2),
        ({"from": "2026-03-02", "to": "2026-03-02"}, 1),
        ({"from": "2026-03-04"}, 0),
    ],
)
def test_days_are_included_from_first_to_last(brand: Brand, limits: dict[str, str], found: int) -> None:
    for moment in ("2026-03-01T23:59:59Z", "2026-03-02T23:59:59Z", "2026-03-03T00:00:00Z"):
        event(brand, created_at=moment)

    query = {f"created_at_{end}": day for end, day in limits.items()}
    response = browser(staff(brand)).get(address("events.event"), query)

    assert len(response.context["cl"].result_list) == found


def test_filters_of_choices_and_known_values(brand: Brand) -> None:
    event(brand, detail_type="notify")
    event(brand, status="dead")
    client = browser(staff(brand))

    def found(**query: str) -> int:
        return len(client.get(address("events.event"), query).context["cl"].result_list)

    assert found(status__exact="dead") == found(detail_type="notify") == 1
    assert client.get(address("events.event"), {"detail_type": "unheard of"}).status_code == 302


@pytest.mark.parametrize(
    "query", ["p=abc", "p=999999", "o=9.9", "q=%27", "status=x", "all=", "e=1", "p=-1", f"p={'9' * 50}"]
)
def test_addresses_that_somebody_mistyped_show_a_list(brand: Brand, query: str) -> None:
    factories.batch(brand)

    response = browser(staff(brand)).get(f"{address('authcodes.authcode')}?{query}", follow=True)

    assert response.status_code == 200
