"""Events that are over are forgotten after a while, a little at a time, and none of them pays twice."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
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

OLD = timedelta(days=31)


@pytest.fixture(autouse=True)
def nothing_forgotten_yet():
    client.client().delete(retention.PURGED_TO, retention.PAID_PURGED_TO)
    yield
    client.client().delete(retention.PURGED_TO, retention.PAID_PURGED_TO)


def event(brand, kind, status, *, age=OLD):
    at = timezone.now() - age
    over = at if status in {"done", "refused", "dead"} else None
    return Event.objects.create(
        brand=brand, source="tests", detail_type=kind, detail={}, status=status, created_at=at, finished_at=over
    )


def scan_as(customer, code):
    scan.scan(scanned=str(code), context=ScanContext(at=timezone.now(), user_id=customer.pk))


def left():
    return sorted(Event.objects.values_list("detail_type", "status"))


def test_consequences_that_are_over_go_and_the_rest_stays(brand):
    for status in ("done", "refused", "ignored", "dead", "pending"):
        event(brand, "notify", status)
        event(brand, "scan-auth", status)

    assert tasks.purge_events() == 4

    assert left() == [
        ("notify", "dead"),
        ("notify", "pending"),
        ("scan-auth", "dead"),
        ("scan-auth", "done"),
        ("scan-auth", "pending"),
        ("scan-auth", "refused"),
    ]


def test_what_is_young_or_ended_lately_stays(brand):
    event(brand, "notify", "done", age=timedelta(days=29))
    late = event(brand, "notify", "done")
    Event.objects.filter(pk=late.pk).update(finished_at=timezone.now())

    assert tasks.purge_events() == 0
    assert Event.objects.count() == 2


def test_a_chunk_looks_at_so_many_and_the_next_run_goes_on_there(brand):
    for number in range(10):
        event(brand, "send-email" if number % 2 else "scan-auth", "done")
    before = timezone.now() - timedelta(days=30)

    gone = [retention.purge(before=before, chunk=4, most_chunks=1) for _ in range(4)]

    assert gone == [2, 2, 1, 0]
    assert {kind for kind, _status in left()} == {"scan-auth"}


def test_the_last_stretch_is_looked_at_again_when_it_has_grown_old(brand):
    event(brand, "notify", "done")
    young = event(brand, "notify", "done", age=timedelta(days=29))
    assert tasks.purge_events() == 1

    Event.objects.filter(pk=young.pk).update(created_at=timezone.now() - OLD, finished_at=timezone.now() - OLD)

    assert tasks.purge_events() == 1


def test_the_ledger_is_proved_without_what_was_forgotten(brand, customer, deliver):
    scan_as(customer, factories.code(brand))
    deliver()
    aged = timezone.now() - OLD
    Event.objects.update(created_at=aged, finished_at=aged)
    Event.objects.filter(detail_type="notify").update(status="done")

    assert tasks.purge_events() == 2
    assert list(consistency.differences(CHECKS)) == []


def test_control_a_young_event_without_its_consequence_is_a_contradiction(brand, customer, deliver):
    scan_as(customer, factories.code(brand))
    deliver()
    Event.objects.filter(detail_type="notify").delete()

    assert len(list(consistency.differences(CHECKS))) == 1


LONG_AGO = timedelta(days=91)


def of_kind(brand, customer, kind, payload, *, event_id, at=None):
    """The event as a hub sends it, delivered."""
    detail = {"arguments": {"brand_id": brand.pk, "user_id": customer.pk}, "payload": payload}
    source, at = "shop.customer-app", at or timezone.now()
    sent = Event(event_id=event_id, source=source, detail_type=kind, brand=brand, time=at, detail=detail)
    assert publishing.receive(event=sent)
    worker.drain()
    return Event.objects.get(event_id=event_id)


def grow_old(*, age=LONG_AGO):
    aged = timezone.now() - age
    Event.objects.update(created_at=aged, finished_at=aged)


def paid():
    return sorted(LoyaltyTransaction.objects.values_list("reason_id", "points_earned"))


def payload_of(kind, brand):
    code = factories.code(brand)
    return {
        "scan-auth": {"type": "authenticator_scan", "product": {"productId": "1", "authCode": str(code)}},
        "order-complete": {"type": "order", "order": {"orderId": "A-1", "subtotal": "100.00"}},
        "log-user-profile-update": {"type": "profile", "completedFields": ["phone"]},
    }[kind]


@pytest.mark.parametrize("kind", ["scan-auth", "order-complete", "log-user-profile-update"])
def test_an_event_that_comes_again_after_it_was_deleted_pays_nothing(brand, customer, kind):
    factories.earning_rule(brand, kind)
    payload, event_id = payload_of(kind, brand), uuid.uuid4()
    assert of_kind(brand, customer, kind, payload, event_id=event_id).status == "done"
    before = paid()
    assert len(before) == 1
    grow_old()

    assert tasks.purge_paid_events() == 1
    again = of_kind(brand, customer, kind, payload, event_id=event_id)

    assert (again.status, again.outcome["error"]) == ("refused", "POINTS_ALREADY_CLAIMED")
    assert paid() == before


def test_the_order_of_a_deleted_event_pays_no_other_customer(brand, customer):
    factories.earning_rule(brand, "order-complete")
    payload = payload_of("order-complete", brand)
    of_kind(brand, customer, "order-complete", payload, event_id=uuid.uuid4())
    grow_old()
    assert tasks.purge_paid_events() == 1

    again = of_kind(brand, factories.customer(brand), "order-complete", payload, event_id=uuid.uuid4())

    assert again.status == "refused"
    assert len(paid()) == 1


def test_the_reward_of_a_deleted_event_is_paid_once(brand, customer):
    reached = factories.milestone(factories.campaign(brand), 1, reward_points=5)
    payload = {"type": "reward", "milestone_id": reached.pk, "reward_name": "Five", "points": "5"}
    event_id = uuid.uuid4()
    of_kind(brand, customer, "reward-claimed", payload, event_id=event_id)
    grow_old()
    assert tasks.purge_paid_events() == 1

    again = of_kind(brand, customer, "reward-claimed", payload, event_id=event_id)

    assert (again.status, again.outcome["error"]) == ("refused", "POINTS_ALREADY_CLAIMED")
    assert len(paid()) == 1


def paid_login(brand, customer):
    factories.earning_rule(brand, "log-user-login")
    at = datetime(2026, 3, 14, 23, 30, tzinfo=UTC)
    return of_kind(brand, customer, "log-user-login", {"type": "login"}, event_id=uuid.uuid4(), at=at)


def test_a_login_that_paid_is_kept(brand, customer):
    paid_login(brand, customer)
    grow_old()

    assert tasks.purge_paid_events() == 0


def test_control_a_login_without_its_event_pays_again_in_another_time_zone(brand, customer):
    Brand.objects.update(time_zone="UTC")
    login = paid_login(brand, customer)
    Event.objects.all().delete()
    Brand.objects.update(time_zone="Europe/Berlin")

    of_kind(brand, customer, "log-user-login", {"type": "login"}, event_id=login.event_id, at=login.time)

    assert [reason for reason, _points in paid()] == ["login:2026-03-14", "login:2026-03-15"]


def test_what_was_refused_points_goes_and_what_is_done_without_a_line_stays(brand):
    for kind in ("scan-auth", "order-complete", "log-user-profile-update", "log-user-login", "reward-claimed"):
        for status in ("done", "refused", "dead", "pending"):
            event(brand, kind, status, age=LONG_AGO)
    event(brand, "scan-auth", "refused", age=timedelta(days=89))
    event(brand, "of-somebody-else", "refused", age=LONG_AGO)

    assert tasks.purge_paid_events() == 5
    assert left().count(("scan-auth", "refused")) == 1
    assert {status for _kind, status in left()} == {"done", "refused", "dead", "pending"}


def test_events_about_points_are_kept_for_ever_where_staff_want_that(brand, settings):
    settings.POINT_EVENT_DAYS = 0
    event(brand, "scan-auth", "refused", age=timedelta(days=4_000))

    assert tasks.purge_paid_events() == 0


def test_an_event_that_ended_late_is_found_once_the_mark_has_ended(brand):
    """Control: until then the purge goes on after it."""
    late = event(brand, "scan-auth", "pending", age=LONG_AGO)
    event(brand, "scan-auth", "refused", age=LONG_AGO)
    assert tasks.purge_paid_events() == 1
    Event.objects.filter(pk=late.pk).update(status="refused", finished_at=timezone.now() - LONG_AGO)

    assert tasks.purge_paid_events() == 0
    assert 0 < client.client().ttl(retention.PAID_PURGED_TO) <= retention.MARK_SECONDS
    client.client().delete(retention.PAID_PURGED_TO)
    assert tasks.purge_paid_events() == 1


def test_a_mark_ends_so_long_after_it_was_first_set(brand):
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


def test_a_portion_of_events_about_points_is_bounded_and_the_next_goes_on(brand):
    for _ in range(10):
        event(brand, "scan-auth", "refused", age=LONG_AGO)
    before = timezone.now() - timedelta(days=90)

    assert [retention.purge_paid(before=before, chunk=4, most_chunks=1) for _ in range(4)] == [4, 4, 2, 0]


def test_the_books_agree_when_old_events_about_points_are_gone(brand, customer, deliver):
    factories.campaign(brand)
    scan_as(customer, factories.code(brand))
    deliver()
    grow_old()
    UserLoyaltyCampaign.objects.update(created_at=timezone.now() - LONG_AGO)
    assert tasks.purge_paid_events() == 1
    scan_as(customer, factories.code(brand))
    deliver()

    assert list(consistency.differences(CHECKS)) == []

    UserLoyaltyCampaign.objects.update(progress=1)
    assert len(list(consistency.differences(CHECKS))) == 1


def test_a_request_whose_stored_answer_is_deleted_meanwhile_may_try_again(brand):
    gone = Event(brand=brand, source="app.customer-app", detail_type="scan-auth", detail={})

    with pytest.raises(Unavailable):
        campaign_event._replay(gone)
