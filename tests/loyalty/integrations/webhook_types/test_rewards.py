"""Webhook events about rewards."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from loyalty.rewards import cancellation, till
from tests.loyalty.integrations.webhook_types.support import staff_context
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


def redeem_reward(customer, brand):
    factories.points(customer, brand, 30)
    return factories.redemption(customer, factories.reward(brand, cost=10))


def test_reward_redeemed(brand, customer, received):
    redemption = redeem_reward(customer, brand)

    assert received("reward.redeemed") == [
        {
            "user_id": customer.pk,
            "redemption_id": redemption.pk,
            "reward_id": redemption.reward_id,
            "points": 10,
            "new_balance": 20,
        }
    ]


def test_reward_used(brand, customer, received):
    redemption = redeem_reward(customer, brand)
    request = uuid4()
    for _again in range(2):
        till.use(redemption=redemption, at=timezone.now(), request=request)

    [data] = received("reward.used")
    assert data.pop("used_at")
    assert data == {
        "user_id": customer.pk,
        "redemption_id": redemption.pk,
        "reward_id": redemption.reward_id,
        "points": 10,
    }


def test_reward_used_is_sent_again_after_an_undone_use(brand, customer, received):
    redemption = redeem_reward(customer, brand)
    request = uuid4()
    till.use(redemption=redemption, at=timezone.now(), request=request)
    cancellation.undo_use(redemption=redemption, audit_context=staff_context())
    till.use(redemption=redemption, at=timezone.now() + timedelta(seconds=1), request=request)

    assert len(received("reward.used")) == 2


def test_reward_cancelled(brand, customer, received):
    redemption = redeem_reward(customer, brand)
    cancellation.cancel(redemption=redemption, audit_context=staff_context())

    assert received("reward.cancelled") == [
        {
            "user_id": customer.pk,
            "redemption_id": redemption.pk,
            "reward_id": redemption.reward_id,
            "points": 10,
            "new_balance": 30,
        }
    ]
