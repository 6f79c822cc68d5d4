"""An event that kills its worker is given up after five attempts, and other events are not affected."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as site

from events.models import Event
from tests.support import factories
from tests.support.live_stack import Stack, wait_until

KINDS = ["harmless", "deadly", "harmless", "twice-deadly", "harmless"]


@pytest.fixture
def worker(transactional_db: None, tmp_path: Path) -> Iterator[Stack]:
    running = Stack(log=tmp_path / "log", redis_url=site.REDIS_URL)
    running.settings = {"DJANGO_SETTINGS_MODULE": "tests.processes.crashing"}
    running.constants = {"EVENT_LEASE_SECONDS": 1, "EVENT_SWEEP_SECONDS": 1}
    yield running
    running.stop()


def test_event_that_kills_its_process_is_dead_after_five_attempts(transactional_db, worker):
    brand = factories.brand()
    for kind in KINDS:
        detail = {"arguments": {"brand_id": brand.pk}, "payload": {}}
        Event.objects.create(event_id=uuid.uuid4(), source="tests", detail_type=kind, brand=brand, detail=detail)

    worker.start_worker()
    wait_until(lambda: not Event.objects.pending().exists(), seconds=90)

    deadly = Event.objects.get(detail_type="deadly")
    assert (deadly.status, deadly.last_error) == (
        "dead",
        "Given up: 5 attempts ended their process or their connection to the database.",
    )
    other_events = Event.objects.exclude(pk=deadly.pk)
    assert set(other_events.values_list("status", flat=True)) == {"done"}
