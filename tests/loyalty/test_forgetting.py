"""Events that are over are forgotten after a while, a little at a time; what earned points is not."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes import scanning
from authcodes.scanning import Circumstances
from brands import limits
from loyalty import events, reconcile, tasks
from loyalty.models import Event
from tests import make

pytestmark = pytest.mark.django_db(transaction=True)

OLD = timedelta(days=31)


@pytest.fixture(autouse=True)
def nothing_forgotten_yet():
    limits.client().delete(events.FORGOTTEN_TO)
    yield
    limits.client().delete(events.FORGOTTEN_TO)


def event(brand, kind, status, *, age=OLD):
    at = timezone.now() - age
    over = at if status in {"done", "refused", "dead"} else None
    return Event.objects.create(
        brand=brand, source="tests", detail_type=kind, detail={}, status=status, created_at=at, finished_at=over
    )


def scan_as(customer, code):
    scanning.scan(scanned=str(code), about=Circumstances(at=timezone.now(), user_id=customer.pk))


def left():
    return sorted(Event.objects.values_list("detail_type", "status"))


def test_consequences_that_are_over_go_and_the_rest_stays(brand):
    for status in ("done", "refused", "ignored", "dead", "pending"):
        event(brand, "notify", status)
        event(brand, "scan-auth", status)

    assert tasks.forget_events() == 4

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

    assert tasks.forget_events() == 0
    assert Event.objects.count() == 2


def test_a_chunk_looks_at_so_many_and_the_next_run_goes_on_there(brand):
    for number in range(10):
        event(brand, "send-email" if number % 2 else "scan-auth", "done")
    before = timezone.now() - timedelta(days=30)

    gone = [events.forget(before=before, chunk=4, most_chunks=1) for _ in range(4)]

    assert gone == [2, 2, 1, 0]
    assert {kind for kind, _status in left()} == {"scan-auth"}


def test_the_last_stretch_is_looked_at_again_when_it_has_grown_old(brand):
    event(brand, "notify", "done")
    young = event(brand, "notify", "done", age=timedelta(days=29))
    assert tasks.forget_events() == 1

    Event.objects.filter(pk=young.pk).update(created_at=timezone.now() - OLD, finished_at=timezone.now() - OLD)

    assert tasks.forget_events() == 1


def test_the_ledger_is_proved_without_what_was_forgotten(brand, customer, deliver):
    scan_as(customer, make.code(brand))
    deliver()
    aged = timezone.now() - OLD
    Event.objects.update(created_at=aged, finished_at=aged)
    Event.objects.filter(detail_type="notify").update(status="done")

    assert tasks.forget_events() == 2
    assert list(reconcile.differences(reconcile.CHECKS)) == []


def test_control_a_young_event_without_its_consequence_is_a_contradiction(brand, customer, deliver):
    scan_as(customer, make.code(brand))
    deliver()
    Event.objects.filter(detail_type="notify").delete()

    assert len(list(reconcile.differences(reconcile.CHECKS))) == 1
