"""Returned orders: their points are reversed, never more than they earned, and points already spent are owed."""

from decimal import Decimal
from uuid import uuid4

import pytest
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from brands.audit_log import AuditContext
from brands.models.tenants import Brand
from campaigns.intake.payloads import PAYLOADS
from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from loyalty.models.accounts import UserPoints
from loyalty.models.orders import CreditedOrder, OrderReturn
from loyalty.points import accounts, adjustments, orders
from loyalty.rewards import cancellation
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ten_percent_rule(brand):
    return factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")


def spend(brand, customer, points):
    return factories.redemption(customer, factories.reward(brand, cost=points))


@pytest.mark.parametrize("return_whole_order", [shop.return_order, shop.cancel])
def test_returning_a_whole_order_reverses_all_its_points(brand, customer, return_whole_order):
    shop.buy(brand, customer, subtotal="99.00")

    event = return_whole_order(brand, customer)

    assert (event.status, event.outcome["points_reversed"], event.outcome["amount"]) == ("done", 10, 99)
    assert shop.point_totals(brand, customer) == (0, 0, 0)
    assert shop.ledger_entries() == [("earned", "order:A-1", 10), ("reversed", "return:A-1:whole", 10)]
    assert shop.checked_account(brand, customer).lifetime == 0


def test_partial_returns_reverse_exactly_the_points_earned(brand, customer):
    shop.buy(brand, customer, subtotal="100.00")

    points_reversed = [
        shop.return_order(brand, customer, return_id=f"R-{n}", amount=amount).outcome["points_reversed"]
        for n, amount in enumerate(["33.33", "33.33", "33.33", "0.01"])
    ]

    assert points_reversed == [3, 4, 3, 0]
    assert shop.point_totals(brand, customer) == (0, 0, 0)


def test_remainder_of_an_order_can_be_cancelled(brand, customer):
    shop.buy(brand, customer, subtotal="100.00")
    shop.return_order(brand, customer, return_id="R-1", amount="15.00")

    assert shop.cancel(brand, customer).outcome["points_reversed"] == 8
    assert shop.point_totals(brand, customer) == (0, 0, 0)


def test_returned_items_count_at_their_discounted_price(brand, customer):
    items = [
        {"productId": 1, "sku": "HAT", "quantity": 2, "unitPrice": "30.00"},
        {"sku": "BAG", "quantity": 1, "unitPrice": "40.00"},
    ]
    shop.buy(brand, customer, subtotal="100.00", discount="50.00", items=items)

    one_hat = shop.return_order(brand, customer, return_id="R-1", items=[{"sku": "HAT", "quantity": 1}])
    bag = shop.return_order(brand, customer, return_id="R-2", items=[{"sku": "BAG", "quantity": 1}])
    too_many = shop.return_order(brand, customer, return_id="R-3", items=[{"sku": "HAT", "quantity": 2}])
    last_hat = shop.return_order(brand, customer, return_id="R-4", items=[{"sku": "HAT", "quantity": 1}])

    assert [each.outcome["amount"] for each in (one_hat, bag, last_hat)] == [15, 20, 15]
    assert [each.outcome["points_reversed"] for each in (one_hat, bag, last_hat)] == [2, 2, 1]
    assert too_many.outcome["error"] == "RETURN_EXCEEDS_ORDER"
    assert too_many.outcome["details"] == {"field": "items", "left": 1, "item": "HAT"}
    assert shop.point_totals(brand, customer) == (0, 0, 0)


def test_item_cannot_be_returned_again_under_its_other_identifier(brand, customer):
    items = [{"productId": 1, "sku": "HAT", "quantity": 1, "unitPrice": "50.00"}]
    shop.buy(brand, customer, subtotal="100.00", items=[*items, {**items[0], "productId": 2, "sku": "BAG"}])
    twice = [{"sku": "HAT", "quantity": 1}, {"productId": 1, "quantity": 1}]

    at_once = shop.return_order(brand, customer, return_id="R-1", items=twice)
    by_sku = shop.return_order(brand, customer, return_id="R-2", items=twice[:1])
    by_product = shop.return_order(brand, customer, return_id="R-3", items=twice[1:])

    assert at_once.outcome["details"] == {"field": "items", "left": 1, "item": "HAT"}
    assert by_sku.outcome["amount"] == 50
    assert by_product.outcome["details"] == {"field": "items", "left": 0, "item": "1"}
    assert shop.point_totals(brand, customer) == (5, 0, 0)


