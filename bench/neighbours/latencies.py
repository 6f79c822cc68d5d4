"""The effects on B: how long its scans, webhooks and pages take, and the probe of /healthz."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from statistics import quantiles

from django.conf import settings

from bench.harness import say
from bench.neighbours.brands import Brands, ask

SCANS_A_SECOND = 15


@dataclass
class Latencies:
    """Seconds that each call took, from when it was due."""

    scans: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    sent: dict[str, float] = field(default_factory=dict)
    called: dict[str, float] = field(default_factory=dict)
    rejected: int = 0

    def worst(self, until: float) -> dict[str, float]:
        hooks = [self.called.get(code, until) - at for code, at in self.sent.items()]
        return {
            "scan p99": quantiles(self.scans, n=100)[98] if len(self.scans) > 1 else 99.0,
            "webhook": max(hooks, default=99.0),
            "page": max(self.pages, default=99.0),
            "health": max(self.health, default=99.0),
        }


def come_first() -> None:
    """Raise the calling thread's priority, if the system allows it.

    B's phones and browsers are separate machines in reality: they must not wait for a processor here.
    """
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -10)


def watch(here: Brands, latencies: Latencies, *, seconds: float) -> None:
    """Run B's work for this long."""
    end = time.monotonic() + seconds

    def scan(due: float, number: int) -> None:
        code = next(here.codes)
        token = here.tokens_b[number % len(here.tokens_b)]
        status, _body = ask(
            "POST",
            f"/api/v1/verify/product/{code}",
            {},
            Authorization=f"Bearer {token}",
            X_Forwarded_For=f"203.0.113.{number % 200}",
        )
        latencies.scans.append(time.monotonic() - due)
        if status == 200:
            latencies.sent[code] = due
        else:
            latencies.rejected += 1

    def probe() -> None:
        while time.monotonic() < end:
            began = time.monotonic()
            status, _body = ask("GET", "/healthz")
            latencies.health.append(time.monotonic() - began if status == 200 else 99)
            time.sleep(0.2)

    def open_pages() -> None:
        while time.monotonic() < end:
            began = time.monotonic()
            cookie = f"{settings.SESSION_COOKIE_NAME}={here.staff_b}"
            status, body = ask("GET", "/admin/loyalty/userpoints/", Cookie=cookie)
            latencies.pages.append(time.monotonic() - began if status == 200 else 99)
            if status != 200:
                say(f"  a page of B was answered with {status} after {time.monotonic() - began:.1f} s: {body[:300]!r}")
            time.sleep(0.5)

    with ThreadPoolExecutor(64, initializer=come_first) as pool:
        pool.submit(probe)
        pool.submit(open_pages)
        due = time.monotonic()
        for number in count():
            if due > end:
                break
            time.sleep(max(0, due - time.monotonic()))
            pool.submit(scan, due, number)
            due += 1 / SCANS_A_SECOND
