"""Returns and deliveries that arrive before their order wait for it, for three days."""

from datetime import timedelta

import pytest
from django.utils import timezone

from events import worker
from events.models import Event
from loyalty.models.orders import OrderReturn
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ten_percent_rule(brand):
    return factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")


def test_return_before_its_order_waits_for_the_order(brand, customer):
    event = shop.return_order(brand, customer, return_id="R-1", amount="50.00")
    assert event.status == "pending"
    assert event.give_up_at > timezone.now() + timedelta(hours=72)
    assert shop.point_totals(brand, customer) == (0, 0, 0)

    shop.buy(brand, customer)
    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.outcome["points_reversed"]) == ("done", 5)
    assert shop.point_totals(brand, customer) == (5, 0, 0)


def test_return_without_an_order_is_rejected_after_three_days(brand, customer):
    event = shop.return_order(brand, customer)
    Event.objects.filter(pk=event.pk).update(created_at=timezone.now() - timedelta(hours=73), due_at=timezone.now())

    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.outcome["error"]) == ("refused", "ORDER_UNKNOWN")
    assert OrderReturn.objects.get().status == "rejected"


@pytest.mark.parametrize("kind", ["order-returned", "order-delivered"])
def test_event_that_arrives_days_late_waits_for_its_order_too(brand, customer, kind):
    payload = {"type": kind, "order": {"orderId": "A-1"}}
    event = shop.report(brand, customer, kind, payload, at=timezone.now() - timedelta(days=4))

    assert event.status == "pending"
