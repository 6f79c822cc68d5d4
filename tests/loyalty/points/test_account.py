"""The customer API for an account: balance, level and ledger entries."""

from datetime import UTC, datetime

import pytest

from loyalty.points import ledger
from tests.support import factories
from tests.support.api import error


@pytest.fixture
def customer_api(api, customer):
    """An API client with the customer's token."""
    return api.as_customer(customer)


def credit(customer, brand, points, reason_id="shop"):
    return ledger.credit(
        account=factories.account(customer, brand).pk,
        points=points,
        reason_id=reason_id,
        note="For you",
        at=datetime(2026, 3, 14, 9, 26, 53, 589_000, tzinfo=UTC),
    )


def read_all_pages(customer_api, path, **query):
    """All rows of a paginated list, and the number of pages."""
    rows, pages, cursor = [], 0, {}
    while True:
        body = customer_api.get(path, **query, **cursor).json()
        rows, pages = rows + body["data"], pages + 1
        if not body["pagination"]["has_more"]:
            return rows, pages
        cursor = {"cursor": body["pagination"]["next"]}


# --- Points ----------------------------------------------------------------------------------------------------------


def test_account_returns_balance_and_level(customer_api, brand, customer):
    factories.level(brand, "Silver", 100)
    credit(customer, brand, 25)

    assert customer_api.get("customer/loyalty/points").json() == {
        "success": True,
        "data": {
            "points": 25,
            "pending": 0,
            "owed": 0,
            "lifetime": 25,
            "redeemed": 0,
            "expired": 0,
            "level": "Bronze",
            "next_level": {"name": "Silver", "threshold": 100, "missing": 75, "points": 25},
            "expiring_soon": None,
            "enrolled": True,
            "level_end": None,
            "levels": [
                {"name": "Bronze", "threshold": 0, "benefits": []},
                {"name": "Silver", "threshold": 100, "benefits": []},
            ],
        },
    }


def test_customer_who_is_not_enrolled_has_no_points_and_no_level(api, brand):
    customer = factories.customer(brand, enrolled=False)

    data = api.as_customer(customer).get("customer/loyalty/points").json()["data"]

    assert (data["points"], data["level"], data["enrolled"]) == (0, "", False)


def test_points_are_those_of_the_tokens_brand(api, brand, customer):
    other = factories.brand()
    factories.accounts.enrol(user_id=customer.pk, brand_id=other.pk, at=customer.date_joined)
    credit(customer, other, 70)

    assert api.as_customer(customer).get("customer/loyalty/points").json()["data"]["points"] == 0
    assert api.as_customer(customer, brand=other).get("customer/loyalty/points").json()["data"]["points"] == 70


