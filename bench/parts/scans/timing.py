"""Timing side channels: the time of an answer about another brand's row, compared with one about a missing row."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median, quantiles
from typing import Any
from uuid import UUID, uuid4

from django.test import Client
from django.test.utils import override_settings
from django.utils import timezone

from bench import world
from bench.harness import Figure, Scale, interleaved, orientation, say
from brands.identity import api_keys
from brands.models.credentials import ApiKey
from brands.models.tenants import Brand
from loyalty.rewards import codes
from tests.support.portal import LABELS, address, brand_with_one_of_each, browser, staff

PART = "timing"
ROLES = ("support", "owner")  # the roles with the least and the most permissions that may open the pages
ABSENT = 10**9
MAX_DIFFERENCE_MS = 1.0


@dataclass(frozen=True)
class Endpoint:
    """An endpoint that takes an id, called for B's row, a missing row, and another missing row (the control)."""

    name: str
    foreign: Callable[[], Any]
    absent: Callable[[], Any]
    control: Callable[[], Any]


def measure(scale: Scale) -> list[Figure]:
    logging.disable(logging.WARNING)  # a line for each 404 would take most of the time
    rounds, each = scale.pick((7, 40), (3, 8), (1, 1))
    roles = scale.pick(ROLES, ROLES, ROLES[-1:])
    world.use_database("bench_timing", new=True)
    own, foreign = brand_with_one_of_each("aardvark"), brand_with_one_of_each("zebra")
    with override_settings(SECURE_SSL_REDIRECT=False, ALLOWED_HOSTS=["*"]):
        endpoints = [*portal_endpoints(own[0], foreign[1], roles), *api_endpoints(own[0], foreign[1])]
        for endpoint in endpoints:
            same_answer(endpoint)
        samples: dict[str, dict[str, list[float]]] = {
            endpoint.name: {"foreign": [], "absent": [], "control": []} for endpoint in endpoints
        }
        _results, other_load = interleaved(PART, rounds, {"endpoints": lambda: ask_all(endpoints, each, samples)})
    return [*figures(samples), other_load]


def portal_endpoints(own: Brand, rows: dict[str, Any], roles: Sequence[str]) -> list[Endpoint]:
    """The page of each model, for each role."""
    endpoints = []
    for role in roles:
        client = browser(staff(own, role=role))
        endpoints += [endpoint(f"{role} {label}", client, label, rows[label].pk) for label in LABELS]
    return endpoints


def endpoint(name: str, client: Client, label: str, key: Any) -> Endpoint:
    absent = (uuid4(), uuid4()) if isinstance(key, UUID) else (ABSENT, ABSENT + 1)
    ways = [lambda each=each: client.get(address(label, "change", each)) for each in (key, *absent)]
    return Endpoint(name, *ways)


def api_endpoints(own: Brand, rows: dict[str, Any]) -> list[Endpoint]:
    """Calls with a hub key of A for ids and codes of B."""
    _key, text = api_keys.create(
        brand=own, kind=ApiKey.Kind.HUB, name="timing", at=timezone.now(), scopes=ApiKey.Scope.values
    )
    client = Client(headers={"api-key": text, "origin": f"https://{own.hostnames.get().hostname}"})
    code, scan, batch = rows["authcodes.authcode"], rows["authcodes.scan"], rows["authcodes.batchrange"]

    def ask(path: str, key: Any) -> Any:
        return client.get(f"/api/v1/{path.format(key)}")

    def check(key: Any) -> Any:
        return client.post("/api/v1/redemptions/check", {"code": key}, content_type="application/json")

    ids_by_path = {
        "batch-ranges/{}/qr-codes": (batch.pk, ABSENT, ABSENT + 1),
        "auth-codes/{}/scans": (code.code, "zebra-9999999998", "zebra-9999999999"),
        "scans/{}": (str(scan.scan_id), str(uuid4()), str(uuid4())),
    }
    endpoints = [
        Endpoint(f"hub {path}", *[lambda key=key, path=path: ask(path, key) for key in ids])
        for path, ids in ids_by_path.items()
    ]
    gift = rows["loyalty.redemption"].code
    endpoints.append(
        Endpoint(
            "hub redemptions/check",
            *[lambda key=key: check(key) for key in (gift, codes.new(), codes.new())],
        )
    )
    return endpoints


def same_answer(endpoint: Endpoint) -> None:
    """Also warms the endpoint up. If the statuses differed, no timing would be needed."""
    statuses = {endpoint.foreign().status_code, endpoint.absent().status_code, endpoint.control().status_code}
    if len(statuses) != 1:
        message = f"{endpoint.name} answers {statuses}"
        raise AssertionError(message)


def ask_all(endpoints: list[Endpoint], each: int, samples: dict[str, dict[str, list[float]]]) -> float:
    """Call all endpoints in turns, so that all are exposed to the same load. Returns the total seconds."""
    began = time.perf_counter()
    for number in range(each):
        for endpoint in endpoints:
            ways = {"foreign": endpoint.foreign, "absent": endpoint.absent, "control": endpoint.control}
            for name in ways if number % 2 == 0 else reversed(ways):
                at = time.perf_counter()
                ways[name]()
                samples[endpoint.name][name].append((time.perf_counter() - at) * 1000)
    return time.perf_counter() - began


def p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]


def figures(samples: dict[str, dict[str, list[float]]]) -> list[Figure]:
    endpoints = []
    for way, goal in (("foreign", MAX_DIFFERENCE_MS), ("control", None)):
        differences = {name: abs(median(taken[way]) - median(taken["absent"])) for name, taken in samples.items()}
        worst = max(differences, key=lambda name: differences[name])
        what = "B's row and no row" if way == "foreign" else "no row and no row (control)"
        endpoints.append(
            Figure(PART, f"medians, {what}", differences[worst], "ms", goal, at_least=False, note=f"widest at {worst}")
        )
        # Each sample's difference from its endpoint's median: the tails of all endpoints together.
        tails = {
            each: p99(
                list(
                    chain.from_iterable(
                        [value - median(taken["absent"]) for value in taken[each]] for taken in samples.values()
                    )
                )
            )
            for each in (way, "absent")
        }
        endpoints.append(
            Figure(
                PART,
                f"p99, {what}",
                abs(tails[way] - tails["absent"]),
                "ms",
                goal,
                at_least=False,
                note=f"{len(samples)} endpoints",
            )
        )
    say(f"  {sum(len(taken['foreign']) for taken in samples.values())} pairs")
    endpoints.append(orientation(PART, "an answer", [median(taken["foreign"]) for taken in samples.values()], "ms"))
    return endpoints