SHIRTS, SMALL_SHIRT = {"productId": 1, "quantity": 2}, {"sku": "A-S", "quantity": 1}


@pytest.mark.parametrize(
    ("returns", "left"), [([[SHIRTS], [SMALL_SHIRT]], 0), ([[SHIRTS, SMALL_SHIRT]], 2), ([[SMALL_SHIRT], [SHIRTS]], 1)]
)
def test_sku_and_its_product_are_not_returned_more_often_than_bought(brand, customer, returns, left):
    items = [
        {"productId": 1, "sku": "A-S", "quantity": 1, "unitPrice": "20.00"},
        {"productId": 1, "sku": "A-L", "quantity": 1, "unitPrice": "20.00"},
        {"productId": 2, "quantity": 1, "unitPrice": "60.00"},
    ]
    shop.buy(brand, customer, subtotal="100.00", items=items)

    *accepted, rejected = [
        shop.return_order(brand, customer, return_id=f"R-{number}", items=each) for number, each in enumerate(returns)
    ]

    assert all("error" not in each.outcome for each in accepted)
    assert rejected.outcome["error"] == "RETURN_EXCEEDS_ORDER"
    assert rejected.outcome["details"]["left"] == left


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
def test_return_of_more_than_was_bought_is_rejected_with_the_remainder(brand, customer, return_fields, left):
    shop.buy(brand, customer, subtotal="100.00")
    shop.return_order(brand, customer, return_id="R-1", amount="40.00")

    event = shop.return_order(brand, customer, **return_fields)

    assert (event.status, event.outcome["error"]) == ("refused", "RETURN_EXCEEDS_ORDER")
    assert event.outcome["details"] == left
    assert shop.point_totals(brand, customer) == (6, 0, 0)


def test_return_of_a_fully_returned_order_is_rejected(brand, customer):
    shop.buy(brand, customer)
    shop.cancel(brand, customer)

    event = shop.return_order(brand, customer, return_id="R-9")

    assert (event.status, event.outcome["error"]) == ("refused", "RETURN_EXCEEDS_ORDER")


def test_return_reported_in_another_event_changes_nothing(brand, customer):
    shop.buy(brand, customer)
    first = shop.return_order(brand, customer, return_id="R-1", amount="50.00")

    again = shop.return_order(brand, customer, return_id="R-1", amount="50.00")
    other = shop.return_order(brand, customer, return_id="R-1", amount="20.00")

    assert again.outcome == first.outcome
    assert other.outcome["error"] == "RETURN_ID_REUSED"
    assert shop.point_totals(brand, customer) == (5, 0, 0)


def test_return_in_another_currency_is_rejected(brand, customer):
    shop.buy(brand, customer)
    payload = shop.return_payload()
    payload["order"]["currency"] = "USD"

    event = shop.report(brand, customer, "order-returned", payload)

    assert event.outcome["details"] == {"field": "order.currency", "accepted": "EUR"}


def test_return_of_another_customers_order_is_rejected(brand, customer):
    shop.buy(brand, customer)

    event = shop.return_order(brand, factories.customer(brand))

    assert (event.status, event.outcome["error"]) == ("refused", "ORDER_ALREADY_CREDITED")
    assert shop.point_totals(brand, customer) == (10, 0, 0)


def test_order_of_another_brand_is_unknown(brand, customer):
    other_brand = factories.brand()
    shop.buy(brand, customer)

    event = shop.return_order(other_brand, factories.customer(other_brand))

    assert event.status == "pending"
    assert OrderReturn.objects.get().brand == other_brand


# --- Owed ------------------------------------------------------------------------------------------------------------


def test_spent_points_are_owed_and_settled_by_the_next_points(brand, customer):
    shop.buy(brand, customer)
    spend(brand, customer, 8)
    shop.return_order(brand, customer)
    assert shop.point_totals(brand, customer) == (0, 0, 8)

    next_order = shop.buy(brand, customer, "A-2", subtotal="50.00")
    assert (
        next_order.outcome["points_earned"],
        next_order.outcome["points_settled"],
        next_order.outcome["new_balance"],
    ) == (5, 5, 0)
    assert shop.point_totals(brand, customer) == (0, 0, 3)
    last_order = shop.buy(brand, customer, "A-3", subtotal="50.00")

    assert last_order.outcome["new_balance"] == 2
    assert shop.point_totals(brand, customer) == (2, 0, 0)
    assert shop.checked_account(brand, customer).lifetime == 10


