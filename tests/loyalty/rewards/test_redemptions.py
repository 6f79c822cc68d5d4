"""Redeeming points for rewards, and undoing it, over the API."""

from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.utils import timezone

from core import json_values
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.rewards import Redemption, Reward
from loyalty.rewards import cancellation, till
from tests.loyalty.integrations import webhooks
from tests.loyalty.rewards.conftest import audit_context, balance, issue_pass, undo
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.usefixtures("consistent_ledger")


def redeem(customer_api, reward, key=None):
    return customer_api.post(f"customer/loyalty/rewards/{reward.pk}/redeem", idempotency_key=key or str(uuid4()))


def test_reward_is_redeemed_for_points(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, name="A mug", cost=12.5, stock=3, code_days=10)

    response = redeem(customer_api, reward)

    redemption = Redemption.objects.get()
    assert response.status_code == 201
    assert response.json()["data"] == {
        "redemption_id": redemption.pk,
        "code": "-".join(redemption.code[start : start + 4] for start in (0, 4, 8, 12)),
        "is_partner_code": False,
        "cost": 12.5,
        "new_balance": 17.5,
        "expires_at": (redemption.created_at + timedelta(days=10))
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z"),
        "undo_until": json_values.iso(redemption.created_at + timedelta(minutes=5)),
    }
    entry = LoyaltyTransaction.objects.get(reason="redeemed")
    assert (entry.reason_id, entry.points_redeemed, entry.note) == (
        f"redeem:{redemption.pk}",
        Decimal("12.5"),
        "Redeemed: A mug",
    )
    assert (balance(customer), Reward.objects.get().stock) == (Decimal("17.5"), 2)


