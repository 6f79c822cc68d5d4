"""One brand does its worst at each shared resource; what its neighbour notices, with the bounds and without them.

While brand A attacks, brand B scans at a steady pace (open loop), its webhook is called for each scan, a member of its
staff opens a page, and a probe asks /healthz. Every second round runs without FAIR_SHARES and with four threads of the
web in all, as a control.
"""

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from multiprocessing import get_context
from statistics import quantiles
from typing import Any

from django.conf import settings
from django.test import Client
from django.utils import timezone

from bench import site, world
from bench.harness import Figure, Scale, say
from brands.identity import api_keys, tokens
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from jobs import queue
from jobs.models import Job
from loyalty.integrations import external_system, webhook_endpoints, webhook_events
from loyalty.models import webhooks
from loyalty.models.webhooks import WebhookType
from tests.support import factories
from tests.support.fakes.fake_http import Receiver, Reply, receiver, reset_breakers

PART = "neighbours"
LOOPBACK = "127.0.0.0/8"
SCANS_A_SECOND = 15
GOALS = {"scan p99": 0.150, "webhook": 2.0, "page": 1.0, "health": 0.100}
SETTINGS = {
    "OUTGOING_PRIVATE_NETWORKS": LOOPBACK,
    "TRUSTED_PROXIES": "1",  # so that each caller has an address of their own
    "RATE_LIMITS": "login=1000000/minute,login_address=1000000/minute,campaign_event=1000000/minute",
    "HTTPS": "0",
}
PASSWORD = "correct horse battery"
_number = count(1)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Seconds of a round, before it, after it, and after one of the control; B's codes; A's jobs and codes in each."""

    round: float
    before: float
    after: float
    after_control: float
    codes: int
    jobs: int
    of_a_job: int
    heavy_rows: int = 12_000_000


FULL = Lengths(30, 1.5, 3, 10, codes=5_000, jobs=20, of_a_job=200_000)
QUICK = Lengths(8, 1.5, 3, 10, codes=5_000, jobs=20, of_a_job=200_000)
TINY = Lengths(0.5, 0.1, 0, 0, codes=60, jobs=2, of_a_job=100, heavy_rows=1_000)


@dataclass
class Brands:
    """A, who attacks, and B, who goes on working."""

    a: Brand
    b: Brand
    hub: str
    token: str
    customer: User
    staff_a: list[str]
    staff_b: str
    codes: Iterator[str]
    tokens_b: list[str]
    product_batch: Any
    lengths: Lengths


def session_of(brand: Brand) -> str:
    """The session of a manager of the brand who has just logged in."""
    person = factories.user(is_staff=True)
    StaffRole.objects.create(user=person, brand=brand, role=StaffRole.Role.MANAGER)
    browser = Client()
    browser.force_login(person)
    return str(browser.cookies[settings.SESSION_COOKIE_NAME].value)


def brands(lengths: Lengths) -> Brands:
    a, b = (
        factories.brand(slug=f"{name}-{next(_number)}", hostname=f"{name}{next(_number)}.example.com") for name in "ab"
    )
    for brand in (a, b):
        factories.level(brand)
    batch = factories.batch(b, quantity=lengths.codes, prefix=f"N{next(_number)}-", number_width=8)
    customer = factories.customer(a)
    _key, hub = api_keys.create(brand=a, kind="hub", name="bench", at=timezone.now(), scopes=["events"])
    buyers = [factories.customer(b) for _ in range(50)]
    return Brands(
        a=a,
        b=b,
        hub=hub,
        token=tokens.issue(user=customer, brand=a, at=timezone.now()).access,
        customer=customer,
        staff_a=[session_of(a) for _ in range(4)],
        staff_b=session_of(b),
        codes=iter(batch.codes.values_list("code", flat=True)),
        tokens_b=[tokens.issue(user=buyer, brand=b, at=timezone.now()).access for buyer in buyers],
        product_batch=batch,
        lengths=lengths,
    )


def ask(method: str, path: str, body: Any = None, *, seconds: float = 30, **headers: str) -> tuple[int, bytes]:
    """The answer's status and body; 0 where there was none in time."""
    line = http.client.HTTPConnection("127.0.0.1", site.PORT, timeout=seconds)
    try:
        content = json.dumps(body).encode() if body is not None else None
        given = {"Content-Type": "application/json"} if content else {}
        line.request(method, path, content, given | {name.replace("_", "-"): text for name, text in headers.items()})
        answer = line.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        line.close()


# --- What B notices ---------------------------------------------------------------------------------------------------


