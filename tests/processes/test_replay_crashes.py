"""A worker is killed with -9 during a replay: none of it is saved, and another worker gets the full result."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from campaigns.models.replays import Replay
from campaigns.replay import drafts, jobs
from events.models import Event
from jobs import queue
from jobs.models import Job
from tests.support import factories
from tests.support.live_stack import Stack, wait_until

ACTIONS = 40_000
MEMBERS = 200


@pytest.fixture
def workers(transactional_db, tmp_path):
    running = Stack(log=tmp_path / "log", redis_url=settings.REDIS_URL)
    yield running
    running.stop()


def test_replay_of_a_killed_worker_is_completed_by_another(workers):
    brand = factories.brand()
    customers = [factories.customer(brand) for _number in range(MEMBERS)]
    now = timezone.now()
    Event.objects.bulk_create(rejected_login(brand, customers, number, now) for number in range(ACTIONS))
    rule = factories.earning_rule(brand, "log-user-login", 3, state="draft", name="Hello")
    replay = jobs.start(brand=rule.brand, draft=drafts.of_rule(rule), days=30, by=None, at=now + timedelta(minutes=1))
    replay_job = Job.objects.filter(pk=replay.job_id)

    worker = workers.start_worker()
    wait_until(lambda: replay_job.filter(status="running", done__gt=0, done__lt=ACTIONS).exists(), seconds=60)
    workers.kill(worker)

    assert replay_job.filter(status="running", attempts=1).exists()
    assert Replay.objects.get().result is None
    replay_job.update(alive_at=now - timedelta(minutes=2))  # as if it had been silent for so long
    queue.resume()
    workers.start_worker()
    wait_until(lambda: replay_job.filter(status="done").exists(), seconds=60)
    replay.refresh_from_db()
    assert (replay_job.get().attempts, replay.result["actions"], replay.result["differences"]) == (2, ACTIONS, 0)
    # Each member's first login of each day would earn.
    assert sum(float(day[2]) for day in replay.result["days"]) == 3 * MEMBERS * 10


def rejected_login(brand, customers, number, now):
    """A login event without a matching rule, on one of ten days."""
    at = now - timedelta(days=number // MEMBERS % 10)
    user_id = customers[number % MEMBERS].pk
    return Event(
        brand=brand,
        source="shop.customer-app",
        detail_type="log-user-login",
        time=at,
        detail={"arguments": {"brand_id": brand.pk, "user_id": user_id}, "payload": {"type": "login"}},
        status=Event.Status.REJECTED,
        outcome={"error": "NOT_ELIGIBLE", "message": "", "details": {}},
        attempts=1,
        created_at=at,
        finished_at=at,
    )
