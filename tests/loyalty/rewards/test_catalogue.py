"""The catalogue of rewards in the customer API."""

from datetime import timedelta

import pytest
from django.utils import timezone

from loyalty.models.accounts import UserPoints
from tests.support import factories


@pytest.fixture
def customer_api(api, customer):
    return api.as_customer(customer)


def rewards(customer_api):
    return {each["name"]: each for each in customer_api.get("customer/loyalty/rewards").json()["data"]}


def test_catalogue_returns_rewards_with_their_terms(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, name="A mug", cost=25, stock=4, limit_per_member=2, description="Enamel")

    assert rewards(customer_api) == {
        "A mug": {
            "id": reward.pk,
            "name": "A mug",
            "description": "Enamel",
            "cost": 25,
            "stock": 4,
            "limit_per_member": 2,
            "taken": 0,
            "valid_from": None,
            "valid_until": None,
            "level": None,
            "available": True,
            "reason": None,
            "missing": None,
            "picture": None,
        }
    }


def test_catalogue_returns_why_a_reward_is_not_available(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    tomorrow = timezone.now() + timedelta(days=1)
    factories.reward(brand, name="dear", cost=30.01)
    factories.reward(brand, name="sold out", cost=99, stock=0)
    factories.reward(brand, name="for gold", cost=99, stock=0, minimum_level=factories.level(brand, "Gold", 500))
    factories.reward(brand, name="tomorrow", valid_from=tomorrow, cost=99, stock=0)
    factories.reward(brand, name="over", valid_until=timezone.now())
    factories.reward(brand, name="off", is_active=False)
    factories.reward(factories.brand(), name="elsewhere")

    assert {name: each["reason"] for name, each in rewards(customer_api).items()} == {
        "dear": "NOT_ENOUGH_POINTS",
        "sold out": "OUT_OF_STOCK",
        "for gold": "LEVEL_TOO_LOW",
        "tomorrow": "REWARD_NOT_AVAILABLE",
    }


def test_reward_above_the_balance_has_the_missing_points(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    factories.reward(brand, name="dear", cost=42)
    factories.reward(brand, name="fair", cost=30)

    assert {name: each["missing"] for name, each in rewards(customer_api).items()} == {"dear": 12, "fair": None}


def test_no_reward_is_available_to_blocked_members_or_in_inactive_programmes(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    factories.reward(brand, name="A mug")
    UserPoints.objects.filter(user=customer).update(status="blocked")
    blocked = rewards(customer_api)["A mug"]["reason"]
    brand.loyalty_active = False
    brand.save(update_fields=["loyalty_active"])

    assert (blocked, rewards(customer_api)["A mug"]["reason"]) == ("MEMBER_BLOCKED", "LOYALTY_DISABLED")


def test_customer_who_is_not_enrolled_can_read_the_catalogue(api, brand):
    factories.reward(brand, name="A mug")

    assert rewards(api.as_customer(factories.customer(brand, enrolled=False)))["A mug"]["reason"] == "NOT_ENOUGH_POINTS"


def test_reward_is_available_to_members_above_its_minimum_level(customer_api, brand, customer):
    gold = factories.level(brand, "Gold", 20)
    factories.level(brand, "Platinum", 30)
    factories.points(customer, brand, 30)
    UserPoints.objects.filter(user=customer).update(current_level="Platinum")
    factories.reward(brand, name="for gold", minimum_level=gold)

    assert rewards(customer_api)["for gold"]["available"] is True
    assert rewards(customer_api)["for gold"]["level"] == "Gold"


def test_catalogue_needs_the_same_query_count_for_1_and_30_rewards(customer_api, brand, django_assert_num_queries):
    factories.reward(brand)
    with django_assert_num_queries(6):  # the user, the brand, the page, the account, the levels, what was taken
        rewards(customer_api)
    for _ in range(29):
        factories.reward(brand)

    with django_assert_num_queries(6):
        rewards(customer_api)