@dataclass
class Noticed:
    """Seconds that each call took, from when it was due."""

    scans: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    sent: dict[str, float] = field(default_factory=dict)
    heard: dict[str, float] = field(default_factory=dict)
    refused: int = 0

    def worst(self, until: float) -> dict[str, float]:
        hooks = [self.heard.get(code, until) - at for code, at in self.sent.items()]
        return {
            "scan p99": quantiles(self.scans, n=100)[98] if len(self.scans) > 1 else 99.0,
            "webhook": max(hooks, default=99.0),
            "page": max(self.pages, default=99.0),
            "health": max(self.health, default=99.0),
        }


def come_first() -> None:
    """B's phones and browsers are machines of their own: none of their time is spent waiting for a processor here.

    For the calling thread, where the system lets this user.
    """
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -10)


def watch(here: Brands, noticed: Noticed, *, seconds: float) -> None:
    """B at work for so long."""
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
        noticed.scans.append(time.monotonic() - due)
        if status == 200:
            noticed.sent[code] = due
        else:
            noticed.refused += 1

    def probe() -> None:
        while time.monotonic() < end:
            began = time.monotonic()
            status, _body = ask("GET", "/healthz")
            noticed.health.append(time.monotonic() - began if status == 200 else 99)
            time.sleep(0.2)

    def look() -> None:
        while time.monotonic() < end:
            began = time.monotonic()
            cookie = f"{settings.SESSION_COOKIE_NAME}={here.staff_b}"
            status, body = ask("GET", "/admin/loyalty/userpoints/", Cookie=cookie)
            noticed.pages.append(time.monotonic() - began if status == 200 else 99)
            if status != 200:
                say(f"  a page of B was answered with {status} after {time.monotonic() - began:.1f} s: {body[:300]!r}")
            time.sleep(0.5)

    with ThreadPoolExecutor(64, initializer=come_first) as pool:
        pool.submit(probe)
        pool.submit(look)
        due = time.monotonic()
        for number in count():
            if due > end:
                break
            time.sleep(max(0, due - time.monotonic()))
            pool.submit(scan, due, number)
            due += 1 / SCANS_A_SECOND


# --- What A does ------------------------------------------------------------------------------------------------------

Attack = Callable[[Brands, threading.Event], None]


def again_and_again(number: int, over: threading.Event, call: Callable[[int], tuple[int, bytes]]) -> None:
    """`number` threads of another process call until it is over.

    A process apart, behind all others in line for a processor: attackers have machines of their own.
    """
    attackers = get_context("fork").Process(target=call_for_ever, args=(number, call), daemon=True)
    attackers.start()

    def stop() -> None:
        over.wait()
        if not attackers.is_alive():
            say("  the attack did not last until the end of its round")
        attackers.kill()
        attackers.join()

    threading.Thread(target=stop, daemon=True).start()


def call_for_ever(number: int, call: Callable[[int], tuple[int, bytes]]) -> None:
    """Never returns. Raises RuntimeError for an answer that says that the call itself is wrong: it attacks nothing."""
    os.nice(10)

    def run(which: int) -> None:
        while True:
            status, body = call(which)
            if status in (400, 403, 404, 405, 422):
                raise RuntimeError(f"the attack is refused with {status}: {body[:300]!r}")

    with ThreadPoolExecutor(number) as pool:
        list(pool.map(run, range(number)))


def nothing(here: Brands, over: threading.Event) -> None:
    """The same without any attack."""


def slow_system(here: Brands, over: threading.Event) -> None:
    def call(_which: int) -> tuple[int, bytes]:
        number = next(_number)
        body = {
            "user_id": here.customer.pk,
            "brand_id": here.a.pk,
            "type": "order",
            "order": {
                "orderId": f"o{number}",
                "currency": "EUR",
                "subtotal": 10,
                "discount": 0,
                "total": 10,
                "items": [{"productId": 1, "sku": "1", "quantity": 1, "unitPrice": 10}],
            },
        }
        return ask(
            "POST",
            "/api/v1/brand/loyalty/campaign/event",
            body,
            api_key=here.hub,
            Authorization=f"Bearer {here.token}",
            Origin=f"https://{here.a.hostnames.get().hostname}",
        )

    again_and_again(24, over, call)


def slow_webhooks(here: Brands, over: threading.Event) -> None:  # noqa: ARG001 - an attack
    for endpoint in here.a.webhook_endpoints.all():
        for _ in range(15):
            webhook_events.ping(endpoint=endpoint, at=timezone.now())


def heavy_pages(here: Brands, over: threading.Event) -> None:
    def call(which: int) -> tuple[int, bytes]:
        cookie = f"{settings.SESSION_COOKIE_NAME}={here.staff_a[which % len(here.staff_a)]}"
        return ask("GET", "/admin/bench/heavy", Cookie=cookie)

    again_and_again(8, over, call)


