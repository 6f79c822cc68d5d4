"""Metrics for operators: requests, scans, accruals and deliveries, over all processes of a host.

Each process counts in its own memory-mapped files, and a request for the metrics adds them up (prometheus_client's
multiprocess mode). The files belong to a slot, not to a process: a starting process takes the lowest free slot and
continues its counts. So counts never decrease, and there are never more files than concurrent processes.
"""

import fcntl
import logging
import os
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from threading import Lock
from typing import IO

from django.conf import settings
from prometheus_client import CollectorRegistry, Counter, Histogram, multiprocess, values
from prometheus_client.metrics_core import Metric

logger = logging.getLogger(__name__)

METHODS = {"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"}
CLASSES = {number: f"{number}xx" for number in range(1, 6)}
FILE_BYTES = 2**21
REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
ACCRUAL_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 30, 300)


class Slot:
    """The number under which this process counts. No other process with the same directory has it at the same time."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._number: int | None = None
        self._lock: IO[bytes] | None = None
        os.register_at_fork(after_in_child=self._leave)

    def __call__(self) -> int:
        if self._number is None:  # at the first call, and in a child after a fork
            self._number, self._lock = self._take()
        return self._number

    def _leave(self) -> None:
        """After a fork, in the child: the slot remains the parent's."""
        self._number = self._lock = None

    def _take(self) -> tuple[int, IO[bytes]]:
        for number in count():
            lock = (self.directory / f"slot_{number}.lock").open("ab")
            try:
                # The kernel releases the lock however the process ends; a child does not inherit it.
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                continue
            for kind in ("counter", "histogram"):
                reserve(self.directory / f"{kind}_{number}.db")
            return number, lock
        raise AssertionError


def reserve(file: Path) -> None:
    """Allocate the disk space in advance: a full disk while a mapped file is written would kill the process."""
    with file.open("ab") as handle:
        if not handle.tell():
            os.posix_fallocate(handle.fileno(), 0, FILE_BYTES)


class Instruments:
    """Every counter and histogram. The label sets are bounded: routes, outcomes and kinds that the code defines."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Histogram(
            "loyalty_request_seconds",
            "Seconds until the answer, by address and class of status.",
            ["view", "method", "status"],
            buckets=REQUEST_SECONDS,
            registry=registry,
        )
        self.scans = Counter(
            "loyalty_scans",
            "Scans recorded, by their outcome and its reason.",
            ["outcome", "reason"],
            registry=registry,
        )
        self.accruals = Histogram(
            "loyalty_accrual_seconds",
            "Seconds from the event's time until its points were credited.",
            ["kind"],
            buckets=ACCRUAL_SECONDS,
            registry=registry,
        )
        self.attempts = Counter(
            "loyalty_event_attempts",
            "Attempts to deliver an event, by how they ended.",
            ["kind", "result"],
            registry=registry,
        )
        self.queued = Counter(
            "loyalty_sqs_messages", "Messages taken from SQS, by what became of them.", ["result"], registry=registry
        )
        self.turned_away = Counter(
            "loyalty_requests_turned_away",
            "Requests that got no thread, by their class: all were taken (busy), too many bodies or too slow a one.",
            ["threads", "reason"],
            registry=registry,
        )
        self.rejected = Counter(
            "loyalty_limits_reached",
            "Calls refused because a limit was used up: of calls, of guessing codes, or of tries of a password.",
            ["limit"],
            registry=registry,
        )
        self.waits = Histogram(
            "loyalty_request_wait_seconds",
            "Seconds that a request waited for a thread of its class, of those that waited.",
            ["threads"],
            buckets=REQUEST_SECONDS,
            registry=registry,
        )
        self.sweeps = Counter("loyalty_sweeps", "Looks for events that no call reached.", ["task"], registry=registry)


_making = Lock()


def instruments() -> Instruments:
    """Created at the first count, so that commands which count nothing take no slot.

    The lock makes concurrent first callers wait: the kernel grants a slot twice to one process, and closing either
    file releases it.
    """
    with _making:
        return _instruments()


@cache
def _instruments() -> Instruments:
    try:
        directory = Path(settings.METRICS_DIR)
        directory.mkdir(parents=True, exist_ok=True)
        slot = Slot(directory)
        slot()
    except OSError as error:
        logger.error("Nothing is counted for /metrics: METRICS_DIR cannot be used (%s)", error)
        values.ValueClass = values.MutexValue
    else:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)
        values.ValueClass = values.MultiProcessValue(slot)  # type: ignore[no-untyped-call]
    return Instruments(CollectorRegistry())


@cache
def _request(view: str, method: str, status: str) -> Histogram:
    return instruments().requests.labels(view, method, status)


@cache
def _scan(outcome: str, reason: str) -> Counter:
    return instruments().scans.labels(outcome, reason)


@cache
def _accrual(kind: str) -> Histogram:
    return instruments().accruals.labels(kind)


@cache
def _attempt(kind: str, result: str) -> Counter:
    return instruments().attempts.labels(kind, result)


def answered(*, view: str, method: str | None, status: int, seconds: float) -> None:
    """A request was answered."""
    known = method if method in METHODS else "other"
    _request(view, known, CLASSES.get(status // 100, "other")).observe(seconds)


def scanned(*, outcome: str, reason: str) -> None:
    """A scan was recorded."""
    _scan(outcome, reason).inc()


def credited(*, kind: str, seconds: float) -> None:
    """Points were credited, `seconds` after the action that earned them. A sender's fast clock counts as 0 seconds."""
    _accrual(kind).observe(max(0.0, seconds))


def attempted(*, kind: str, result: str) -> None:
    """An event's handler was run."""
    _attempt(kind, result).inc()


def taken_from_queue(result: str) -> None:
    """A message of the hub's queue was processed."""
    instruments().queued.labels(result).inc()


def turned_away(threads: str, reason: str) -> None:
    """A request was turned away without a thread."""
    instruments().turned_away.labels(threads, reason).inc()


def limit_reached(limit: str) -> None:
    """A call was rejected: `limit` is one of settings.RATE_LIMITS, or login_wait."""
    instruments().rejected.labels(limit).inc()


def waited(threads: str, seconds: float) -> None:
    """A request had to wait for a thread."""
    instruments().waits.labels(threads).observe(seconds)


def swept(task: str) -> None:
    """A periodic task ran: a sign that beat and a worker are alive."""
    instruments().sweeps.labels(task).inc()


def collected() -> Iterator[Metric]:
    """The sums over all processes that use settings.METRICS_DIR."""
    if Path(settings.METRICS_DIR).is_dir():
        yield from multiprocess.MultiProcessCollector(None, settings.METRICS_DIR).collect()  # type: ignore[no-untyped-call]
