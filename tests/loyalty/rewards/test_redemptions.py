"""Taking rewards for points, and giving them back: over the API."""

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
from tests.loyalty.rewards.conftest import balance, deed, hold_a_pass, undo
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.usefixtures("books_are_right")


def redeem(customer_api, reward, key=None):
    return customer_api.post(f"customer/loyalty/rewards/{reward.pk}/redeem", idempotency_key=key or str(uuid4()))


def test_reward_is_taken_for_points(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, name="A mug", cost=12.5, stock=3, code_days=10)

    response = redeem(customer_api, reward)

    made = Redemption.objects.get()
    assert response.status_code == 201
    assert response.json()["data"] == {
        "redemption_id": made.pk,
        "code": "-".join(made.code[start : start + 4] for start in (0, 4, 8, 12)),
        "is_partner_code": False,
        "cost": 12.5,
        "new_balance": 17.5,
        "expires_at": (made.created_at + timedelta(days=10)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "undo_until": json_values.iso(made.created_at + timedelta(minutes=5)),
    }
    line = LoyaltyTransaction.objects.get(reason="redeemed")
    assert (line.reason_id, line.points_redeemed, line.note) == (
        f"redeem:{made.pk}",
        Decimal("12.5"),
        "Redeemed: A mug",
    )
    assert (balance(customer), Reward.objects.get().stock) == (Decimal("17.5"), 2)


def test_wallets_are_told_of_the_new_balance(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    hold_a_pass(customer, brand)

    redeem(customer_api, factories.reward(brand, cost=10))

    event = Event.objects.get(detail_type="balance-changed")
    assert event.status == "pending"
    assert event.detail["arguments"] == {"brand_id": brand.pk, "user_id": customer.pk}
    assert event.detail["payload"]["points"] == 20
    assert event.detail["payload"]["cause"] == f"redeem:{Redemption.objects.get().pk}"


def test_without_a_pass_nobody_works_on_a_new_balance(customer_api, brand, customer):
    factories.points(customer, brand, 30)

    redeem(customer_api, factories.reward(brand, cost=10))
    cancellation.cancel(redemption=Redemption.objects.get(), audit_context=deed(brand))

    assert [event.status for event in Event.objects.filter(detail_type="balance-changed")] == ["ignored"] * 2


def test_webhooks_that_listen_are_told(customer_api, brand, customer):
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


def test_same_key_is_answered_the_same_and_costs_once(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, cost=10)

    first, second = redeem(customer_api, reward, "key"), redeem(customer_api, reward, "key")

    assert first.json() == second.json()
    assert balance(customer) == 20


def test_same_key_for_another_reward_is_refused(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    redeem(customer_api, factories.reward(brand), "key")

    assert error(redeem(customer_api, factories.reward(brand), "key")) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_refusal_leaves_the_key_usable(customer_api, brand, customer):
    reward = factories.reward(brand, cost=10)
    assert error(redeem(customer_api, reward, "key")) == (409, "NOT_ENOUGH_POINTS")
    factories.points(customer, brand, 10)

    assert redeem(customer_api, reward, "key").status_code == 201


def test_key_is_required(customer_api, brand):
    response = customer_api.post(f"customer/loyalty/rewards/{factories.reward(brand).pk}/redeem")

    assert error(response) == (400, "VALIDATION_ERROR")


def test_what_cannot_be_had_says_why_and_changes_nothing(customer_api, brand, customer, subtests):
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


def test_missing_points_are_told(customer_api, brand, customer):
    factories.points(customer, brand, 30)

    assert redeem(customer_api, factories.reward(brand, cost=42.5)).json()["details"] == {"missing": 12.5}


def test_limit_per_member_counts_what_was_not_cancelled(customer_api, brand, customer):
    factories.points(customer, brand, 100)
    reward = factories.reward(brand, limit_per_member=1)
    redeem(customer_api, reward)
    assert error(redeem(customer_api, reward)) == (409, "REDEMPTION_LIMIT_REACHED")
    cancellation.cancel(redemption=Redemption.objects.get(), audit_context=deed(brand))

    assert redeem(customer_api, reward).status_code == 201


def test_unknown_and_other_brands_rewards_are_not_found(customer_api, brand, customer):
    factories.points(customer, brand, 100)
    for pk in (factories.reward(factories.brand()).pk, 0, 10**18 - 1):
        assert error(customer_api.post(f"customer/loyalty/rewards/{pk}/redeem", idempotency_key="k")) == (
            404,
            "REWARD_NOT_FOUND",
        )


def test_who_is_no_member_has_no_points(api, brand):
    customer_api = api.as_customer(factories.customer(brand, enrolled=False))

    assert error(redeem(customer_api, factories.reward(brand))) == (409, "NOT_ENOUGH_POINTS")
    assert error(redeem(customer_api, factories.reward(factories.brand()))) == (404, "REWARD_NOT_FOUND")


def test_blocked_members_and_switched_off_programmes_redeem_nothing(customer_api, brand, customer):
    factories.points(customer, brand, 100)
    UserPoints.objects.filter(user=customer).update(status="blocked")
    assert error(redeem(customer_api, factories.reward(brand))) == (403, "MEMBER_BLOCKED")
    brand.loyalty_active = False
    brand.save(update_fields=["loyalty_active"])

    assert error(redeem(customer_api, factories.reward(brand))) == (403, "LOYALTY_DISABLED")


def test_redemption_takes_few_statements(customer_api, brand, customer, django_assert_num_queries):
    factories.points(customer, brand, 100)
    reward = factories.reward(brand, stock=5)
    redeem(customer_api, reward)

    with django_assert_num_queries(8):  # user, account; savepoint, lock, facts, write, read back, release
        redeem(customer_api, reward)


def test_reward_taken_by_mistake_is_given_back_once(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, name="A mug", cost=12.5, stock=3)
    taken = factories.redemption(customer, reward)

    first, second = undo(customer_api, taken), undo(customer_api, taken)

    assert first.json() == second.json()
    assert first.json()["data"] == {"redemption_id": taken.pk, "points": 12.5, "new_balance": 30}
    reward.refresh_from_db()
    assert (reward.stock, balance(customer)) == (3, 30)
    line = LoyaltyTransaction.objects.get(reason_id=f"redeem-undo:{taken.pk}")
    assert (line.reason, line.points_earned) == ("earned", Decimal("12.5"))
    assert Redemption.objects.get().status == "cancelled"


def test_undo_is_offered_for_five_minutes(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    answer = redeem(customer_api, factories.reward(brand)).json()["data"]
    taken = Redemption.objects.get()
    end = taken.created_at + timedelta(minutes=5)

    [row] = customer_api.get("customer/loyalty/redemptions").json()["data"]
    assert row["undo_until"] == answer["undo_until"] == json_values.iso(end)

    Redemption.objects.update(created_at=timezone.now() - timedelta(minutes=5))
    assert customer_api.get("customer/loyalty/redemptions").json()["data"][0]["undo_until"] is None
    assert error(undo(customer_api, taken)) == (409, "UNDO_NOT_POSSIBLE")
    assert (Redemption.objects.get().status, balance(customer)) == ("issued", 20)


def test_used_code_cannot_be_given_back(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    taken = factories.redemption(customer, factories.reward(brand))
    till.use(redemption=taken, at=timezone.now(), request=uuid4())

    assert error(undo(customer_api, taken)) == (409, "REDEMPTION_USED")
    assert balance(customer) == 20


def test_nobody_gives_back_what_others_took(api, customer_api, brand, customer):
    factories.points(customer, brand, 30)
    taken = factories.redemption(customer, factories.reward(brand))
    colleague, elsewhere = factories.customer(brand), factories.customer(factories.brand())

    for other in (colleague, elsewhere):
        assert error(undo(api.as_customer(other), taken)) == (404, "NOT_FOUND")
    assert balance(customer) == 20


def test_blocked_member_gives_nothing_back(customer_api, brand, customer):
    factories.points(customer, brand, 30)
    taken = factories.redemption(customer, factories.reward(brand))
    UserPoints.objects.update(status="blocked")

    assert error(undo(customer_api, taken)) == (403, "MEMBER_BLOCKED")
