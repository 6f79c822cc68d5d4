"""The cost of a scan and its accrual with 10 thousand and with 1 million codes, scans, ledger entries and events."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import shuffle
from statistics import median
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.test import Client

from authcodes.models.codes import AuthCode
from bench import world
from bench.harness import Figure, Scale, interleaved, ratio, say
from bench.parts.scans.scan import VERIFY
from events import worker, worker_signals

PART = "growth"
FRESH = 5_000
KINDS = ("scan", "scan, its SQL", "accrual", "accrual, its SQL")
PLACE = {"latitude": 18.52, "longitude": 73.85}


@dataclass
class Place:
    """One of the databases, with its codes that are still to be scanned."""

    name: str
    tokens: list[str]
    codes: list[str]
    used: int = field(default=0)


def measure(scale: Scale) -> list[Figure]:
    small, large, fresh = scale.pick((10_000, 1_000_000, FRESH), (10_000, 200_000, FRESH), (200, 400, 50))
    rounds, times = scale.pick((8, 300), (4, 100), (1, 4))
    places = {size: filled(size, fresh) for size in (small, large)}
    ways = {f"{size:,} rows": partial(costs, place, times) for size, place in places.items()}
    for way in ways.values():
        way()
    results_by_name, other_load = interleaved(PART, rounds, ways)
    few, many = results_by_name.values()
    figures = [other_load]
    for kind in KINDS:
        below, above = ([each[kind] for each in results] for results in (few, many))
        # Not 1: indexes on a hundred times the rows are a level deeper and do not fit into caches.
        goal: dict[str, Any] = {"goal": 1.25, "at_least": False} if kind in {"scan", "accrual"} else {}
        figures += [
            ratio(PART, f"{kind}: {large:,} rows / {small:,} rows", above, below, **goal),
            Figure(PART, f"{kind}: beside {small:,} rows", median(below), "ms"),
            Figure(PART, f"{kind}: beside {large:,} rows", median(above), "ms"),
        ]
    return figures


def filled(size: int, fresh: int = FRESH) -> Place:
    """A new database where `size` codes were scanned and awarded, with customers in proportion."""
    say(f"making a database with {size:,} codes, scans, ledger lines and events ...")
    name = f"bench_growth_{size}"
    world.use_database(name, new=True)
    brand = world.build(customers=size // 10, codes=fresh, history=size)
    codes = list(AuthCode.objects.filter(scan_count=0).values_list("code", flat=True))
    shuffle(codes)
    return Place(name, world.access_tokens(brand), codes)


def costs(place: Place, times: int) -> dict[str, float]:
    """Median milliseconds of a scan through the whole stack in this process, and of its event's delivery."""
    world.use_database(place.name)
    client = Client(SERVER_NAME="localhost")
    spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    warm_up = times // 4
    for number in range(times + warm_up):
        scan = partial(scan_one, client, place)
        by_kind = {**timed(scan, "scan"), **timed(accrue_one, "accrual")}
        if number >= warm_up:
            for kind, milliseconds in by_kind.items():
                spent[kind].append(milliseconds)
    return {kind: round(median(values), 3) for kind, values in spent.items()}


def scan_one(client: Client, place: Place) -> None:
    code, token = place.codes[place.used], place.tokens[place.used % len(place.tokens)]
    place.used += 1
    path, authorization = f"{VERIFY}{code}", f"Bearer {token}"
    answer = client.post(path, PLACE, content_type="application/json", HTTP_AUTHORIZATION=authorization)
    assert answer.status_code == 200, answer.content


def accrue_one() -> None:
    """Without the pause at the end of a drain, which lets publishers rely on an earlier wake-up: it hides the cost."""
    with patch.object(worker_signals, "QUIET_SECONDS", 0):
        delivered = worker.drain()
    assert delivered in {1, 2}, delivered  # a scan that reaches a milestone adds an event


def timed(act: Callable[[], None], kind: str) -> dict[str, float]:
    with statements() as sql:
        began = time.perf_counter()
        act()
        whole = time.perf_counter() - began
    return {kind: whole * 1000, f"{kind}, its SQL": sum(sql) * 1000}


@contextmanager
def statements() -> Iterator[list[float]]:
    """Collects the seconds of each statement, without commits."""
    spent: list[float] = []

    def wrap(execute: Callable[..., Any], *arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(*arguments)
        finally:
            spent.append(time.perf_counter() - began)

    with connection.execute_wrapper(wrap):
        yield spent
