"""Scans reported as events: which of them are accepted and earn points."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.scanning import consistency, scan
from authcodes.scanning.types import ScanContext
from events import messages, publishing, worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories


def report_scan(brand, customer, code, *, source="shop.customer-app", event_id=None):
    """The event of a scan that a hub reports, after its delivery."""
    event = Event(
        event_id=event_id or uuid.uuid4(),
        source=source,
        detail_type="scan-auth",
        brand=brand,
        detail={
            "arguments": {"brand_id": brand.pk, "user_id": customer.pk},
            "payload": {"type": "authenticator_scan", "product": {"authCode": str(code)}},
        },
    )
    publishing.receive(event=event)
    worker.drain()
    event.refresh_from_db()
    return event


def scan_as(customer, code):
    return scan.scan(scanned=str(code), context=ScanContext(at=timezone.now(), user_id=customer.pk))


def test_scan_reported_by_a_hub_is_counted_and_earns_points(brand, customer):
    code = factories.code(brand)

    event = report_scan(brand, customer, code)

    scan = Scan.objects.get()
    assert (event.status, scan.points_status, scan.points_awarded) == ("done", "awarded", 10)
    code.refresh_from_db()
    assert code.scan_count == 1


def test_two_sources_may_use_the_same_event_id(brand, customer):
    event_id = uuid.uuid4()

    first = report_scan(brand, customer, factories.code(brand), event_id=event_id, source="web.customer-app")
    second = report_scan(brand, customer, factories.code(brand), event_id=event_id, source="shop.customer-app")

    assert (first.status, second.status) == ("done", "done")
    assert factories.account(customer, brand).points == 20


def test_two_brands_may_use_the_same_event_id(brand, customer):
    other_brand, event_id = factories.brand(), uuid.uuid4()

    events_of_both = [
        report_scan(each, factories.customer(each), factories.code(each), event_id=event_id)
        for each in (brand, other_brand)
    ]

    assert [event.status for event in events_of_both] == ["done", "done"]


def test_event_does_not_change_the_scan_of_another_brand(brand, customer):
    other_brand = factories.brand()
    scan_id = scan_as(customer, factories.code(brand)).scan_id

    report_scan(other_brand, factories.customer(other_brand), "NO-SUCH-CODE", event_id=scan_id)

    assert Event.objects.filter(brand=other_brand).get().status == "refused"
    assert LoyaltyTransaction.objects.count() == 1
    assert Scan.objects.get(pk=scan_id).points_status == "awarded"


def test_scan_while_its_campaign_is_inactive_earns_no_points(brand, customer):
    inactive_campaign = factories.campaign(brand, is_active=False)
    code = factories.code(brand, campaign=inactive_campaign, after_campaign="nothing", scan_limit=None)
    scan_as(customer, code)

    event = report_scan(brand, customer, code)

    assert (event.status, event.outcome["error"]) == ("refused", "AUTH_CODE_INVALID")
    assert not LoyaltyTransaction.objects.exists()


def test_accepted_scan_earns_although_its_campaign_ends_before_the_accrual(brand, customer):
    running_campaign = factories.campaign(brand)
    scan_as(customer, factories.code(brand, campaign=running_campaign))
    running_campaign.ends_at = timezone.now() + timedelta(milliseconds=1)
    running_campaign.save()

    worker.drain()

    assert factories.account(customer, brand).points == 10


@pytest.mark.parametrize("stated", [{"redeem_point_value": 99}, {"retailPrice": 50}])
def test_values_stated_by_a_hub_override_the_catalogue(brand, customer, stated):
    brand.levels.update(scan_reward_type="percentage", scan_reward_value=10)
    code = factories.code(brand, product=factories.product(brand, retail_price=1000))
    event = Event(
        event_id=uuid.uuid4(),
        source="shop.customer-app",
        detail_type="scan-auth",
        brand=brand,
        detail={
            "arguments": {"brand_id": brand.pk, "user_id": customer.pk},
            "payload": {"type": "authenticator_scan", "product": {"authCode": code.code, **stated}},
        },
    )
    publishing.receive(event=event)

    worker.drain()

    assert factories.account(customer, brand).points == {"redeem_point_value": 99, "retailPrice": 5}[next(iter(stated))]


@pytest.mark.parametrize("batched", [True, False])
def test_percentage_promises_and_earns_at_most_the_ceiling(brand, settings, batched):
    """The attack: a product that costs 99,999,999, and a level that pays all of the price."""
    settings.EVENT_BATCH = 10 if batched else 1
    brand.levels.update(scan_reward_type="percentage", scan_reward_value=100)
    customer = factories.customer(brand)
    code = factories.code(brand, product=factories.product(brand, retail_price=99_999_999))

    promised_points = scan_as(customer, code).points
    worker.drain()

    assert (promised_points, factories.account(customer, brand).points) == (1000, 1000)


def test_ceiling_applies_to_a_stated_price_but_not_to_stated_points(brand, customer):
    brand.levels.update(scan_reward_type="percentage", scan_reward_value=100)
    for stated in ({"retailPrice": 99_999_999}, {"redeem_point_value": 5000}):
        payload = {"type": "authenticator_scan", "product": {"authCode": factories.code(brand).code, **stated}}
        detail = {"arguments": {"brand_id": brand.pk, "user_id": customer.pk}, "payload": payload}
        event = Event(
            event_id=uuid.uuid4(), source="shop.customer-app", detail_type="scan-auth", brand=brand, detail=detail
        )
        publishing.receive(event=event)

    worker.drain()

    assert sorted(LoyaltyTransaction.objects.values_list("points_earned", flat=True)) == [1000, 5000]


def publish_mixed_events(brand):
    """Publishes events with every kind of outcome that an accrual can have."""
    customer, blocked_customer = factories.customer(brand), factories.customer(brand)
    recalled = factories.code(brand)
    shared = factories.code(brand, scan_limit=None)
    factories.campaign(brand)
    for user, code in [
        (customer, factories.code(brand)),
        (customer, factories.code(brand)),
        (blocked_customer, factories.code(brand)),
        (customer, recalled),
        (customer, shared),
        (customer, shared),
        (factories.customer(brand, enrolled=False), shared),
        (factories.customer(factories.brand()), factories.code(brand)),
    ]:
        scan_as(user, code)
    recall_fields = {"recall_id": "R-1", "contact": "0800", "message": "Glass", "reason": "Glass"}
    recalls.recall_batch(batch=recalled.batch, at=timezone.now(), **recall_fields)
    UserPoints.objects.filter(user=blocked_customer).update(status="blocked")
    for code in ("NO-SUCH-CODE", factories.code(brand), shared):
        message = messages.NewEvent(
            kind="scan-auth",
            arguments={"brand_id": brand.pk, "user_id": factories.customer(brand).pk},
            payload={"type": "authenticator_scan", "product": {"authCode": str(code)}},
        )
        publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("limit", [None, 15])
def test_events_of_a_portion_have_the_same_outcomes_as_one_by_one(settings, limit):
    outcomes = []
    for portion in (1, 50):
        settings.EVENT_BATCH = portion
        brand = factories.brand(daily_point_limit=limit)
        factories.level(brand)
        factories.level(brand, "Silver", 15)
        publish_mixed_events(brand)
        worker.drain()
        events = Event.objects.filter(brand=brand, detail_type="scan-auth").order_by("pk")
        outcomes.append([(event.status, event.attempts, plain_outcome(event.outcome)) for event in events])

    assert outcomes[0] == outcomes[1]
    assert {status for status, *_ in outcomes[0]} == {"done", "refused"}
    assert list(consistency.differences()) == []


def plain_outcome(outcome):
    """The outcome without values that differ from row to row."""
    varying = {"transaction_id", "campaign_id", "campaign_name", "resets_at"}
    if isinstance(outcome, dict):
        return {name: plain_outcome(value) for name, value in outcome.items() if name not in varying}
    return [plain_outcome(each) for each in outcome] if isinstance(outcome, list) else outcome
