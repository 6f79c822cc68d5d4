"""Liveness depends on the process alone; readiness depends on the services that it needs."""

from datetime import timedelta

import pytest
from amqp.exceptions import AccessRefused
from django.db import connection
from django.test import Client
from django.urls import path
from django.utils import timezone

from config import celery, health
from events.models import Event
from jobs.models import Job
from tests.support import factories

pytestmark = pytest.mark.urls(__name__)

urlpatterns = [path("healthz", health.Alive.as_view()), path("readyz", health.Ready.as_view())]


@pytest.fixture
def missing_socket(tmp_path):
    return f"{tmp_path}/nobody.sock"


def ready():
    return Client().get("/readyz")


def failing(response):
    checks = response.json()["details"]["checks"]
    return [name for name, state in checks.items() if state["status"] == "failing"]


def waiting_event(brand, *, seconds, **fields):
    due_at = timezone.now() - timedelta(seconds=seconds)
    return Event.objects.create(brand=brand, source="test", detail_type="scan-auth", detail={}, due_at=due_at, **fields)


def test_liveness_check_needs_no_database():
    response = Client().get("/healthz")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_ready_when_every_part_answers(db, settings):
    response = ready()

    assert response.status_code == 200
    assert response.json() == {
        "status": "ok",
        "checks": {
            "database": {"status": "ok"},
            "redis": {"status": "ok"},
            "broker": {"status": "ok"},
            "events": {
                "status": "ok",
                "oldest_seconds": 0,
                "limit_seconds": settings.READY_EVENT_AGE_SECONDS,
            },
            "jobs": {"status": "ok", "waiting_seconds": 0, "limit_seconds": settings.READY_JOB_WAIT_SECONDS},
        },
    }


def test_not_ready_without_redis(db, settings, missing_socket):
    settings.REDIS_URL = f"unix://{missing_socket}"

    response = ready()

    assert (response.status_code, response.json()["error"], failing(response)) == (503, "UNAVAILABLE", ["redis"])
    assert response["Retry-After"] == "5"
    assert missing_socket not in response.content.decode()


def test_not_ready_if_the_broker_rejects_the_login(db, monkeypatch):
    def reject(*_arguments, **_options):
        raise AccessRefused("wrong password")

    monkeypatch.setattr("kombu.Connection.ensure_connection", reject)

    assert failing(ready()) == ["broker"]


def test_not_ready_without_the_broker(db, monkeypatch, missing_socket):
    monkeypatch.setattr(celery.app.conf, "broker_write_url", f"redis+socket://{missing_socket}")

    assert failing(ready()) == ["broker"]


@pytest.mark.django_db(transaction=True)
def test_not_ready_without_the_database(monkeypatch, missing_socket):
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "HOST", missing_socket)

    response = ready()

    assert failing(response) == ["database", "events", "jobs"]
    assert missing_socket not in response.content.decode()


def test_not_ready_while_an_event_waits_too_long(brand, settings):
    waiting_event(brand, seconds=settings.READY_EVENT_AGE_SECONDS + 5)

    response = ready()

    assert failing(response) == ["events"]
    assert response.json()["details"]["checks"]["events"]["oldest_seconds"] == settings.READY_EVENT_AGE_SECONDS + 5


@pytest.mark.parametrize(
    ("seconds", "fields"), [(10, {}), (-600, {}), (9_999, {"status": "done"}), (9_999, {"status": "dead"})]
)
def test_events_that_are_finished_or_not_overdue_do_not_prevent_readiness(brand, seconds, fields):
    waiting_event(brand, seconds=seconds, **fields)

    assert ready().status_code == 200


def test_other_methods_are_rejected_in_the_envelope():
    assert Client().post("/healthz").json()["error"] == "METHOD_NOT_ALLOWED"


def test_not_ready_while_a_job_waits_too_long(brand, settings):
    started = timezone.now() - timedelta(seconds=settings.READY_JOB_WAIT_SECONDS + 5)
    Job.objects.create(brand=brand, kind="generate", title="Nobody's", created_at=started)

    response = ready()

    assert response.status_code == 503
    assert response.json()["message"] == "Not ready: jobs."
    assert response.json()["details"]["checks"]["jobs"]["waiting_seconds"] >= settings.READY_JOB_WAIT_SECONDS + 5


def test_job_that_waits_for_busy_workers_is_not_a_failure(brand, settings):
    long_ago = timezone.now() - timedelta(hours=1)
    for _ in range(settings.JOB_WORKERS):
        Job.objects.create(
            brand=factories.brand(), kind="generate", title="x", status="running", alive_at=timezone.now()
        )
    Job.objects.create(brand=brand, kind="generate", title="Later", created_at=long_ago)

    assert ready().json()["checks"]["jobs"]["waiting_seconds"] == 0


def test_waiting_time_of_a_job_counts_from_the_last_freed_worker(brand):
    long_ago, now = timezone.now() - timedelta(hours=1), timezone.now()
    Job.objects.create(brand=brand, kind="generate", title="x", status="done", finished_at=now)
    Job.objects.create(brand=brand, kind="generate", title="Next", created_at=long_ago)

    assert ready().json()["checks"]["jobs"]["waiting_seconds"] < 5
