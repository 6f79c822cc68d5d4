"""Returned orders: their points go back, never more than they gave, and what is spent already is owed."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from brands.models.tenants import Brand
from campaigns.intake.payloads import PAYLOADS
from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from events import worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.orders import CreditedOrder, OrderReturn
from loyalty.points import accounts, orders
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ten_percent(brand):
    return factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")


def spend(brand, customer, points):
    factories.redemption(customer, factories.reward(brand, cost=points))


@pytest.mark.parametrize("give_back", [shop.give_back, shop.cancel])
def test_a_whole_order_takes_back_all_that_it_gave(brand, customer, give_back):
    shop.buy(brand, customer, subtotal="99.00")

    event = give_back(brand, customer)

    assert (event.status, event.outcome["points_reversed"], event.outcome["amount"]) == ("done", 10, 99)
    assert shop.numbers(brand, customer) == (0, 0, 0)
    assert shop.lines() == [("earned", "order:A-1", 10), ("reversed", "return:A-1:whole", 10)]
    assert shop.held_by(brand, customer).lifetime == 0


def test_several_partial_returns_take_back_exactly_what_was_given(brand, customer):
    shop.buy(brand, customer, subtotal="100.00")

    taken = [
        shop.give_back(brand, customer, return_id=f"R-{n}", amount=amount).outcome["points_reversed"]
        for n, amount in enumerate(["33.33", "33.33", "33.33", "0.01"])
    ]

    assert taken == [3, 4, 3, 0]
    assert shop.numbers(brand, customer) == (0, 0, 0)


def test_the_rest_of_an_order_can_be_cancelled(brand, customer):
    shop.buy(brand, customer, subtotal="100.00")
    shop.give_back(brand, customer, return_id="R-1", amount="15.00")

    assert shop.cancel(brand, customer).outcome["points_reversed"] == 8
    assert shop.numbers(brand, customer) == (0, 0, 0)


def test_items_cost_what_they_cost_after_the_discount(brand, customer):
    bought = [
        {"productId": 1, "sku": "HAT", "quantity": 2, "unitPrice": "30.00"},
        {"sku": "BAG", "quantity": 1, "unitPrice": "40.00"},
    ]
    shop.buy(brand, customer, subtotal="100.00", discount="50.00", items=bought)

    one_hat = shop.give_back(brand, customer, return_id="R-1", items=[{"sku": "HAT", "quantity": 1}])
    bag = shop.give_back(brand, customer, return_id="R-2", items=[{"sku": "BAG", "quantity": 1}])
    too_many = shop.give_back(brand, customer, return_id="R-3", items=[{"sku": "HAT", "quantity": 2}])
    last_hat = shop.give_back(brand, customer, return_id="R-4", items=[{"sku": "HAT", "quantity": 1}])

    assert [each.outcome["amount"] for each in (one_hat, bag, last_hat)] == [15, 20, 15]
    assert [each.outcome["points_reversed"] for each in (one_hat, bag, last_hat)] == [2, 2, 1]
    assert too_many.outcome["error"] == "RETURN_EXCEEDS_ORDER"
    assert too_many.outcome["details"] == {"field": "items", "left": 1, "item": "HAT"}
    assert shop.numbers(brand, customer) == (0, 0, 0)


@pytest.mark.parametrize(
    ("return_fields", "left"),
    [
        ({"return_id": "R-2", "amount": "60.01"}, {"field": "amount", "left": 60}),
        (
            {"return_id": "R-2", "items": [{"sku": "SHOE", "quantity": 1}]},
            {"field": "items", "left": 0, "item": "SHOE"},
        ),
    ],
)
def test_more_than_was_bought_is_rejected_with_what_is_left(brand, customer, return_fields, left):
    shop.buy(brand, customer, subtotal="100.00")
    shop.give_back(brand, customer, return_id="R-1", amount="40.00")

    event = shop.give_back(brand, customer, **return_fields)

    assert (event.status, event.outcome["error"]) == ("refused", "RETURN_EXCEEDS_ORDER")
    assert event.outcome["details"] == left
    assert shop.numbers(brand, customer) == (6, 0, 0)


def test_a_whole_return_of_what_is_gone_is_rejected(brand, customer):
    shop.buy(brand, customer)
    shop.cancel(brand, customer)

    event = shop.give_back(brand, customer, return_id="R-9")

    assert (event.status, event.outcome["error"]) == ("refused", "RETURN_EXCEEDS_ORDER")


def test_the_same_return_under_another_event_changes_nothing(brand, customer):
    shop.buy(brand, customer)
    first = shop.give_back(brand, customer, return_id="R-1", amount="50.00")

    again = shop.give_back(brand, customer, return_id="R-1", amount="50.00")
    other = shop.give_back(brand, customer, return_id="R-1", amount="20.00")

    assert again.outcome == first.outcome
    assert other.outcome["error"] == "RETURN_ID_REUSED"
    assert shop.numbers(brand, customer) == (5, 0, 0)


def test_another_currency_is_rejected(brand, customer):
    shop.buy(brand, customer)
    payload = shop.return_payload()
    payload["order"]["currency"] = "USD"

    event = shop.report(brand, customer, "order-returned", payload)

    assert event.outcome["details"] == {"field": "order.currency", "accepted": "EUR"}


def test_an_order_of_somebody_else_is_rejected(brand, customer):
    shop.buy(brand, customer)

    event = shop.give_back(brand, factories.customer(brand))

    assert (event.status, event.outcome["error"]) == ("refused", "ORDER_ALREADY_CREDITED")
    assert shop.numbers(brand, customer) == (10, 0, 0)


def test_an_order_of_another_brand_is_unknown(brand, customer):
    elsewhere = factories.brand()
    shop.buy(brand, customer)

    event = shop.give_back(elsewhere, factories.customer(elsewhere))

    assert event.status == "pending"
    assert OrderReturn.objects.get().brand == elsewhere


# --- Owed ------------------------------------------------------------------------------------------------------------


def test_what_is_spent_is_owed_and_settled_by_the_next_points(brand, customer):
    shop.buy(brand, customer)
    spend(brand, customer, 8)
    shop.give_back(brand, customer)
    assert shop.numbers(brand, customer) == (0, 0, 8)

    part = shop.buy(brand, customer, "A-2", subtotal="50.00")
    assert (part.outcome["points_earned"], part.outcome["points_settled"], part.outcome["new_balance"]) == (5, 5, 0)
    assert shop.numbers(brand, customer) == (0, 0, 3)
    rest = shop.buy(brand, customer, "A-3", subtotal="50.00")

    assert rest.outcome["new_balance"] == 2
    assert shop.numbers(brand, customer) == (2, 0, 0)
    assert shop.held_by(brand, customer).lifetime == 10


def test_points_by_hand_and_from_a_cancelled_redemption_settle_too(brand, customer):
    shop.buy(brand, customer)
    spend(brand, customer, 10)
    shop.give_back(brand, customer)

    factories.points(customer, brand, 4)

    assert shop.numbers(brand, customer) == (0, 0, 6)
    assert shop.lines()[-1][0] == "reversed"


def test_a_return_of_an_order_that_gave_nothing_takes_nothing(brand, customer):
    shop.buy(brand, customer, subtotal="1.00")

    event = shop.give_back(brand, customer)

    assert (event.status, event.outcome["points_reversed"]) == ("done", 0)
    assert shop.numbers(brand, customer) == (0, 0, 0)


# --- Before the order ------------------------------------------------------------------------------------------------


def test_a_return_before_its_order_waits_for_it(brand, customer):
    event = shop.give_back(brand, customer, return_id="R-1", amount="50.00")
    assert event.status == "pending"
    assert event.give_up_at > timezone.now() + timedelta(hours=72)
    assert shop.numbers(brand, customer) == (0, 0, 0)

    shop.buy(brand, customer)
    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.outcome["points_reversed"]) == ("done", 5)
    assert shop.numbers(brand, customer) == (5, 0, 0)


def test_a_return_whose_order_never_comes_is_rejected(brand, customer):
    event = shop.give_back(brand, customer)
    Event.objects.filter(pk=event.pk).update(time=timezone.now() - timedelta(hours=73), due_at=timezone.now())

    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.outcome["error"]) == ("refused", "ORDER_UNKNOWN")
    assert OrderReturn.objects.get().status == "rejected"


# --- Levels and campaigns --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "level"), [("retain", "Silver"), ("recompute", "Bronze")])
def test_the_brand_says_what_becomes_of_the_level(brand, customer, policy, level):
    Brand.objects.filter(pk=brand.pk).update(after_return=policy)
    factories.level(brand, "Silver", 10)
    shop.buy(brand, customer)
    assert shop.held_by(brand, customer).current_level == "Silver"

    shop.give_back(brand, customer, return_id="R-1", amount="50.00")

    account = shop.held_by(brand, customer)
    assert (account.current_level, account.lifetime) == (level, 5)


@pytest.mark.parametrize(("policy", "progress", "waiting"), [("retain", 2, 1), ("recompute", 1, 0)])
def test_the_brand_says_what_becomes_of_progress(brand, customer, policy, progress, waiting):
    Brand.objects.filter(pk=brand.pk).update(after_return=policy)
    campaign = factories.campaign(brand, type="order")
    factories.milestone(campaign, 2, auto_claim=False)
    shop.buy(brand, customer, "A-1")
    shop.buy(brand, customer, "A-2")

    shop.give_back(brand, customer, "A-2", return_id="R-1", amount="10.00")
    assert UserLoyaltyCampaign.objects.get().progress == 2
    shop.give_back(brand, customer, "A-2")

    shop.held_by(brand, customer)
    assert UserLoyaltyCampaign.objects.get().progress == progress
    assert RewardClaim.objects.count() == waiting


# --- Bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({"type": "order-return", "order": {"orderId": "A 1"}}, "order"),
        ({"type": "order-return"}, "order"),
        ({"type": "order-return", "order": {"orderId": "A"}, "amount": 5}, "returnId"),
        ({"type": "order-return", "order": {"orderId": "A"}, "returnId": "R", "amount": 0}, "amount"),
        ({"type": "order-return", "order": {"orderId": "A"}, "returnId": "R", "amount": -5}, "amount"),
        ({"type": "order-return", "order": {"orderId": "A"}, "returnId": "R", "items": [{"quantity": 1}]}, "items"),
        (
            {
                "type": "order-return",
                "order": {"orderId": "A"},
                "returnId": "R",
                "amount": 5,
                "items": [{"sku": "HAT", "quantity": 1}],
            },
            "items",
        ),
        ({"type": "order-return", "order": {"orderId": "A"}, "returnId": "R" * 41}, "returnId"),
    ],
)
def test_a_return_that_makes_no_sense_names_the_field(payload, field):
    with pytest.raises(ValidationError) as error:
        PAYLOADS["order-returned"].parse(payload)

    assert field in error.value.detail


def test_an_erased_customers_returns_are_the_pseudonyms(brand, customer):
    shop.buy(brand, customer)
    shop.give_back(brand, customer, return_id="R-1", amount="5.00")
    heir = factories.customer(brand)
    UserPoints.objects.filter(user=heir).delete()

    orders.reassign_to_pseudonym(user_id=customer.pk, brand_id=brand.pk, to=heir.pk)
    accounts.reassign_to_pseudonym(user_id=customer.pk, brand_id=brand.pk, to=heir.pk, at=timezone.now())

    assert (OrderReturn.objects.get().user, CreditedOrder.objects.get().user) == (heir, heir)
    shop.held_by(brand, heir)
