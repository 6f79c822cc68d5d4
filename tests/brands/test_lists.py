"""The portal's lists: as many questions for thirty rows as for one, cheap counts, filters."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from brands.lists import EstimatingPaginator
from brands.models import Brand, Membership
from tests import make
from tests.portal import LABELS, address, browser, event, scan, staff

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def plain_http(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = False


def many(brand: Brand, count: int) -> None:
    """`count` more rows of whatever grows."""
    product, campaign = make.product(brand), make.campaign(brand)
    milestone = make.milestone(campaign, 1)
    batch = make.batch(brand, quantity=count, product=product, campaign=campaign)
    for code in batch.codes.all():
        customer = make.customer(brand)
        account = make.account(customer, brand)
        scan(code, user=customer)
        account.transactions.create(points_earned=1, reason="earned", reason_id=code.code)
        milestone.claims.create(user=customer)
        campaign.progress_rows.create(user=customer)
        event(brand)
        make.batch(brand)
        make.level(brand, name=code.code, threshold=code.pk)
        Membership.objects.create(user=customer, brand=brand, role="support")


@pytest.mark.parametrize("superuser", [False, True])
def test_lists_ask_as_many_questions_for_thirty_rows_as_for_one(superuser: bool, brand: Brand) -> None:
    client = browser(make.user(is_staff=True, is_superuser=True) if superuser else staff(brand))
    many(brand, 1)

    def counts() -> dict[str, int]:
        found = {}
        for label in LABELS:
            client.get(address(label))
            with CaptureQueriesContext(
                connection,
            ) as asked:
                client.get(address(label))
            found[label] = len(asked)
        return found

    one = counts()
    many(brand, 30)

    thirty = counts()
    assert thirty == one
    assert max(thirty.values()) <= 12


def test_short_lists_are_counted_exactly(brand: Brand) -> None:
    make.batch(brand, quantity=40)

    assert EstimatingPaginator(brand.batches.get().codes.order_by("-pk"), 30).count == 40


def test_long_lists_are_estimated_without_counting_their_rows(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EstimatingPaginator, "EXACT_UP_TO", 10)
    codes = make.batch(brand, quantity=40).codes.order_by("-pk")

    with CaptureQueriesContext(connection) as asked:
        count = EstimatingPaginator(codes, 30).count

    assert count > 10
    assert [query["sql"].split()[0] for query in asked] == ["SELECT", "EXPLAIN"]
    assert "LIMIT 11" in asked[0]["sql"]


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
        ({"from": "yesterday", "to": "2026-02-30"}, 3),
    ],
)
def test_days_are_included_from_first_to_last(brand: Brand, limits: dict[str, str], found: int) -> None:
    for moment in ("2026-03-01T23:59:59Z", "2026-03-02T23:59:59Z", "2026-03-03T00:00:00Z"):
        event(brand, created_at=moment)

    asked = {f"created_at_{end}": day for end, day in limits.items()}
    response = browser(staff(brand)).get(address("loyalty.event"), asked)

    assert len(response.context["cl"].result_list) == found


def test_filters_of_choices_and_known_values(brand: Brand) -> None:
    event(brand, detail_type="notify")
    event(brand, status="dead")
    client = browser(staff(brand))

    def found(**query: str) -> int:
        return len(client.get(address("loyalty.event"), query).context["cl"].result_list)

    assert found(status__exact="dead") == found(detail_type="notify") == 1
    assert found(detail_type="unheard of") == 2


@pytest.mark.parametrize(
    "query", ["p=abc", "p=999999", "o=9.9", "q=%27", "status=x", "all=", "e=1", "p=-1", f"p={'9' * 50}"]
)
def test_addresses_that_somebody_mistyped_show_a_list(brand: Brand, query: str) -> None:
    make.batch(brand)

    response = browser(staff(brand)).get(f"{address('authcodes.authcode')}?{query}", follow=True)

    assert response.status_code == 200
