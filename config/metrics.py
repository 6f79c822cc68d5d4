"""The Prometheus metrics at `/metrics`: counters of all processes, and the current state of database and broker."""

import hmac
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from config.celery import BROKER_ERRORS, app
from core.db.statements import query, query_values
from core.observability import metrics
from core.web.client_address import exact_address
from events import messages
from jobs.waits import overdue_seconds
from loyalty.models.wallets import STALE_AFTER, Platform

logger = logging.getLogger(__name__)

# What the database or the broker raises while it is away.
OUTAGES: tuple[type[Exception], ...] = (DatabaseError, *BROKER_ERRORS)

PATIENCE_SECONDS = 2
# Backlogs are counted only up to this number, so that a scrape causes no load of its own.
MAX_COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class PendingEvents:
    """The number of a kind's events that wait in a lane, when the oldest was created, and when the first was due."""

    lane: str
    kind: str
    number: int
    created_at: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True)
class DeadEvents:
    kind: str
    number: int


@dataclass(frozen=True, slots=True)
class Jobs:
    kind: str
    status: str
    number: int


@dataclass(frozen=True, slots=True)
class StalePasses:
    """Passes in a platform's wallets that are older than their member's balance."""

    platform: str
    unpushed: int = 0
    behind: int = 0
    seconds: Decimal | None = None  # since the first pass changed that is not pushed yet


COUNT_PENDING = query("config/sql/count_pending_events.sql", returns=PendingEvents)
COUNT_DEAD = query("config/sql/count_dead_events.sql", returns=DeadEvents)
COUNT_JOBS = query("config/sql/count_jobs.sql", returns=Jobs)
FETCH_JOB_SILENCE = query_values("config/sql/fetch_job_silence.sql", "seconds")
COUNT_STALE_PASSES = query("config/sql/count_stale_passes.sql", returns=StalePasses)


class MetricCollector:
    """A collector for one scrape; yields the metrics of `collect`."""

    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self.collect = collect


@require_safe
def scrape(request: HttpRequest) -> HttpResponse:
    """`GET /metrics`; 404 for callers without permission."""
    if not may_read(request.META, exact_address(request.META)):
        raise Http404
    body, content_type = encoded([metrics.collected, state_metrics], request.headers.get("Accept", ""))
    return HttpResponse(body, content_type=content_type)


def may_read(headers: dict[str, Any], address: IPv4Address | IPv6Address | None) -> bool:
    """Whether the request carries settings.METRICS_TOKEN or comes from settings.METRICS_NETWORKS.

    A request through a proxy that is not configured has the proxy's address, so its address is not trusted.
    """
    if settings.METRICS_TOKEN:
        expected = f"Bearer {settings.METRICS_TOKEN}".encode()
        if hmac.compare_digest(headers.get("HTTP_AUTHORIZATION", "").encode(errors="replace"), expected):
            return True
    if "HTTP_X_FORWARDED_FOR" in headers and not settings.TRUSTED_PROXIES:
        return False
    return address is not None and any(address in ip_network(network) for network in settings.METRICS_NETWORKS)


def encoded(sources: Iterable[Callable[[], Iterable[Metric]]], accept: str) -> tuple[bytes, str]:
    """The sources in the format that `accept` requests, and its content type."""
    registry = CollectorRegistry()
    for source in sources:
        registry.register(MetricCollector(source))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def state_metrics() -> Iterator[Metric]:
    """The current state of the whole installation. Every host reports the same: use the maximum, not the sum."""
    read = GaugeMetricFamily(
        "loyalty_state_read", "Whether this part could be read; 0: its gauges are missing.", labels=["part"]
    )
    for part, collect in {"database": database_metrics, "broker": broker_metrics}.items():
        try:
            rows = list(collect())
        except OUTAGES as error:
            logger.warning("/metrics lacks the %s: %s", part, error)
            rows = []
        read.add_metric([part], 1 if rows else 0)
        yield from rows
    yield read


