"""Webhook events about points."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from brands.models.tenants import Brand
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import adjustments, expiry, transfers
from loyalty.points.level_periods import run
from loyalty.points.level_periods.raising import raise_level
from loyalty.rewards import undo
from tests.loyalty.integrations.webhook_types.support import staff_context
from tests.loyalty.integrations.webhooks import data_of, endpoint, send
from tests.support import factories
from tests.support import shop as hub

pytestmark = pytest.mark.django_db(transaction=True)


def adjust(customer, brand, points, key=None):
    account = factories.account(customer, brand)
    return adjustments.adjust(
        account=account, points=Decimal(points), key=key or uuid4(), audit_context=staff_context()
    )


def test_points_earned(brand, customer, received, deliver_events):
    scanning.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    deliver_events()

    [data] = received("points.earned")
    assert (data["user_id"], data["points_earned"], data["new_balance"]) == (customer.pk, 10, 10)


def test_level_reached(brand, customer, received):
    factories.level(brand, "Silver", 10)
    key = uuid4()
    adjust(customer, brand, 20, key)

    assert received("level.reached") == [
        {"user_id": customer.pk, "current_level": "Silver", "lifetime_points": 20, "cause": f"adjust:{key}"}
    ]


def earn_silver_until_june(brand, customer, points):
    """A member with Silver until the end of June, and `points` earned in the second quarter."""
    Brand.objects.filter(pk=brand.pk).update(level_period="quarter")
    brand.refresh_from_db()
    factories.level(brand, "Silver", 10)
    run.catch_up(at=datetime(2026, 1, 1, tzinfo=UTC))
    account = factories.account(customer, brand)
    for month, earned in ((2, 20), (5, points)):
        at = datetime(2026, month, 1, tzinfo=UTC)
        factories.points(customer, brand, earned, at=at)
        account.refresh_from_db()
        raise_level(
            brand=brand,
            account=account.pk,
            level=account.current_level,
            lifetime=account.lifetime,
            gained=earned,
            at=at,
        )
    run.catch_up(at=datetime(2026, 7, 1, tzinfo=UTC))


def test_level_renewed(brand, customer, received):
    earn_silver_until_june(brand, customer, 12)

    assert received("level.renewed") == [
        {
            "user_id": customer.pk,
            "level_before": "Silver",
            "current_level": "Silver",
            "period_points": 12,
            "level_until": "2026-09-30",
            "lifetime_points": 32,
            "cause": "level:2026-06-30",
        }
    ]


def test_level_lowered(brand, customer, received):
    earn_silver_until_june(brand, customer, 3)

    assert received("level.lowered") == [
        {
            "user_id": customer.pk,
            "level_before": "Silver",
            "current_level": "Bronze",
            "period_points": 3,
            "level_until": None,
            "lifetime_points": 23,
            "cause": "level:2026-06-30",
        }
    ]
    assert received("level.renewed") == []


def test_points_adjusted(brand, customer, received):
    keys = [uuid4(), uuid4()]
    added, deducted = adjust(customer, brand, 20, keys[0]), adjust(customer, brand, -5, keys[1])

    common = {"user_id": customer.pk, "note": "Sorry", "current_level": "Bronze", "lifetime_points": 20}
    adjusted = sorted(received("points.adjusted"), key=lambda data: -data["points_adjusted"])
    assert adjusted == [
        {
            **common,
            "points_adjusted": 20,
            "new_balance": 20,
            "transaction_id": str(added.transaction_id),
            "cause": f"adjust:{keys[0]}",
        },
        {
            **common,
            "points_adjusted": -5,
            "new_balance": 15,
            "transaction_id": str(deducted.transaction_id),
            "cause": f"adjust:{keys[1]}",
        },
    ]
    assert [each["points_earned"] for each in received("points.earned")] == [20]


def test_points_expired(shop):
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    brand = factories.brand(points_expire="days", points_expire_after=10)
    customer = factories.customer(brand)
    factories.points(customer, brand, 7, at=noon)
    factories.points(customer, brand, 3, at=noon + timedelta(days=9))
    endpoint(brand, shop)
    for _night in range(2):
        expiry.run(brand=brand, at=noon + timedelta(days=11))
    send()

    entry = LoyaltyTransaction.objects.get(reason="expired")
    assert data_of(shop, "points.expired") == [
        {
            "user_id": customer.pk,
            "points_expired": 7,
            "new_balance": 3,
            "transaction_id": str(entry.pk),
            "note": entry.note,
            "current_level": "",
            "cause": "expire:2026-01-12",
        }
    ]


def test_expiry_needs_the_same_query_count_for_1_and_30_members(shop):
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    counts = []
    for members in (1, 30):
        brand = factories.brand(points_expire="days", points_expire_after=10)
        for _each in range(members):
            factories.points(factories.customer(brand), brand, 5, at=noon)
        endpoint(brand, shop)
        with CaptureQueriesContext(connection) as queries:
            expiry.run(brand=brand, at=noon + timedelta(days=11))
        counts.append(len(queries))
        assert Event.objects.filter(brand=brand, detail__payload__type="points.expired").count() == members

    assert counts[0] == counts[1]


def test_points_transferred(brand, customer, received):
    Brand.objects.filter(pk=brand.pk).update(transfers_allowed=True)
    factories.points(customer, brand, 30)
    friend = factories.customer(brand)
    request = transfers.TransferRequest(
        brand.pk, customer.pk, factories.account(friend, brand).pk, Decimal(10), uuid4(), timezone.now()
    )
    transfer = transfers.transfer(request)
    transfers.transfer(request)

    sides = sorted(received("points.transferred"), key=lambda data: data["points_transferred"])
    transaction_ids = {entry.user_point.user_id: str(entry.pk) for entry in LoyaltyTransaction.objects.order_by("pk")}
    common = {"transfer_id": transfer.pk, "cause": f"transfer:{transfer.pk}"}
    assert [{name: each[name] for name in each if name != "current_level"} for each in sides] == [
        {
            "user_id": customer.pk,
            "points_transferred": -10,
            "new_balance": 20,
            "transaction_id": transaction_ids[customer.pk],
            "note": "Given to another member",
            "lifetime_points": 30,
            **common,
        },
        {
            "user_id": friend.pk,
            "points_transferred": 10,
            "new_balance": 10,
            "transaction_id": transaction_ids[friend.pk],
            "note": "Received from another member",
            "lifetime_points": 0,
            **common,
        },
    ]


def test_points_returned(brand, customer, received):
    factories.points(customer, brand, 30)
    redemption = factories.redemption(customer, factories.reward(brand, name="Mug", cost=10))
    undo.undo(brand_id=brand.pk, user_id=customer.pk, redemption_id=redemption.pk, at=timezone.now())
    undo.undo(brand_id=brand.pk, user_id=customer.pk, redemption_id=redemption.pk, at=timezone.now())

    entry = LoyaltyTransaction.objects.get(reason_id=f"redeem-undo:{redemption.pk}")
    assert received("points.returned") == [
        {
            "user_id": customer.pk,
            "points_returned": 10,
            "new_balance": 30,
            "transaction_id": str(entry.pk),
            "redemption_id": redemption.pk,
            "note": "Cancelled: Mug",
            "current_level": "Bronze",
            "lifetime_points": 30,
            "cause": f"redeem-undo:{redemption.pk}",
        }
    ]


def test_points_reversed(brand, customer, received):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    hub.buy(brand, customer)
    factories.redemption(customer, factories.reward(brand, cost=8))
    event = hub.return_order(brand, customer, return_id="R-1", amount="50.00")
    hub.return_order(brand, customer, return_id="R-1", amount="50.00")

    assert received("points.reversed") == [
        {
            "user_id": customer.pk,
            "order_id": "A-1",
            "return_id": "R-1",
            "points_reversed": 5,
            "pending_cancelled": 0,
            "points_owed": 3,
            "points_pending": 0,
            "new_balance": 0,
            "note": "Returned order A-1",
            "current_level": "Bronze",
            "lifetime_points": 5,
            "cause": str(event.event_id),
        }
    ]


def test_points_pending(brand, customer, received):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    Brand.objects.filter(pk=brand.pk).update(order_points="after_delivery")
    event = hub.buy(brand, customer)
    [pending] = LoyaltyTransaction.objects.all()

    assert received("points.pending") == [
        {
            "user_id": customer.pk,
            "points_pending": 10,
            "release_at": None,
            "new_balance": 0,
            "transaction_id": str(pending.pk),
            "reason_ids": ["order:A-1"],
            "note": "Points for order A-1",
            "current_level": "Bronze",
            "cause": str(event.event_id),
        }
    ]
    assert received("points.earned") == []


def test_points_released(brand, customer, received):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    Brand.objects.filter(pk=brand.pk).update(order_points="after_delivery")
    hub.buy(brand, customer)
    [pending] = LoyaltyTransaction.objects.all()

    hub.deliver(brand, customer)
    hub.deliver(brand, customer)

    entry = LoyaltyTransaction.objects.get(reason="released")
    assert received("points.released") == [
        {
            "user_id": customer.pk,
            "points_released": 10,
            "new_balance": 10,
            "transaction_id": str(entry.pk),
            "reason_id": "order:A-1",
            "current_level": "Bronze",
            "lifetime_points": 10,
            "cause": f"release:{pending.pk}",
        }
    ]