def test_points_credited_without_an_order_settle_points_owed(brand, customer):
    shop.buy(brand, customer)
    spend(brand, customer, 10)
    shop.return_order(brand, customer)

    factories.points(customer, brand, 4)

    assert shop.point_totals(brand, customer) == (0, 0, 6)
    assert shop.ledger_entries()[-1][0] == "reversed"


def test_points_added_by_staff_settle_points_owed(brand, customer):
    shop.buy(brand, customer)
    spend(brand, customer, 10)
    shop.return_order(brand, customer)

    adjusted = adjustments.adjust(
        account=factories.account(customer, brand),
        points=Decimal(14),
        key=uuid4(),
        audit_context=AuditContext(None, timezone.now(), reason="Sorry"),
    )

    assert adjusted.new_balance == 4
    assert shop.point_totals(brand, customer) == (4, 0, 0)
    assert [(reason, points) for reason, _id, points in shop.ledger_entries()[-2:]] == [
        ("earned", 14),
        ("reversed", 10),
    ]


def test_points_of_a_cancelled_redemption_settle_points_owed(brand, customer):
    shop.buy(brand, customer)
    redemption = spend(brand, customer, 8)
    shop.return_order(brand, customer)
    assert shop.point_totals(brand, customer) == (0, 0, 8)

    cancellation.cancel(redemption=redemption, audit_context=AuditContext(None, timezone.now(), "", "Broken"))

    assert shop.point_totals(brand, customer) == (0, 0, 0)
    assert [(reason, points) for reason, _id, points in shop.ledger_entries()[-2:]] == [("earned", 8), ("reversed", 8)]


def test_return_of_an_order_without_points_reverses_nothing(brand, customer):
    shop.buy(brand, customer, subtotal="1.00")

    event = shop.return_order(brand, customer)

    assert (event.status, event.outcome["points_reversed"]) == ("done", 0)
    assert shop.point_totals(brand, customer) == (0, 0, 0)


# --- Levels and campaigns --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "level"), [("retain", "Silver"), ("recompute", "Bronze")])
def test_brand_setting_decides_whether_a_return_lowers_the_level(brand, customer, policy, level):
    Brand.objects.filter(pk=brand.pk).update(after_return=policy)
    factories.level(brand, "Silver", 10)
    shop.buy(brand, customer)
    assert shop.checked_account(brand, customer).current_level == "Silver"

    shop.return_order(brand, customer, return_id="R-1", amount="50.00")

    account = shop.checked_account(brand, customer)
    assert (account.current_level, account.lifetime) == (level, 5)


@pytest.mark.parametrize(("policy", "progress", "claim_count"), [("retain", 2, 1), ("recompute", 1, 0)])
def test_brand_setting_decides_whether_a_return_reduces_progress(brand, customer, policy, progress, claim_count):
    Brand.objects.filter(pk=brand.pk).update(after_return=policy)
    campaign = factories.campaign(brand, type="order")
    factories.milestone(campaign, 2, auto_claim=False)
    shop.buy(brand, customer, "A-1")
    shop.buy(brand, customer, "A-2")

    shop.return_order(brand, customer, "A-2", return_id="R-1", amount="10.00")
    assert UserLoyaltyCampaign.objects.get().progress == 2
    shop.return_order(brand, customer, "A-2")

    shop.checked_account(brand, customer)
    assert UserLoyaltyCampaign.objects.get().progress == progress
    assert RewardClaim.objects.count() == claim_count


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
def test_invalid_return_payload_names_the_field(payload, field):
    with pytest.raises(ValidationError) as error:
        PAYLOADS["order-returned"].parse(payload)

    assert field in error.value.detail


def test_returns_of_an_erased_customer_belong_to_the_pseudonym(brand, customer):
    shop.buy(brand, customer)
    shop.return_order(brand, customer, return_id="R-1", amount="5.00")
    pseudonym = factories.customer(brand)
    UserPoints.objects.filter(user=pseudonym).delete()

    orders.reassign_to_pseudonym(user_id=customer.pk, brand_id=brand.pk, to=pseudonym.pk)
    accounts.reassign_to_pseudonym(user_id=customer.pk, brand_id=brand.pk, to=pseudonym.pk, at=timezone.now())

    assert (OrderReturn.objects.get().user, CreditedOrder.objects.get().user) == (pseudonym, pseudonym)
    shop.checked_account(brand, pseudonym)