def test_redemption_publishes_a_balance_event_for_a_member_with_a_pass(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    issue_pass(customer, brand)

    redeem(customer_api, factories.reward(brand, cost=10))

    event = Event.objects.get(detail_type="balance-changed")
    assert event.status == "pending"
    assert event.detail["arguments"] == {"brand_id": brand.pk, "user_id": customer.pk}
    assert event.detail["payload"]["points"] == 20
    assert event.detail["payload"]["cause"] == f"redeem:{Redemption.objects.get().pk}"


def test_balance_events_of_a_member_without_a_pass_are_ignored(customer_api, brand, customer):
    factories.points(customer, brand, 30)

    redeem(customer_api, factories.reward(brand, cost=10))
    cancellation.cancel(redemption=Redemption.objects.get(), audit_context=audit_context(brand))

    assert [event.status for event in Event.objects.filter(detail_type="balance-changed")] == ["ignored"] * 2


def test_redemption_publishes_a_webhook_event(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, cost=10)
    webhooks.endpoint(brand, "https://hooks.example.com/x", ["reward.redeemed"])

    redeem(customer_api, reward)

    payload = Event.objects.get(detail_type="announce").detail["payload"]
    assert payload["type"] == "reward.redeemed"
    assert payload["data"] == {
        "user_id": customer.pk,
        "redemption_id": Redemption.objects.get().pk,
        "reward_id": reward.pk,
        "points": 10,
        "new_balance": 20,
    }


def test_repeated_key_gets_the_same_response_and_costs_once(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, cost=10)

    first, second = redeem(customer_api, reward, "key"), redeem(customer_api, reward, "key")

    assert first.json() == second.json()
    assert balance(customer) == 20


def test_repeated_key_with_another_reward_is_rejected(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    redeem(customer_api, factories.reward(brand), "key")

    assert error(redeem(customer_api, factories.reward(brand), "key")) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_key_can_be_used_again_after_an_error(customer_api, brand, customer):
    reward = factories.reward(brand, cost=10)
    assert error(redeem(customer_api, reward, "key")) == (409, "NOT_ENOUGH_POINTS")
    factories.points(customer, brand, 10)

    assert redeem(customer_api, reward, "key").status_code == 201


def test_idempotency_key_is_required(customer_api, brand):
    response = customer_api.post(f"customer/loyalty/rewards/{factories.reward(brand).pk}/redeem")

    assert error(response) == (400, "VALIDATION_ERROR")


def test_unavailable_reward_is_rejected_with_its_reason(customer_api, brand, customer, subtests):
    factories.points(customer, brand, 30)
    gold = factories.level(brand, "Gold", 500)
    now = timezone.now()
    for expected_error, terms in {
        "NOT_ENOUGH_POINTS": {"cost": 30.01},
        "OUT_OF_STOCK": {"stock": 0},
        "LEVEL_TOO_LOW": {"minimum_level": gold},
        "REWARD_NOT_AVAILABLE": {"valid_from": now + timedelta(hours=1)},
    }.items():
        with subtests.test(expected_error):
            assert error(redeem(customer_api, factories.reward(brand, **terms))) == (409, expected_error)
    for terms in ({"valid_until": now}, {"is_active": False}):
        assert error(redeem(customer_api, factories.reward(brand, **terms))) == (409, "REWARD_NOT_AVAILABLE")
    assert (balance(customer), Redemption.objects.count()) == (30, 0)


def test_error_has_the_missing_points(customer_api, brand, customer):
    factories.points(customer, brand, 30)

    assert redeem(customer_api, factories.reward(brand, cost=42.5)).json()["details"] == {"missing": 12.5}


def test_limit_per_member_excludes_cancelled_redemptions(customer_api, brand, customer):
    factories.points(customer, brand, 100)
    reward = factories.reward(brand, limit_per_member=1)
    redeem(customer_api, reward)
    assert error(redeem(customer_api, reward)) == (409, "REDEMPTION_LIMIT_REACHED")
    cancellation.cancel(redemption=Redemption.objects.get(), audit_context=audit_context(brand))

    assert redeem(customer_api, reward).status_code == 201


def test_unknown_and_foreign_rewards_are_not_found(customer_api, brand, customer):
    factories.points(customer, brand, 100)
    for reward_id in (factories.reward(factories.brand()).pk, 0, 10**18 - 1):
        assert error(customer_api.post(f"customer/loyalty/rewards/{reward_id}/redeem", idempotency_key="k")) == (
            404,
            "REWARD_NOT_FOUND",
        )


def test_customer_who_is_not_enrolled_has_not_enough_points(api, brand):
    customer_api = api.as_customer(factories.customer(brand, enrolled=False))

    assert error(redeem(customer_api, factories.reward(brand))) == (409, "NOT_ENOUGH_POINTS")
    assert error(redeem(customer_api, factories.reward(factories.brand()))) == (404, "REWARD_NOT_FOUND")


def test_blocked_member_or_inactive_programme_cannot_redeem(customer_api, brand, customer):
    factories.points(customer, brand, 100)
    UserPoints.objects.filter(user=customer).update(status="blocked")
    assert error(redeem(customer_api, factories.reward(brand))) == (403, "MEMBER_BLOCKED")
    brand.loyalty_active = False
    brand.save(update_fields=["loyalty_active"])

    assert error(redeem(customer_api, factories.reward(brand))) == (403, "LOYALTY_DISABLED")


def test_redemption_needs_eight_queries(customer_api, brand, customer, django_assert_num_queries):
    factories.points(customer, brand, 100)
    reward = factories.reward(brand, stock=5)
    redeem(customer_api, reward)

    with django_assert_num_queries(8):  # user, account; savepoint, lock, snapshot, write, read back, release
        redeem(customer_api, reward)


def test_redemption_is_undone_once(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, name="A mug", cost=12.5, stock=3)
    redemption = factories.redemption(customer, reward)

    first, second = undo(customer_api, redemption), undo(customer_api, redemption)

    assert first.json() == second.json()
    assert first.json()["data"] == {"redemption_id": redemption.pk, "points": 12.5, "new_balance": 30}
    reward.refresh_from_db()
    assert (reward.stock, balance(customer)) == (3, 30)
    entry = LoyaltyTransaction.objects.get(reason_id=f"redeem-undo:{redemption.pk}")
    assert (entry.reason, entry.points_earned) == ("earned", Decimal("12.5"))
    assert Redemption.objects.get().status == "cancelled"


def test_redemption_can_be_undone_for_five_minutes(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    data = redeem(customer_api, factories.reward(brand)).json()["data"]
    redemption = Redemption.objects.get()
    undo_until = redemption.created_at + timedelta(minutes=5)

    [row] = customer_api.get("customer/loyalty/redemptions").json()["data"]
    assert row["undo_until"] == data["undo_until"] == json_values.iso(undo_until)

    Redemption.objects.update(created_at=timezone.now() - timedelta(minutes=5))
    assert customer_api.get("customer/loyalty/redemptions").json()["data"][0]["undo_until"] is None
    assert error(undo(customer_api, redemption)) == (409, "UNDO_NOT_POSSIBLE")
    assert (Redemption.objects.get().status, balance(customer)) == ("issued", 20)


def test_used_redemption_cannot_be_undone(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    redemption = factories.redemption(customer, factories.reward(brand))
    till.use(redemption=redemption, at=timezone.now(), request=uuid4())

    assert error(undo(customer_api, redemption)) == (409, "REDEMPTION_USED")
    assert balance(customer) == 20


def test_redemption_of_another_member_cannot_be_undone(api, customer_api, brand, customer):
    factories.points(customer, brand, 30)
    redemption = factories.redemption(customer, factories.reward(brand))
    other_member, foreign_customer = factories.customer(brand), factories.customer(factories.brand())

    for other_customer in (other_member, foreign_customer):
        assert error(undo(api.as_customer(other_customer), redemption)) == (404, "NOT_FOUND")
    assert balance(customer) == 20


def test_blocked_member_cannot_undo_a_redemption(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    redemption = factories.redemption(customer, factories.reward(brand))
    UserPoints.objects.update(status="blocked")

    assert error(undo(customer_api, redemption)) == (403, "MEMBER_BLOCKED")
