"""The mailbox that receives a recall's notifications, and helpers that scan, recall and notify."""

import pytest
from django.utils import timezone

from authcodes.recalls import notifications, recalls
from jobs import runner
from tests.loyalty.notifications.conftest import box, work
from tests.support import factories
from tests.support.portal import scan

__all__ = ["box", "work"]


TEXTS = {"recall_id": "R-7", "contact": "call us", "message": "Stop using it.", "reason": "Glass"}


@pytest.fixture
def batch(brand):
    return factories.batch(brand, quantity=5, scan_limit=None)


def scan_codes(batch, *customers):
    for number, customer in enumerate(customers):
        scan(batch.codes.all()[number % 5], user=customer)


def recall_and_notify(batch):
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    send_notifications(recall)
    return recall


def send_notifications(recall):
    job = notifications.start(recall=recall, by=None)
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def figures(recall):
    progress = notifications.progress_of(recall).figures
    return progress.notified, progress.delivered, progress.failed, progress.acknowledged
