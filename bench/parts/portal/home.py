"""Home, the portal's first page, with a million codes and scans and ten million ledger entries."""

import time
from statistics import median, quantiles
from typing import Any

from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from authcodes.rollups import consistency as scan_checks
from authcodes.rollups import rollups as scan_rollups
from bench import world
from bench.harness import Figure, Scale, say
from bench.parts.portal.dashboard import ZONE, add_rows
from bench.parts.portal.lists import browser, owner_of
from bench.parts.portal.programme import ADD_LINES
from brands.models.tenants import Brand
from loyalty.models.programme.costs import PointCost
from loyalty.programme import consistency as programme_checks
from loyalty.programme import rollups as programme_rollups
from tests.support import factories

PART = "home"
SCANS, LINES_EACH, DAYS = 1_000_000, 90, 730
CALLS = 100
GOAL_MS, MAX_QUERIES = 300, 25

ENROL = """
    UPDATE user_points SET enrolled_at = now() - interval '1 day' * (%(days)s * (user_point_id %% 997) / 997.0)
     WHERE brand_id = %(brand)s
"""


def measure(scale: Scale) -> list[Figure]:
    scans, each, calls = scale.pick((SCANS, LINES_EACH, CALLS), (SCANS // 10, LINES_EACH, CALLS), (200, 4, 3))
    world.use_database("bench_home", new=True)
    brand = factories.brand(time_zone=ZONE)
    fill_brand(brand, scans, each)
    client = browser(owner_of(brand))
    lines = scans + scans // 10 * each
    figures = []
    for period in ("30", "90"):
        queries = queries_of(client, period)
        times = [seconds_of(client, period) * 1000 for _call in range(calls)]
        title = f"Home over {scans:,} scans and {lines:,} ledger lines, {period} days"
        goal = scale.pick(GOAL_MS, GOAL_MS, None)
        note = f"median {median(times):.3g} ms of {calls}"
        p95 = quantiles(times, n=20)[-1]
        figures.append(Figure(PART, f"{title}: p95", p95, "ms", goal, at_least=False, note=note))
        figures.append(Figure(PART, f"{title}: queries", queries, "", MAX_QUERIES, at_least=False))
    check()
    return figures


def fill_brand(brand: Brand, scans: int, each: int) -> None:
    factories.level(brand)
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.01")
    say(f"making a database with {scans:,} codes and scans, and {scans // 10 * each + scans:,} ledger lines ...")
    add_rows(brand, scans)
    world.run("SET session_replication_role = replica")
    for statement in (ADD_LINES, ENROL):
        world.run(statement, {"brand": brand.pk, "each": each, "days": DAYS})
    world.run("RESET session_replication_role")
    world.run("VACUUM ANALYZE")
    at = timezone.now()
    scan_rollups.catch_up(brand=brand, at=at)
    programme_rollups.catch_up(brand=brand, at=at)
    world.run("VACUUM ANALYZE")


def open_home(client: Client, period: str) -> Any:
    with override_settings(ALLOWED_HOSTS=["*"]):
        response = client.get(reverse("admin:index"), {"period": period})
    assert response.status_code == 200, response.status_code
    return response


def queries_of(client: Client, period: str) -> int:
    """Counted at the second request: the first also fills the process's caches."""
    open_home(client, period)
    with CaptureQueriesContext(connection) as captured:
        open_home(client, period)
    return len(captured)


def seconds_of(client: Client, period: str) -> float:
    began = time.perf_counter()
    open_home(client, period)
    return time.perf_counter() - began


def check() -> None:
    """Wrong rollups would make the figures meaningless; at full scale this check takes a while."""
    world.run("SET statement_timeout = 0")
    assert not list(scan_checks.differences())
    assert not list(programme_checks.differences())