def twenty_jobs(here: Brands, over: threading.Event) -> None:  # noqa: ARG001 - an attack
    quantity = here.lengths.of_a_job
    for _ in range(here.lengths.jobs):
        batch = world.batch_of(here.a, factories.product(here.a), quantity=quantity, prefix=f"J{next(_number)}-")
        queue.start(brand=here.a, kind="generate", title="bench", parameters={"batch_id": batch.pk}, by=None)


def slow_uploads(here: Brands, over: threading.Event) -> None:
    head = (
        "POST /api/v1/auth-codes/scan HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 198.51.100.9\r\n"
        f"api-key: {here.hub}\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n\r\n{{"
    )

    def hold() -> None:
        lines = []
        for _ in range(200):
            with suppress(OSError):
                line = socket.create_connection(("127.0.0.1", site.PORT), timeout=2)
                line.sendall(head.encode())
                lines.append(line)
        over.wait()
        for line in lines:
            line.close()

    threading.Thread(target=hold, daemon=True).start()


def login_flood(here: Brands, over: threading.Event) -> None:
    def call(which: int) -> tuple[int, bytes]:
        number = next(_number)
        body = {"email": f"nobody{os.getpid()}-{number}@example.com", "password": PASSWORD, "brand_id": here.a.pk}
        return ask("POST", "/api/v1/auth/token", body, X_Forwarded_For=f"198.51.100.{which}")

    again_and_again(32, over, call)


ATTACKS: dict[str, Attack] = {
    "no attack": nothing,
    "slow external system": slow_system,
    "slow webhooks": slow_webhooks,
    "heavy filters": heavy_pages,
    "20 jobs": twenty_jobs,
    "200 slow uploads": slow_uploads,
    "login flood": login_flood,
}


# --- Both -------------------------------------------------------------------------------------------------------------


@contextmanager
def neighbourhood(lengths: Lengths) -> Iterator[tuple[Brands, Noticed]]:
    """Two new brands; A's system answers after 1.8 s, its webhooks after 9; B's webhook says when it was called."""
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
        noticed = Noticed()
        listen(hook, noticed)
        yield here, noticed


def listen(hook: Receiver, noticed: Noticed) -> None:
    def hear(call: Any) -> None:
        for code in call.payload.get("data", {}).get("reason_ids", []):
            noticed.heard.setdefault(code, time.monotonic())

    hook.on_call = hear


def round_of(name: str, lengths: Lengths) -> dict[str, float]:
    with neighbourhood(lengths) as (here, noticed):
        over = threading.Event()
        for _ in range(10):  # B's staff are at work already: each web process has seen their session
            ask("GET", "/admin/loyalty/userpoints/", Cookie=f"{settings.SESSION_COOKIE_NAME}={here.staff_b}")
        try:
            ATTACKS[name](here, over)
            time.sleep(lengths.before)
            watch(here, noticed, seconds=lengths.round)
            until = time.monotonic() + 5
            while len(noticed.heard) < len(noticed.sent) and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            over.set()
        found = noticed.worst(time.monotonic())
        Job.objects.unfinished().update(cancel_requested=True)
        Job.objects.filter(status=Job.Status.QUEUED).update(status=Job.Status.CANCELLED)
        webhooks.WebhookEndpoint.objects.update(state="disabled")
        if noticed.refused:
            say(f"  {name}: {noticed.refused} of B's scans were refused")
    return found


def programs(*, fair: bool) -> dict[str, list[str]]:
    found = site.commands()
    if not fair:
        web = found["web"]
        web[web.index("--blocking-threads") + 1] = "2"
        at = web.index("--backpressure")
        del web[at : at + 2]
        jobs_of = found["jobs"]
        jobs_of[jobs_of.index("--concurrency") + 1] = "3"
    return found


def measure(scale: Scale) -> list[Figure]:
    lengths = scale.pick(FULL, QUICK, TINY)
    settings.OUTGOING_PRIVATE_NETWORKS = [LOOPBACK]
    os.environ |= SETTINGS | {"BENCH_HEAVY_ROWS": str(lengths.heavy_rows)}
    figures: list[Figure] = []
    for fair in (True,) if scale is Scale.TINY else (True, False):
        os.environ["BENCH_FAIR_SHARES"] = "1" if fair else "0"
        with site.running(programs(fair=fair)):
            round_of("no attack", replace(lengths, round=min(2, lengths.round)))  # what is made at the first request
            for name in ATTACKS:
                reset_breakers()
                found = round_of(name, lengths)
                say(f"  {'' if fair else 'control: '}{name}: " + ", ".join(f"{k} {v:.3f}" for k, v in found.items()))
                figures += [
                    Figure(
                        PART,
                        f"{name}: {what}" + ("" if fair else ", control"),
                        value,
                        "s",
                        goal=GOALS[what] if fair else None,
                        at_least=False,
                    )
                    for what, value in found.items()
                ]
                time.sleep(lengths.after if fair else lengths.after_control)
    return figures
