"""Leases are short and renewed: a busy worker retains its work, and the work of a killed worker is soon free."""

import time

import pytest
from django.conf import settings as site
from django.db import connection, transaction
from django.utils import timezone

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from events.models import Event
from jobs import queue
from jobs.models import Job
from loyalty.models.accounts import UserPoints
from tests.support import factories
from tests.support.live_stack import Stack, wait_until

BUSY_SECONDS = 11  # longer than a lease
FREE_WITHIN_SECONDS = 10


@pytest.fixture
def workers(transactional_db, tmp_path):
    running = Stack(log=tmp_path / "log", redis_url=site.REDIS_URL)
    yield running
    running.stop()


def is_free():
    due = Event.objects.pending().filter(detail_type="scan-auth", due_at__lte=timezone.now())
    return due.exists() and queue.in_turn().exists()


def test_lease_lasts_while_its_worker_lives_and_ends_within_ten_seconds_of_kill_9(workers):
    brand = factories.brand()
    factories.level(brand)
    customer = factories.customer(brand)
    code = factories.code(brand)
    batch_settings = BatchSettings(range_name="Slow", quantity=10, prefix="SLOW-", signed=False)
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())

    scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    batches.start_generation(batch=batch, by=None)

    with transaction.atomic(), connection.cursor() as cursor:
        UserPoints.objects.select_for_update().get(user=customer)  # the event has to wait for this,
        cursor.execute("LOCK TABLE authcodes_authcode IN SHARE MODE")  # and the job for that
        worker = workers.start_worker()
        wait_until(lambda: Event.objects.get(detail_type="scan-auth").attempts and Job.objects.get().attempts)
        time.sleep(BUSY_SECONDS)
        assert (Event.objects.get(detail_type="scan-auth").attempts, Job.objects.get().attempts) == (1, 1)
        assert not is_free()

        workers.kill(worker)
        wait_until(is_free, seconds=FREE_WITHIN_SECONDS)

    workers.start_worker()
    wait_until(lambda: Event.objects.get(detail_type="scan-auth").status == "done")
    wait_until(lambda: Job.objects.get().status == "done")
    assert UserPoints.objects.get(user=customer).points == 10
