"""Health checks for operators: whether this process is alive, and whether it can do its work."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import Error, connection, transaction
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.celery import BROKER_ERRORS, app
from core.api.openapi.endpoint import PUBLIC, endpoint
from core.api.openapi.examples import answer_example
from core.api.outputs import Output
from core.api.tokenless_views import TokenlessView
from core.errors import Unavailable
from core.redis import client
from events.messages import POINTS
from events.models import Event
from jobs import waits

PATIENCE_SECONDS = 1
RETRY_SECONDS = 5

logger = logging.getLogger(__name__)

# What the database, the broker or Redis raises while it is away.
OUTAGES: tuple[type[Exception], ...] = (Error, *BROKER_ERRORS)


class AliveOutput(Output):
    status = serializers.ChoiceField(choices=["ok"])


class EventsOutput(AliveOutput):
    oldest_seconds = serializers.IntegerField(help_text="How long the oldest due event has waited.")
    limit_seconds = serializers.IntegerField(help_text="How long it may wait.")


class JobsOutput(AliveOutput):
    waiting_seconds = serializers.IntegerField(help_text="How long the oldest job that a worker could take has waited.")
    limit_seconds = serializers.IntegerField(help_text="How long it may wait.")


class ChecksOutput(Output):
    database = AliveOutput()
    redis = AliveOutput()
    broker = AliveOutput()
    events = EventsOutput()
    jobs = JobsOutput()


class ReadyOutput(AliveOutput):
    checks = ChecksOutput()


READY_PARTS = {
    "database": {"status": "ok"},
    "redis": {"status": "ok"},
    "broker": {"status": "ok"},
    "events": {"status": "ok", "oldest_seconds": 0, "limit_seconds": 300},
    "jobs": {"status": "ok", "waiting_seconds": 0, "limit_seconds": 120},
}
FAILING_PARTS = {
    **READY_PARTS,
    "broker": {"status": "failing"},
    "events": {"status": "failing", "oldest_seconds": 912, "limit_seconds": 300},
}


class Alive(TokenlessView):
    """`GET /healthz`: this process answers. It checks no database: an outage would restart all processes."""

    @endpoint(
        "check_alive",
        tag="Service",
        summary="Check that the process is alive",
        needs=[PUBLIC],
        responses=AliveOutput,
        examples=[answer_example("Alive", {"status": "ok"})],
    )
    def get(self, request: Request) -> Response:
        """Check that this process answers. Nothing else is checked, because a restart would fix nothing else."""
        return Response(AliveOutput.serialize({"status": "ok"}))


class Ready(TokenlessView):
    """`GET /readyz`: database, Redis, broker, and neither an event nor a job that waits for too long."""

    @endpoint(
        "check_ready",
        tag="Service",
        summary="Check that the service is ready",
        needs=[PUBLIC],
        error_examples={"UNAVAILABLE": {"details": {"checks": FAILING_PARTS}}},
        responses=ReadyOutput,
        examples=[answer_example("Ready", {"status": "ok", "checks": READY_PARTS})],
    )
    def get(self, request: Request) -> Response:
        """Check that it can do its work: database, Redis and broker answer, and no event or job waits for too long.

        If it cannot, the answer is 503, with the state of each part in `details.checks`.
        """
        parts = check_parts(timezone.now())
        failing = [name for name, state in parts.items() if state["status"] != "ok"]
        if not failing:
            return Response(ReadyOutput.serialize({"status": "ok", "checks": parts}))
        rejected = Unavailable(f"Not ready: {', '.join(failing)}.", retry_after=RETRY_SECONDS)
        rejected.details = {"checks": parts}
        raise rejected


def check_parts(at: datetime) -> dict[str, dict[str, Any]]:
    """The state of each part, by name."""
    return {
        "database": state_of(check_database),
        "redis": state_of(check_redis),
        "broker": state_of(check_broker),
        "events": state_of(lambda: check_events(at)),
        "jobs": state_of(lambda: check_jobs(at)),
    }


def state_of(check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of `check`. The reason for a failure is only logged, not returned."""
    try:
        return check()
    except OUTAGES as error:
        logger.warning("Readiness: %s", error)
        return {"status": "failing"}


def check_database() -> dict[str, Any]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = %s", [PATIENCE_SECONDS * 1000])
        cursor.execute("SELECT 1")
    return {"status": "ok"}


def check_redis() -> dict[str, Any]:
    client.client().ping()
    return {"status": "ok"}


def check_broker() -> dict[str, Any]:
    with app.connection_for_write(connect_timeout=PATIENCE_SECONDS) as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=PATIENCE_SECONDS)
    return {"status": "ok"}


def check_events(at: datetime) -> dict[str, Any]:
    """How long the oldest due event of the points lane has waited, in seconds."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = %s", [PATIENCE_SECONDS * 1000])
        due = Event.objects.pending().filter(lane=POINTS, due_at__lt=at)
        due_at = due.order_by("due_at").values_list("due_at", flat=True).first()
    age = int((at - due_at).total_seconds()) if due_at else 0
    limit = settings.READY_EVENT_AGE_SECONDS
    status = "ok" if age <= limit else "failing"
    return {"status": status, "oldest_seconds": age, "limit_seconds": limit}


def check_jobs(at: datetime) -> dict[str, Any]:
    """How long a job has waited although a worker could take it, in seconds: a sign of missing workers."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = %s", [PATIENCE_SECONDS * 1000])
        waited = int(waits.overdue_seconds(at))
    limit = settings.READY_JOB_WAIT_SECONDS
    return {"status": "ok" if waited <= limit else "failing", "waiting_seconds": waited, "limit_seconds": limit}
