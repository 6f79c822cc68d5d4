"""One brand overloads each shared resource; measures the effect on its neighbour, with and without the bounds.

While brand A attacks, brand B scans at a steady rate (open loop), its webhook is called for each scan, a member of
its staff opens a page, and a probe requests /healthz. Every second round is a control without FAIR_SHARES, with four
web threads in total.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.utils import timezone

from bench import site
from bench.harness import Figure, Scale, say
from bench.neighbours.attacks import ATTACKS
from bench.neighbours.brands import Brands, Lengths, ask, brands
from bench.neighbours.latencies import Latencies, watch
from jobs.models import Job
from loyalty.integrations import external_system, webhook_endpoints
from loyalty.models import webhooks
from loyalty.models.webhooks import WebhookType
from tests.support import factories
from tests.support.fakes.fake_http import Receiver, Reply, receiver, reset_breakers

PART = "neighbours"
LOOPBACK = "127.0.0.0/8"
GOALS = {"scan p99": 0.150, "webhook": 2.0, "page": 1.0, "health": 0.100}
SETTINGS = {
    "OUTGOING_PRIVATE_NETWORKS": LOOPBACK,
    "TRUSTED_PROXIES": "1",  # so that each caller has an address of their own
    "RATE_LIMITS": "login=1000000/minute,login_address=1000000/minute,campaign_event=1000000/minute",
    "HTTPS": "0",
}
FULL = Lengths(30, 1.5, 3, 10, codes=5_000, jobs=20, of_a_job=200_000)
QUICK = Lengths(8, 1.5, 3, 10, codes=5_000, jobs=20, of_a_job=200_000)
TINY = Lengths(0.3, 0.1, 0, 0, codes=60, jobs=2, of_a_job=100, heavy_rows=1_000, visits=1, buyers=4)


@contextmanager
def two_brands(lengths: Lengths) -> Iterator[tuple[Brands, Latencies]]:
    """Two new brands. A's system answers after 1.8 s, its webhooks after 9 s; B's webhook records its calls."""
    with receiver() as slow_hook, receiver() as slow_rules, receiver() as hook:
        here = brands(lengths)
        slow_hook.answers(Reply(waits=9))
        slow_rules.answers(Reply(waits=1.8, body=b'{"decision": "proceed"}'))
        now = timezone.now()
        for number in range(4):
            url = slow_hook.url.replace("/hook", f"/hook{number}")
            webhook_endpoints.create(brand=here.a, url=url, types=[WebhookType.LEVEL_REACHED], at=now)
        webhook_endpoints.create(brand=here.b, url=hook.url, types=[WebhookType.POINTS_EARNED], at=now)
        external_system.create(
            brand=here.a, url=slow_rules.url, when_rejected="refuse", when_away="proceed", is_active=True
        )
        factories.earning_rule(here.a, "order-complete")
        latencies = Latencies()
        listen(hook, latencies)
        yield here, latencies


def listen(hook: Receiver, latencies: Latencies) -> None:
    def hear(call: Any) -> None:
        for code in call.payload.get("data", {}).get("reason_ids", []):
            latencies.called.setdefault(code, time.monotonic())

    hook.on_call = hear


def round_of(name: str, lengths: Lengths) -> dict[str, float]:
    with two_brands(lengths) as (here, latencies):
        over = threading.Event()
        for _ in range(lengths.visits):  # B's staff are at work already: each web process knows their session
            ask("GET", "/admin/loyalty/userpoints/", Cookie=f"{settings.SESSION_COOKIE_NAME}={here.staff_b}")
        try:
            ATTACKS[name](here, over)
            time.sleep(lengths.before)
            watch(here, latencies, seconds=lengths.round)
            until = time.monotonic() + 5
            while len(latencies.called) < len(latencies.sent) and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            over.set()
        figures_by_name = latencies.worst(time.monotonic())
        Job.objects.unfinished().update(cancel_requested=True)
        Job.objects.filter(status=Job.Status.QUEUED).update(status=Job.Status.CANCELLED)
        webhooks.WebhookEndpoint.objects.update(state="disabled")
        if latencies.rejected:
            say(f"  {name}: {latencies.rejected} of B's scans were refused")
    return figures_by_name


def programs(scale: Scale, *, fair: bool) -> dict[str, list[str]]:
    figures_by_name = site.commands(scale, "web", "worker", "jobs", "sender")
    if not fair:
        web = figures_by_name["web"]
        web[web.index("--blocking-threads") + 1] = "2"
        at = web.index("--backpressure")
        del web[at : at + 2]
        jobs_of = figures_by_name["jobs"]
        jobs_of[jobs_of.index("--concurrency") + 1] = "3"
    return figures_by_name


def measure(scale: Scale) -> list[Figure]:
    lengths = scale.pick(FULL, QUICK, TINY)
    settings.OUTGOING_PRIVATE_NETWORKS = [LOOPBACK]
    os.environ |= SETTINGS | {"BENCH_HEAVY_ROWS": str(lengths.heavy_rows)}
    figures: list[Figure] = []
    for fair in (True,) if scale is Scale.TINY else (True, False):
        os.environ["BENCH_FAIR_SHARES"] = "1" if fair else "0"
        with site.running(programs(scale, fair=fair), scale):
            round_of("no attack", replace(lengths, round=min(2, lengths.round)))  # warms up the first request
            for name in ATTACKS:
                reset_breakers()
                figures_by_name = round_of(name, lengths)
                say(
                    f"  {'' if fair else 'control: '}{name}: "
                    + ", ".join(f"{k} {v:.3f}" for k, v in figures_by_name.items())
                )
                figures += [
                    Figure(
                        PART,
                        f"{name}: {what}" + ("" if fair else ", control"),
                        value,
                        "s",
                        goal=GOALS[what] if fair else None,
                        at_least=False,
                    )
                    for what, value in figures_by_name.items()
                ]
                time.sleep(lengths.after if fair else lengths.after_control)
    return figures