@pytest.mark.parametrize("path", ["customer/loyalty/points", "customer/loyalty/transactions"])
def test_guests_cannot_read_an_account(api, path):
    response = api.get(path)

    assert error(response) == (401, "AUTHENTICATION_REQUIRED")
    assert response["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["customer/loyalty/points", "customer/loyalty/transactions"])
def test_token_of_a_deactivated_customer_is_invalid(customer_api, customer, path):
    customer.is_active = False
    customer.save(update_fields=["is_active"])

    assert error(customer_api.get(path)) == (401, "TOKEN_INVALID")


# --- Transactions ----------------------------------------------------------------------------------------------------


def test_transactions_return_ledger_entries(customer_api, brand, customer):
    entry = credit(customer, brand, 25)

    assert customer_api.get("customer/loyalty/transactions").json() == {
        "success": True,
        "data": [
            {
                "loyalty_transaction_id": entry.loyalty_transaction_id,
                "reason": "earned",
                "reason_id": "shop",
                "points_earned": 25,
                "points_redeemed": 0,
                "points_expired": 0,
                "points_reversed": 0,
                "points_pending": 0,
                "points_cleared": 0,
                "note": "For you",
                "explanation": [],
                "createdAt": "2026-03-14T09:26:53.589Z",
            }
        ],
        "pagination": {"limit": 50, "next": None, "has_more": False},
    }


def test_120_entries_are_paged_newest_first_without_gaps_or_duplicates(customer_api, brand, customer):
    for number in range(120):
        credit(customer, brand, 1, f"order:{number}")

    rows, pages = read_all_pages(customer_api, "customer/loyalty/transactions")

    assert [row["reason_id"] for row in rows] == [f"order:{number}" for number in reversed(range(120))]
    assert pages == 3


def test_entry_written_between_pages_does_not_shift_the_next_page(customer_api, brand, customer):
    for number in range(4):
        credit(customer, brand, 1, f"order:{number}")
    first = customer_api.get("customer/loyalty/transactions", limit=2).json()
    credit(customer, brand, 1, "order:late")

    second = customer_api.get("customer/loyalty/transactions", limit=2, cursor=first["pagination"]["next"]).json()

    assert [row["reason_id"] for row in second["data"]] == ["order:1", "order:0"]


@pytest.mark.parametrize("limit", [1, 7, 200])
def test_limit_sets_the_page_size(customer_api, brand, customer, limit):
    for number in range(9):
        credit(customer, brand, 1, f"order:{number}")

    body = customer_api.get("customer/loyalty/transactions", limit=limit).json()

    assert len(body["data"]) == min(limit, 9)
    assert body["pagination"]["limit"] == limit


@pytest.mark.parametrize("limit", ["0", "201", "-1", "1.5", "x", "", "0000000010000", "9" * 5000, "٣", "1e2"])
def test_invalid_limit_is_rejected(customer_api, limit):
    assert error(customer_api.get("customer/loyalty/transactions", limit=limit)) == (400, "VALIDATION_ERROR")


def test_entries_of_another_member_are_not_returned(api, brand, customer):
    credit(customer, brand, 25)

    assert api.as_customer(factories.customer(brand)).get("customer/loyalty/transactions").json()["data"] == []


def test_list_needs_the_same_query_count_for_1_and_30_entries(customer_api, brand, customer, django_assert_num_queries):
    credit(customer, brand, 1, "order:one")
    with django_assert_num_queries(2):  # the user, the page
        customer_api.get("customer/loyalty/transactions")
    for number in range(29):
        credit(customer, brand, 1, f"order:{number}")

    with django_assert_num_queries(2):
        customer_api.get("customer/loyalty/transactions")


def test_entries_can_be_filtered_by_reason_and_period_in_the_brands_zone(api):
    brand = factories.brand(time_zone="Pacific/Auckland")  # 13 hours ahead of UTC in March
    customer = factories.customer(brand)
    account = factories.account(customer, brand).pk
    for day in (13, 14, 15):
        noon = datetime(2026, 3, day, 12, tzinfo=UTC)  # the next day in the brand's zone
        ledger.credit(account=account, points=10, reason_id=f"order:{day}", note="", at=noon)
    ledger.debit(account=account, points=5, reason_id="redeem:1", note="", at=datetime(2026, 3, 14, 12, tzinfo=UTC))
    customer_api = api.as_customer(customer, brand=brand)

    def reason_ids(**query):
        return [
            entry["reason_id"] for entry in customer_api.get("customer/loyalty/transactions", **query).json()["data"]
        ]

    assert reason_ids(reason="redeemed") == ["redeem:1"]
    assert reason_ids(**{"from": "2026-03-15", "to": "2026-03-15"}) == ["redeem:1", "order:14"]
    assert reason_ids(**{"from": "2026-03-15", "reason": "earned"}) == ["order:15", "order:14"]
    assert reason_ids(to="2026-03-13") == []
    assert reason_ids(to="0001-01-01") == []


@pytest.mark.parametrize("query", [{"reason": "won"}, {"reason": ""}, {"from": "x"}, {"to": "20260301"}, {"to": ""}])
def test_invalid_filter_value_is_rejected(customer_api, query):
    response = customer_api.get("customer/loyalty/transactions", **query)

    assert error(response) == (400, "VALIDATION_ERROR")
    [parameter] = query
    assert response.json()["details"] == {"field": parameter}
    assert response.json()["message"].startswith(parameter)


@pytest.mark.parametrize("name", ["first_day", "created_at", "user_point__brand_id", "from_"])
def test_unknown_parameter_is_rejected_by_name(customer_api, name):
    response = customer_api.get("customer/loyalty/transactions", **{name: "1"})

    assert (response.status_code, response.json()["details"]) == (400, {"field": name})
