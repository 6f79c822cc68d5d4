"""Workers are killed with -9 between an external answer and the commit: the call is repeated and counts once."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as site
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from events.models import Event
from loyalty.integrations import external_system
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.webhooks import WebhookDelivery
from tests.loyalty.integrations.webhooks import endpoint
from tests.support import factories
from tests.support.fakes.fake_http import Receiver, Reply, receiver, reset_breakers
from tests.support.live_stack import Stack, wait_until

# Ends the sessions of a killed worker: the server does not know that it is dead, and would finish its statement.
TERMINATE = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'
"""


@pytest.fixture
def external_server() -> Iterator[Receiver]:
    reset_breakers()
    with receiver() as running:
        yield running


@pytest.fixture
def brand(transactional_db, settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    made = factories.brand()
    factories.level(made)
    return made


@pytest.fixture
def workers(transactional_db: None, tmp_path: Path) -> Iterator[Stack]:
    running = Stack(log=tmp_path / "log", redis_url=site.REDIS_URL)
    running.settings = {"OUTGOING_PRIVATE_NETWORKS": "127.0.0.0/8"}
    running.constants = {"EVENT_SWEEP_SECONDS": 1}
    yield running
    running.stop()


def scan_new_code(brand, customer):
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))


def waiting_for_a_lock():
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # or a transaction would see the same rows each time
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
        return cursor.fetchone()


def expire_leases():
    Event.objects.pending().update(due_at=timezone.now())


def test_worker_killed_after_the_external_answer_repeats_the_call_and_credits_once(brand, workers, external_server):
    external_server.decides(decision="proceed")
    options = {"when_rejected": "hold", "when_away": "hold", "is_active": True}
    external_system.create(brand=brand, url=external_server.url, **options)
    customer = factories.customer(brand)
    scan_new_code(brand, customer)

    with transaction.atomic():
        UserPoints.objects.select_for_update().get(user=customer)  # the commit has to wait for this
        worker = workers.start_worker()
        wait_until(waiting_for_a_lock)
        workers.kill(worker)
        with connection.as_owner(), connection.cursor() as cursor:
            cursor.execute(TERMINATE)
    assert (len(external_server.calls), LoyaltyTransaction.objects.count()) == (1, 0)

    expire_leases()
    workers.start_worker()
    wait_until(lambda: Event.objects.get(detail_type="scan-auth").status == "done")

    first, second = external_server.calls
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert UserPoints.objects.get(user=customer).points == 10
    assert LoyaltyTransaction.objects.count() == 1
    call_command("check_ledger")


def test_worker_killed_during_a_webhook_call_repeats_it_with_the_same_id(brand, workers, external_server):
    endpoint(brand, external_server, types=["points.earned"])
    external_server.answers(Reply(waits=3), Reply())
    customer = factories.customer(brand)
    scan_new_code(brand, customer)

    worker = workers.start_worker()
    wait_until(lambda: external_server.calls)
    time.sleep(0.1)
    workers.kill(worker)
    assert WebhookDelivery.objects.get().attempts == 0

    reset_breakers()  # the concurrency slot of the dead worker
    expire_leases()
    workers.start_worker()
    wait_until(lambda: WebhookDelivery.objects.get().state == "delivered")

    first, second = external_server.calls
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert UserPoints.objects.get(user=customer).points == 10
