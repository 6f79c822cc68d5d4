"""Workers of points wait for no lock for long: a brand that holds many rows delays its own events alone."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from celery.signals import celeryd_init
from django.db import connection, connections, transaction
from django.utils import timezone

from brands.models.tenants import Brand
from core.db import timeouts
from events import leases, publishing, worker
from events.messages import LeasedEvent, NewEvent, handler_of
from events.models import Event
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)
WAIT_SECONDS = 0.3


def need_row(delivery: LeasedEvent) -> None:
    """A handler that needs a row of the brand's, as an accrual needs an account."""
    with transaction.atomic():
        Brand.objects.select_for_update().get(pk=delivery.brand_id)
        leases.finish(delivery)


@pytest.fixture(autouse=True)
def kind(settings):
    settings.EVENT_HANDLERS = {"needs-row": f"{__name__}.need_row"}
    settings.EVENT_LANES = {}
    handler_of.cache_clear()
    yield
    handler_of.cache_clear()


@pytest.fixture
def short_waits(db):
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {round(WAIT_SECONDS * 1000)}")
        yield
        cursor.execute("RESET lock_timeout")


@contextmanager
def held(brand: Brand) -> Iterator[None]:
    """Somebody else's transaction holds the brand's row."""
    has_it, over = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Brand.objects.select_for_update().get(pk=brand.pk)
            has_it.set()
            over.wait(20)
        connections.close_all()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert has_it.wait(10)
        yield
    finally:
        over.set()
        thread.join()


def publish(brand: Brand, number: int) -> None:
    messages = [NewEvent(kind="needs-row", arguments={}, payload={}) for _ in range(number)]
    publishing.publish(messages=messages, brand_id=brand.pk, at=timezone.now())


def statuses(brand: Brand) -> list[str]:
    return list(Event.objects.filter(brand=brand).order_by("pk").values_list("status", flat=True))


def test_events_whose_rows_are_held_wait_once_and_keep_no_other_brand_waiting(brand, short_waits):
    other = factories.brand()
    for each in (brand, other, brand, other):
        publish(each, 4)

    with held(brand):
        began = time.monotonic()
        worker.drain()
        seconds = time.monotonic() - began

    assert (statuses(brand), statuses(other)) == (["pending"] * 8, ["done"] * 8)
    assert seconds < 4 * WAIT_SECONDS  # one wait, not eight
    assert {row.last_error for row in Event.objects.filter(brand=brand)} == {
        "RowsLockedError: Rows that this needs are locked. It is tried again."
    }

    Event.objects.update(due_at=timezone.now())
    worker.drain()

    assert statuses(brand) == ["done"] * 8


def test_control_without_a_bound_everybody_waits_for_whoever_holds_the_row(brand):
    other = factories.brand()
    publish(brand, 1)
    publish(other, 1)

    with held(brand):
        thread = threading.Thread(target=lambda: (worker.drain(), connections.close_all()))
        thread.start()
        thread.join(3 * WAIT_SECONDS)
        is_waiting = thread.is_alive()
    thread.join()

    assert is_waiting
    assert statuses(brand) == ["done"]


@pytest.mark.parametrize(("queues", "is_bound"), [(["events"], True), (["work"], False), (None, False)], ids=str)
def test_workers_of_points_begin_with_the_bound(monkeypatch, queues, is_bound):
    databases = {"default": {"OPTIONS": {"options": "-c a=b"}}}
    monkeypatch.setattr(timeouts, "settings", SimpleNamespace(DATABASES=databases))

    celeryd_init.send(sender="points@here", instance=None, conf=None, options={"queues": queues})

    assert ("lock_timeout=2000" in databases["default"]["OPTIONS"]["options"]) == is_bound
