"""Attacks by brand A: the maximum load on each resource that brands share."""

import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context

from django.conf import settings
from django.utils import timezone

from bench import site, world
from bench.harness import say
from bench.neighbours.brands import Brands, ask, numbers
from jobs import queue
from loyalty.integrations import webhook_events
from tests.support import factories

PASSWORD = "correct horse battery"
Attack = Callable[[Brands, threading.Event], None]


def again_and_again(number: int, over: threading.Event, call: Callable[[int], tuple[int, bytes]]) -> None:
    """Run `number` threads that make calls until the attack is over.

    They run in a separate process with a low priority, because real attackers have their own machines.
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
    """Never returns. Raises RuntimeError for an answer that shows that the call itself is wrong and attacks nothing."""
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
        number = next(numbers)
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
        batch = world.batch_of(here.a, factories.product(here.a), quantity=quantity, prefix=f"J{next(numbers)}-")
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
        number = next(numbers)
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
