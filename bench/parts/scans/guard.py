"""The cost of the database guard: the portal's pages with and without it, and a scan with its accrual."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from django.db import connection
from django.test import Client, override_settings

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from authcodes.models.products import Product
from authcodes.models.scans import Scan
from bench import processor, world
from bench.harness import Figure, Scale, interleaved, other_load_figure, ratio
from bench.parts.portal.lists import LISTS, browser, cases, filled, list_of, owner_of, spent
from bench.parts.scans import growth
from jobs.models import Job
from tests.support import factories

PART = "guard"
FIRST_PAGES = (Product, BatchRange, AuthCode, Scan, Job, Import)
PAGES = 1.10
SCANS = 1.05  # nothing measurable: two runs of the same code differ by this much


def measure(scale: Scale) -> list[Figure]:
    size, rounds, each, times = scale.pick((500_000, 8, 24, 300), (50_000, 3, 9, 60), (2_000, 1, 1, 4))
    # Fewer than five scans of each customer, a tenth of the rows: the fifth earns a mug, which adds an event.
    place = growth.filled(*scale.pick((20_000, 6_400), (10_000, growth.FRESH), (200, 50)))
    return [*pages(size, each), *scans(place, rounds, times)]


def pages(size: int, each: int) -> list[Figure]:
    world.use_database("bench_guard", new=True)
    brand = factories.brand(time_zone="Asia/Kolkata")
    filled(brand, size, "D")
    filled(factories.brand(), size // 5, "N")
    world.run("VACUUM ANALYZE")
    with override_settings(ALLOWED_HOSTS=["*"]):
        client = browser(owner_of(brand))
        address_by_name = addresses(brand, size)
        with processor.watched() as other_processes:
            results_by_name = {what: compared(client, address, each) for what, address in address_by_name.items()}
    guarded, unguarded = (sum(each[way] for each in results_by_name.values()) for way in (0, 1))
    return [
        Figure(PART, "portal pages together, guarded / unguarded", guarded / unguarded, "x", PAGES, at_least=False),
        *(
            Figure(PART, what, ours / plain, note=f"{ours:.1f} ms of processor time guarded")
            for what, (ours, plain) in results_by_name.items()
        ),
        Figure(PART, "these pages together, guarded", guarded, "ms"),
        other_load_figure(PART, [other_processes.share * 100]),
    ]


def compared(client: Client, address: str, times: int) -> tuple[float, float]:
    """The cheapest of `times` answers with the guard and without, in turns: disturbances can only add to the cost."""
    guarded, unguarded = [], []
    spent(client, address)
    for _ in range(times):
        guarded.append(cost(client, address))
        with filters_alone():
            unguarded.append(cost(client, address))
    return min(guarded), min(unguarded)


def cost(client: Client, address: str) -> float:
    """Milliseconds of processor time, of this process and of its PostgreSQL session."""
    before = processor_seconds()
    spent(client, address)
    return (processor_seconds() - before) * 1000


def processor_seconds() -> float:
    session = connection.connection.info.backend_pid
    nanoseconds = Path(f"/proc/{session}/schedstat").read_text().split()[0]
    return time.process_time() + int(nanoseconds) / 1e9


@contextmanager
def filters_alone() -> Iterator[None]:
    """Keep the session in the application's role."""
    connection.assume()  # type: ignore[attr-defined] # of our own backend
    connection.settings_dict["GUARD"] = False
    try:
        yield
    finally:
        connection.settings_dict["GUARD"] = True


def addresses(brand: Any, size: int) -> dict[str, str]:
    """The home page, the long lists with usual filters, and the first page of other lists."""
    by_name = {"front page": "/admin/"}
    for name, model in LISTS.items():
        by_name |= {
            f"{name}: {what}": address for what, address in cases(brand, model, size).items() if is_displayed(what)
        }
    return by_name | {f"{model._meta.model_name}s": list_of(model) for model in FIRST_PAGES}


def is_displayed(what: str) -> bool:
    """One of each kind; `lists` measures all of them."""
    return what in {
        "first page",
        "page in the middle",
        "search: how a code begins",
        "search: a customer",
        "a month",
        "a place",
    }


def scans(place: growth.Place, rounds: int, times: int) -> list[Figure]:
    costs = partial(growth.costs, place, times)
    ways: dict[str, Callable[[], Any]] = {"its role": costs, "the owner": partial(without, costs)}
    results_by_name, other_processes = interleaved(PART, rounds, ways)
    ours, owners = results_by_name.values()
    return [
        *(
            ratio(
                PART,
                f"{kind}: under the application's role / as the owner",
                [each[kind] for each in ours],
                [each[kind] for each in owners],
                goal=SCANS,
                at_least=False,
            )
            for kind in ("scan", "accrual")
        ),
        Figure(PART, "scan under the application's role", median(each["scan"] for each in ours), "ms"),
        other_processes,
    ]


def without(act: Callable[[], Any]) -> Any:
    """Run `act` without roles and row-level security, as the owner of the tables."""
    with unguarded():
        return act()


@contextmanager
def unguarded() -> Iterator[None]:
    connection.close()
    connection.settings_dict["GUARD"] = False
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["GUARD"] = True
