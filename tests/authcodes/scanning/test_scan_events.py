"""Vouching for a code when its event asks for points."""

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


def report(brand, customer, code, *, source="shop.customer-app", event_id=None):
    """The scan as a hub reports it, delivered."""
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


def test_a_scan_that_only_a_hub_reports_takes_a_slot_and_earns(brand, customer):
    code = factories.code(brand)

    event = report(brand, customer, code)

    scan = Scan.objects.get()
    assert (event.status, scan.points_status, scan.points_awarded) == ("done", "awarded", 10)
    code.refresh_from_db()
    assert code.scan_count == 1


def test_two_senders_may_use_the_same_id(brand, customer):
    event_id = uuid.uuid4()

    first = report(brand, customer, factories.code(brand), event_id=event_id, source="web.customer-app")
    second = report(brand, customer, factories.code(brand), event_id=event_id, source="shop.customer-app")

    assert (first.status, second.status) == ("done", "done")
    assert factories.account(customer, brand).points == 20


def test_two_brands_may_use_the_same_id(brand, customer):
    other, event_id = factories.brand(), uuid.uuid4()

    events_of_both = [
        report(each, factories.customer(each), factories.code(each), event_id=event_id) for each in (brand, other)
    ]

    assert [event.status for event in events_of_both] == ["done", "done"]


def test_an_event_touches_no_other_brands_scan(brand, customer):
    other = factories.brand()
    waiting = scan_as(customer, factories.code(brand)).scan_id

    report(other, factories.customer(other), "NO-SUCH-CODE", event_id=waiting)

    assert Event.objects.filter(brand=other).get().status == "refused"
    assert LoyaltyTransaction.objects.count() == 1
    assert Scan.objects.get(pk=waiting).points_status == "awarded"


def test_a_scan_while_its_campaign_rests_earns_by_no_door(brand, customer):
    resting = factories.campaign(brand, is_active=False)
    code = factories.code(brand, campaign=resting, after_campaign="nothing", scan_limit=None)
    scan_as(customer, code)

    event = report(brand, customer, code)

    assert (event.status, event.outcome["error"]) == ("refused", "AUTH_CODE_INVALID")
    assert not LoyaltyTransaction.objects.exists()


def test_an_accepted_scan_stands_when_its_campaign_ends_before_the_points(brand, customer):
    running = factories.campaign(brand)
    scan_as(customer, factories.code(brand, campaign=running))
    running.ends_at = timezone.now() + timedelta(milliseconds=1)
    running.save()

    worker.drain()

    assert factories.account(customer, brand).points == 10


@pytest.mark.parametrize("stated", [{"redeem_point_value": 99}, {"retailPrice": 50}])
def test_a_hubs_facts_come_before_the_catalogues(brand, customer, stated):
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


@pytest.mark.parametrize("together", [True, False])
def test_a_percentage_promises_and_earns_at_most_the_ceiling(brand, settings, together):
    """The attack: a product that costs 99,999,999, and a level that pays all of the price."""
    settings.EVENT_BATCH = 10 if together else 1
    brand.levels.update(scan_reward_type="percentage", scan_reward_value=100)
    customer = factories.customer(brand)
    code = factories.code(brand, product=factories.product(brand, retail_price=99_999_999))

    promised = scan_as(customer, code).points
    worker.drain()

    assert (promised, factories.account(customer, brand).points) == (1000, 1000)


def test_a_price_that_a_hub_states_earns_at_most_the_ceiling_and_its_override_all(brand, customer):
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


def a_mixed_portion(brand):
    """One event of each kind of end that a claim can come to."""
    customer, other = factories.customer(brand), factories.customer(brand)
    recalled = factories.code(brand)
    shared = factories.code(brand, scan_limit=None)
    factories.campaign(brand)
    for scanner, code in [
        (customer, factories.code(brand)),
        (customer, factories.code(brand)),
        (other, factories.code(brand)),
        (customer, recalled),
        (customer, shared),
        (customer, shared),
        (factories.customer(brand, enrolled=False), shared),
        (factories.customer(factories.brand()), factories.code(brand)),
    ]:
        scan_as(scanner, code)
    recall_fields = {"recall_id": "R-1", "contact": "0800", "message": "Glass", "reason": "Glass"}
    recalls.recall_batch(batch=recalled.batch, at=timezone.now(), **recall_fields)
    UserPoints.objects.filter(user=other).update(status="blocked")
    for code in ("NO-SUCH-CODE", factories.code(brand), shared):
        message = messages.NewEvent(
            kind="scan-auth",
            arguments={"brand_id": brand.pk, "user_id": factories.customer(brand).pk},
            payload={"type": "authenticator_scan", "product": {"authCode": str(code)}},
        )
        publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("limit", [None, 15])
def test_a_portion_comes_to_what_its_events_come_to_one_by_one(settings, limit):
    ends = []
    for portion in (1, 50):
        settings.EVENT_BATCH = portion
        brand = factories.brand(daily_point_limit=limit)
        factories.level(brand)
        factories.level(brand, "Silver", 15)
        a_mixed_portion(brand)
        worker.drain()
        found = Event.objects.filter(brand=brand, detail_type="scan-auth").order_by("pk")
        ends.append([(event.status, event.attempts, plain_outcome(event.outcome)) for event in found])

    assert ends[0] == ends[1]
    assert {status for status, *_ in ends[0]} == {"done", "refused"}
    assert list(consistency.differences()) == []


def plain_outcome(outcome):
    """Without the numbers that differ from row to row."""
    gone = {"transaction_id", "campaign_id", "campaign_name", "resets_at"}
    if isinstance(outcome, dict):
        return {name: plain_outcome(value) for name, value in outcome.items() if name not in gone}
    return [plain_outcome(each) for each in outcome] if isinstance(outcome, list) else outcome