def database_metrics() -> Iterator[Metric]:
    now = timezone.now()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = %s", [PATIENCE_SECONDS * 1000])
        pending = COUNT_PENDING.all(limit=MAX_COUNTED)
        dead = [(row.kind, row.number) for row in COUNT_DEAD.all(limit=MAX_COUNTED)]
        jobs = [(row.kind, row.status, row.number) for row in COUNT_JOBS.all()]
        silence = float(FETCH_JOB_SILENCE.first() or 0)
        job_wait = overdue_seconds(now)
        stale = COUNT_STALE_PASSES.all(stale_before=now - STALE_AFTER, limit=MAX_COUNTED)
    yield from pending_gauges(pending, now)
    yield gauge("loyalty_events_dead", "Events given up, which wait for staff.", ["kind"], dead)
    yield gauge("loyalty_jobs", "Jobs, by what they do and how far they are.", ["kind", "status"], jobs)
    yield gauge("loyalty_job_silence_seconds", "Since a running job last gave a sign.", [], [(silence,)])
    yield gauge("loyalty_job_wait_seconds", "How long a job that a worker could take has waited.", [], [(job_wait,)])
    yield from wallet_gauges(stale)


def pending_gauges(pending: Sequence[PendingEvents], now: datetime) -> Iterator[Metric]:
    numbers = [(row.lane, row.kind, row.number) for row in pending]
    ages, waits = dict.fromkeys(lanes(), 0.0), dict.fromkeys(lanes(), 0.0)
    for row in pending:
        ages[row.lane] = max(ages.get(row.lane, 0), (now - row.created_at).total_seconds())
        waits[row.lane] = max(waits.get(row.lane, 0), (now - row.due_at).total_seconds())
    yield gauge("loyalty_events_pending", "Events to be delivered.", ["lane", "kind"], numbers)
    yield gauge("loyalty_oldest_event_seconds", "Age of the oldest event to be delivered.", ["lane"], ages.items())
    yield gauge("loyalty_overdue_event_seconds", "How long one that may go has waited.", ["lane"], waits.items())


def wallet_gauges(stale: Iterable[StalePasses]) -> Iterator[Metric]:
    by_platform = {row.platform: row for row in stale}
    platforms = [by_platform.get(platform, StalePasses(platform)) for platform in Platform.values]
    unpushed = [(row.platform, row.unpushed) for row in platforms]
    oldest = [(row.platform, row.seconds or 0) for row in platforms]
    behind = [(row.platform, row.behind) for row in platforms]
    yield gauge("loyalty_wallet_unpushed", "Passes changed, of which nobody was told yet.", ["platform"], unpushed)
    yield gauge("loyalty_wallet_unpushed_seconds", "Since the first of them changed.", ["platform"], oldest)
    yield gauge("loyalty_wallet_behind", "Passes that a wallet has not taken for an hour.", ["platform"], behind)


def lanes() -> list[str]:
    return [messages.POINTS, *messages.slow_lanes()]


def broker_metrics() -> Iterator[Metric]:
    """Messages that wait in Celery's queues. They only wake workers, so many of them are a sign, not a backlog."""
    queues = {settings.CELERY_TASK_DEFAULT_QUEUE, "work", *(messages.lane_named(lane).queue for lane in lanes())}
    with app.connection_for_read(connect_timeout=PATIENCE_SECONDS) as line:
        line.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=PATIENCE_SECONDS)
        waiting = [(queue, messages_in(line, queue)) for queue in sorted(queues)]
    yield gauge("loyalty_queue_messages", "Messages that no worker has taken yet.", ["queue"], waiting)


def messages_in(line: Any, queue: str) -> int:
    with line.channel() as channel:  # AMQP closes a channel that asks for a queue which does not exist yet
        try:
            return int(channel.queue_declare(queue, passive=True).message_count)
        except line.channel_errors:
            return 0


def gauge(name: str, description: str, labels: list[str], rows: Iterable[Iterable[Any]]) -> GaugeMetricFamily:
    """`rows`: the values of the labels, then the metric's value."""
    family = GaugeMetricFamily(name, description, labels=labels)
    for *label_values, value in rows:
        family.add_metric([str(each) for each in label_values], float(value))
    return family
