"""Finished events are purged after their retention, in portions, and none of them earns points twice."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings as project
from django.utils import timezone

from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from brands.models.tenants import Brand
from campaigns.intake import campaign_event
from campaigns.models.campaigns import UserLoyaltyCampaign
from campaigns.progress import consistency as progress
from core import consistency
from core.errors import Unavailable
from core.redis import client
from events import publishing, retention, tasks, worker
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import consistency as points
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)

CHECKS = {**points.CHECKS, **progress.CHECKS}

DAY = timedelta(days=1)
OLD = (project.EVENT_LOG_DAYS + 1) * DAY  # longer than follow-up events are kept
LONG_AGO = (project.POINT_EVENT_DAYS + 1) * DAY  # longer than events about points are kept


@pytest.fixture(autouse=True)
def no_purge_marks():
    client.client().delete(retention.PURGED_TO, retention.PAID_PURGED_TO)
    yield
    client.client().delete(retention.PURGED_TO, retention.PAID_PURGED_TO)


def event(brand, kind, status, *, age=OLD):
    at = timezone.now() - age
    finished_at = at if status in {"done", "refused", "dead"} else None
    return Event.objects.create(
        brand=brand, source="tests", detail_type=kind, detail={}, status=status, created_at=at, finished_at=finished_at
    )


def scan_as(customer, code):
    scan.scan(scanned=str(code), context=ScanContext(at=timezone.now(), user_id=customer.pk))


def remaining_events():
    return sorted(Event.objects.values_list("detail_type", "status"))


def test_finished_follow_up_events_are_purged_and_all_others_stay(brand):
    for status in ("done", "refused", "ignored", "dead", "pending"):
        event(brand, "notify", status)
        event(brand, "scan-auth", status)

    assert tasks.purge_events() == 4

    assert remaining_events() == [
        ("notify", "dead"),
        ("notify", "pending"),
        ("scan-auth", "dead"),
        ("scan-auth", "done"),
        ("scan-auth", "pending"),
        ("scan-auth", "refused"),
    ]


def test_young_or_recently_finished_events_are_not_purged(brand):
    event(brand, "notify", "done", age=timedelta(days=29))
    finished_lately = event(brand, "notify", "done")
    Event.objects.filter(pk=finished_lately.pk).update(finished_at=timezone.now())

    assert tasks.purge_events() == 0
    assert Event.objects.count() == 2


def test_purge_continues_where_the_previous_chunk_ended(brand):
    for number in range(10):
        event(brand, "send-email" if number % 2 else "scan-auth", "done")
    before = timezone.now() - timedelta(days=30)

    purged = [retention.purge(before=before, chunk=4, most_chunks=1) for _ in range(4)]

    assert purged == [2, 2, 1, 0]
    assert {kind for kind, _status in remaining_events()} == {"scan-auth"}


def test_event_that_was_too_young_is_purged_once_it_is_old(brand):
    event(brand, "notify", "done")
    young = event(brand, "notify", "done", age=timedelta(days=29))
    assert tasks.purge_events() == 1

    Event.objects.filter(pk=young.pk).update(created_at=timezone.now() - OLD, finished_at=timezone.now() - OLD)

    assert tasks.purge_events() == 1


def test_ledger_is_consistent_without_the_purged_events(brand, customer, deliver_events):
    scan_as(customer, factories.code(brand))
    deliver_events()
    aged = timezone.now() - OLD
    Event.objects.update(created_at=aged, finished_at=aged)
    Event.objects.filter(detail_type="notify").update(status="done")

    assert tasks.purge_events() == 2
    assert list(consistency.differences(CHECKS)) == []


def test_control_missing_follow_up_of_a_young_event_is_inconsistent(brand, customer, deliver_events):
    scan_as(customer, factories.code(brand))
    deliver_events()
    Event.objects.filter(detail_type="notify").delete()

    assert len(list(consistency.differences(CHECKS))) == 1


def deliver_hub_event(brand, customer, kind, payload, *, event_id, at=None):
    """Receive the event as a hub sends it, deliver it and return it."""
    detail = {"arguments": {"brand_id": brand.pk, "user_id": customer.pk}, "payload": payload}
    source, at = "shop.customer-app", at or timezone.now()
    sent = Event(event_id=event_id, source=source, detail_type=kind, brand=brand, time=at, detail=detail)
    assert publishing.receive(event=sent)
    worker.drain()
    return Event.objects.get(event_id=event_id)


def age_events(*, age=LONG_AGO):
    aged = timezone.now() - age
    Event.objects.update(created_at=aged, finished_at=aged)


def ledger_entries():
    return sorted(LoyaltyTransaction.objects.values_list("reason_id", "points_earned"))


def payload_of(kind, brand):
    code = factories.code(brand)
    return {
        "scan-auth": {"type": "authenticator_scan", "product": {"productId": "1", "authCode": str(code)}},
        "order-complete": {"type": "order", "order": {"orderId": "A-1", "subtotal": "100.00"}},
        "log-user-profile-update": {"type": "profile", "completedFields": ["phone"]},
    }[kind]


@pytest.mark.parametrize("kind", ["scan-auth", "order-complete", "log-user-profile-update"])
def test_event_sent_again_after_its_purge_earns_nothing(brand, customer, kind):
    factories.earning_rule(brand, kind)
    payload, event_id = payload_of(kind, brand), uuid.uuid4()
    assert deliver_hub_event(brand, customer, kind, payload, event_id=event_id).status == "done"
    before = ledger_entries()
    assert len(before) == 1
    age_events()

    assert tasks.purge_paid_events() == 1
    again = deliver_hub_event(brand, customer, kind, payload, event_id=event_id)

    assert (again.status, again.outcome["error"]) == ("refused", "POINTS_ALREADY_CLAIMED")
    assert ledger_entries() == before


def test_order_of_a_purged_event_earns_nothing_for_another_customer(brand, customer):
    factories.earning_rule(brand, "order-complete")
    payload = payload_of("order-complete", brand)
    deliver_hub_event(brand, customer, "order-complete", payload, event_id=uuid.uuid4())
    age_events()
    assert tasks.purge_paid_events() == 1

    again = deliver_hub_event(brand, factories.customer(brand), "order-complete", payload, event_id=uuid.uuid4())

    assert (again.status, again.outcome["error"]) == ("refused", "ORDER_ALREADY_CREDITED")
    assert len(ledger_entries()) == 1


def test_reward_of_a_purged_event_is_credited_once(brand, customer):
    milestone = factories.milestone(factories.campaign(brand), 1, reward_points=5)
    payload = {"type": "reward", "milestone_id": milestone.pk, "reward_name": "Five", "points": "5"}
    event_id = uuid.uuid4()
    deliver_hub_event(brand, customer, "reward-claimed", payload, event_id=event_id)
    age_events()
    assert tasks.purge_paid_events() == 1

    again = deliver_hub_event(brand, customer, "reward-claimed", payload, event_id=event_id)

    assert (again.status, again.outcome["error"]) == ("refused", "POINTS_ALREADY_CLAIMED")
    assert len(ledger_entries()) == 1


def login_that_earned_points(brand, customer):
    factories.earning_rule(brand, "log-user-login")
    at = datetime(2026, 3, 14, 23, 30, tzinfo=UTC)
    return deliver_hub_event(brand, customer, "log-user-login", {"type": "login"}, event_id=uuid.uuid4(), at=at)


def test_login_event_that_earned_points_is_not_purged(brand, customer):
    login_that_earned_points(brand, customer)
    assert len(ledger_entries()) == 1
    age_events()

    assert tasks.purge_paid_events() == 0


def test_control_login_without_its_event_earns_again_in_another_time_zone(brand, customer):
    Brand.objects.update(time_zone="UTC")
    login = login_that_earned_points(brand, customer)
    Event.objects.all().delete()
    Brand.objects.update(time_zone="Europe/Berlin")

    deliver_hub_event(brand, customer, "log-user-login", {"type": "login"}, event_id=login.event_id, at=login.time)

    assert [reason for reason, _points in ledger_entries()] == ["login:2026-03-14", "login:2026-03-15"]


def test_rejected_point_events_are_purged_but_done_ones_without_entry_stay(brand):
    for kind in retention.UNHANDLED_KINDS:
        for status in ("done", "refused", "dead", "pending"):
            event(brand, kind, status, age=LONG_AGO)
    event(brand, "scan-auth", "refused", age=timedelta(days=89))
    event(brand, "of-somebody-else", "refused", age=LONG_AGO)

    assert tasks.purge_paid_events() == len(retention.UNHANDLED_KINDS)
    assert remaining_events().count(("scan-auth", "refused")) == 1
    assert {status for _kind, status in remaining_events()} == {"done", "refused", "dead", "pending"}


def test_point_events_are_never_purged_when_their_retention_is_zero(brand, settings):
    settings.POINT_EVENT_DAYS = 0
    event(brand, "scan-auth", "refused", age=timedelta(days=4_000))

    assert tasks.purge_paid_events() == 0


def test_event_that_finished_late_is_purged_once_the_mark_expires(brand):
    """Until then the purge continues behind the event and misses it."""
    late = event(brand, "scan-auth", "pending", age=LONG_AGO)
    event(brand, "scan-auth", "refused", age=LONG_AGO)
    assert tasks.purge_paid_events() == 1
    Event.objects.filter(pk=late.pk).update(status="refused", finished_at=timezone.now() - LONG_AGO)

    assert tasks.purge_paid_events() == 0
    assert 0 < client.client().ttl(retention.PAID_PURGED_TO) <= retention.MARK_SECONDS
    client.client().delete(retention.PAID_PURGED_TO)
    assert tasks.purge_paid_events() == 1


def test_mark_expires_a_fixed_time_after_it_was_first_set(brand):
    for _ in range(4):
        event(brand, "scan-auth", "refused", age=LONG_AGO)
    before = timezone.now() - timedelta(days=90)
    retention.purge_paid(before=before, chunk=2, most_chunks=1)
    client.client().expire(retention.PAID_PURGED_TO, 100)

    assert retention.purge_paid(before=before, chunk=2, most_chunks=1) == 2
    assert 0 < client.client().ttl(retention.PAID_PURGED_TO) <= 100

    client.client().persist(retention.PAID_PURGED_TO)
    event(brand, "scan-auth", "refused", age=LONG_AGO)
    assert retention.purge_paid(before=before) == 1
    assert client.client().ttl(retention.PAID_PURGED_TO) > 100


def test_point_events_are_purged_in_bounded_portions(brand):
    for _ in range(10):
        event(brand, "scan-auth", "refused", age=LONG_AGO)
    before = timezone.now() - timedelta(days=90)

    assert [retention.purge_paid(before=before, chunk=4, most_chunks=1) for _ in range(4)] == [4, 4, 2, 0]


def test_points_and_progress_are_consistent_after_purging_point_events(brand, customer, deliver_events):
    factories.campaign(brand)
    scan_as(customer, factories.code(brand))
    deliver_events()
    age_events()
    UserLoyaltyCampaign.objects.update(created_at=timezone.now() - LONG_AGO)
    assert tasks.purge_paid_events() == 1
    scan_as(customer, factories.code(brand))
    deliver_events()

    assert list(consistency.differences(CHECKS)) == []

    UserLoyaltyCampaign.objects.update(progress=1)
    assert len(list(consistency.differences(CHECKS))) == 1


def test_replay_of_a_purged_answer_is_temporarily_unavailable(brand):
    # Not stored, as if it had been purged since.
    purged = Event(brand=brand, source="app.customer-app", detail_type="scan-auth", detail={})

    with pytest.raises(Unavailable):
        campaign_event._replay(purged)
