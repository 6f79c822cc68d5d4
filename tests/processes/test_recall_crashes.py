"""A worker is killed with -9 inside a portion of a recall's notifications: each customer is notified once."""

from collections import Counter
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from authcodes.recalls import notifications, recalls, scopes
from events import worker
from events.messages import slow_lanes
from events.models import Event
from jobs import queue
from jobs.models import Job
from loyalty.models.notifications import Notification, NotificationDelivery
from tests.loyalty.notifications.conftest import box
from tests.processes.test_external_call_crashes import TERMINATE, waiting_for_a_lock
from tests.support import factories
from tests.support.live_stack import Stack, wait_until
from tests.support.locks import locked_by_another_session
from tests.support.portal import scan

__all__ = ["box"]

CUSTOMERS = notifications.AT_ONCE + 20  # a portion that is committed, and one that is not
RECALL_FIELDS = {"recall_id": "R-7", "contact": "call us", "message": "Stop using it.", "reason": "Glass"}
# Another session inserts this row without a commit, so the portion with the last customer waits for that session.
LAST_NOTIFICATION = """
    INSERT INTO loyalty_notification (brand_id, user_id, template, key, payload, covers, is_test, opened_at)
    VALUES (%s, %s, 'NOTIFY_RECALL', %s, '{}', '[]', false, now())
"""


@pytest.fixture
def workers(transactional_db, tmp_path):
    running = Stack(log=tmp_path / "log", redis_url=settings.REDIS_URL)
    running.constants = {"EVENT_LEASE_SECONDS": 2, "EVENT_SWEEP_SECONDS": 1}
    yield running
    running.stop()


def test_worker_killed_inside_a_portion_notifies_each_customer_once(workers, box):
    brand = factories.brand()
    batch = factories.batch(brand, scan_limit=None)
    customers = [factories.customer(brand) for _ in range(CUSTOMERS)]
    for customer in customers:
        scan(batch.codes.get(), user=customer)
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **RECALL_FIELDS)
    notified = Notification.objects.filter(key=notifications.key_of(recall))

    with locked_by_another_session(LAST_NOTIFICATION, [brand.pk, customers[-1].pk, notifications.key_of(recall)]):
        job = notifications.start(recall=recall, by=None)
        killed = workers.start_worker()
        wait_until(waiting_for_a_lock)
        workers.kill(killed)
        with connection.as_owner(), connection.cursor() as cursor:
            cursor.execute(TERMINATE)
    job.refresh_from_db()
    assert (job.status, job.done, job.total) == ("running", notifications.AT_ONCE, CUSTOMERS)
    assert notified.count() == notifications.AT_ONCE, "customers of the interrupted portion were notified"
    assert Event.objects.filter(detail_type="send-notice").count() == notifications.AT_ONCE

    Job.objects.filter(pk=job.pk).update(alive_at=timezone.now() - timedelta(minutes=2))  # as if silent for so long
    queue.resume()
    second = workers.start_worker()
    wait_until(lambda: Job.objects.filter(pk=job.pk, status="done").exists())
    wait_until(lambda: NotificationDelivery.objects.count() == CUSTOMERS)
    workers.kill(second)
    job.refresh_from_db()
    assert (job.attempts, job.done) == (2, CUSTOMERS)
    assert sorted(notified.values_list("user", flat=True)) == [customer.pk for customer in customers]
    assert notifications.to_notify(recall, scopes.of_recall(recall)) == []

    # The workers had no mail server: their messages are sent again here, where one listens.
    wait_until(lambda: deliver_waiting_messages() == 0)
    assert Counter(box.recipients) == {customer.email: 1 for customer in customers}


def deliver_waiting_messages():
    """Deliver every message that still waits, also those of the killed worker. Returns how many are left."""
    Event.objects.pending().update(due_at=timezone.now())
    for lane in slow_lanes():
        worker.drain(lane=lane)
    return Event.objects.pending().filter(lane__in=slow_lanes()).count()
