"""Point workers never wait long for a lock: a brand that locks many rows delays only its own events."""

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
    """Lock the brand's row, as an accrual locks an account."""
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
def short_lock_timeout(db):
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {round(WAIT_SECONDS * 1000)}")
        yield
        cursor.execute("RESET lock_timeout")


@contextmanager
def row_locked(brand: Brand) -> Iterator[None]:
    """Lock the brand's row in another transaction."""
    locked, release = threading.Event(), threading.Event()

    def lock_row() -> None:
        with transaction.atomic():
            Brand.objects.select_for_update().get(pk=brand.pk)
            locked.set()
            release.wait(20)
        connections.close_all()

    thread = threading.Thread(target=lock_row)
    thread.start()
    try:
        assert locked.wait(10)
        yield
    finally:
        release.set()
        thread.join()


def publish(brand: Brand, number: int) -> None:
    messages = [NewEvent(kind="needs-row", arguments={}, payload={}) for _ in range(number)]
    publishing.publish(messages=messages, brand_id=brand.pk, at=timezone.now())


def statuses(brand: Brand) -> list[str]:
    return list(Event.objects.filter(brand=brand).order_by("pk").values_list("status", flat=True))


def test_events_with_locked_rows_wait_once_and_delay_no_other_brand(brand, short_lock_timeout):
    other = factories.brand()
    for each in (brand, other, brand, other):
        publish(each, 4)

    with row_locked(brand):
        started_at = time.monotonic()
        worker.drain()
        seconds = time.monotonic() - started_at

    assert (statuses(brand), statuses(other)) == (["pending"] * 8, ["done"] * 8)
    assert seconds < 4 * WAIT_SECONDS  # one wait instead of eight
    assert {row.last_error for row in Event.objects.filter(brand=brand)} == {
        "RowsLockedError: Rows that this needs are locked. It is tried again."
    }

    Event.objects.update(due_at=timezone.now())
    worker.drain()

    assert statuses(brand) == ["done"] * 8


def test_control_without_lock_timeout_all_events_wait_for_the_locked_row(brand):
    other = factories.brand()
    publish(brand, 1)
    publish(other, 1)

    with row_locked(brand):
        thread = threading.Thread(target=lambda: (worker.drain(), connections.close_all()))
        thread.start()
        thread.join(3 * WAIT_SECONDS)
        is_waiting = thread.is_alive()
    thread.join()

    assert is_waiting
    assert statuses(brand) == ["done"]


@pytest.mark.parametrize(("queues", "has_timeout"), [(["events"], True), (["work"], False), (None, False)], ids=str)
def test_point_workers_start_with_a_lock_timeout(monkeypatch, queues, has_timeout):
    databases = {"default": {"OPTIONS": {"options": "-c a=b"}}}
    monkeypatch.setattr(timeouts, "settings", SimpleNamespace(DATABASES=databases))

    celeryd_init.send(sender="points@here", instance=None, conf=None, options={"queues": queues})

    assert ("lock_timeout=2000" in databases["default"]["OPTIONS"]["options"]) == has_timeout
