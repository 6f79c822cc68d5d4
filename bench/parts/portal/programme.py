"""The programme page with 10,000,000 ledger entries of two years, against the same figures read from the ledger."""

import time
from datetime import datetime
from statistics import median, quantiles
from typing import Any

from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from bench import fill, world
from bench.harness import Figure, Scale, say
from bench.parts.portal.lists import browser, owner_of
from brands.models.tenants import Brand
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.costs import PointCost
from loyalty.models.programme.rollups import ProgrammeWatermark
from loyalty.programme import consistency, figures, rollups
from tests.support import factories

PART = "programme"
MEMBERS, LINES_EACH, DAYS = 500_000, 20, 730
CALLS = 100
GOAL_MS = 300

# Every fourth entry of a member redeems as much as one of the three before it; moments ascend with the ids.
ADD_LINES = fill.insert(
    LoyaltyTransaction,
    """
      FROM generate_series(1, %(each)s) n, user_points a,
           LATERAL (SELECT now() - interval '1 day' * %(days)s * (%(each)s - n + 1.0) / %(each)s
                           + interval '1 day' * %(days)s / %(each)s * (a.user_point_id %% 1000) / 1001.0) AS m (at)
     WHERE a.brand_id = %(brand)s
     ORDER BY at
    """,
    **{
        **world.EARNED,
        "user_point_id": "a.user_point_id",
        "points_earned": "CASE WHEN n %% 4 = 0 THEN 0 ELSE 5 END",
        "points_redeemed": "CASE WHEN n %% 4 = 0 THEN 5 ELSE 0 END",
        "reason": "CASE WHEN n %% 4 = 0 THEN 'redeemed' ELSE 'earned' END",
        "reason_id": "'line:' || n",
    },
)
ADD_UP = """
    UPDATE user_points
       SET points = 5 * (%(each)s - 2 * (%(each)s / 4)), points_earned = 5 * (%(each)s - %(each)s / 4),
           points_redeemed = 5 * (%(each)s / 4),
           enrolled_at = now() - interval '1 day' * (%(days)s + 1 - %(days)s * (user_point_id %% 24) / 48.0)
     WHERE brand_id = %(brand)s
"""


def measure(scale: Scale) -> list[Figure]:
    members, calls, live_calls = scale.pick((MEMBERS, CALLS, 3), (MEMBERS // 10, CALLS, 3), (20, 3, 1))
    world.use_database("bench_programme", new=True)
    brand = filled(members)
    client, at = browser(owner_of(brand)), timezone.now()
    live = [seconds_of(lambda: figures_of(brand, at)) for _ in range(live_calls)]
    rolled = seconds_of(lambda: rollups.catch_up(brand=brand, at=at))
    world.run("VACUUM ANALYZE loyalty_pointsrollup, loyalty_activemember, loyalty_cohortrollup")
    again = seconds_of(lambda: rollups.catch_up_all(at=at))
    open_page(client)
    pages = [seconds_of(lambda: open_page(client)) * 1000 for _ in range(calls)]
    read = [seconds_of(lambda: figures_of(brand, at)) for _ in range(live_calls)]
    check(scale)
    lines = members * LINES_EACH
    goal = scale.pick(GOAL_MS, None, None)
    return [
        Figure(
            PART,
            f"the page over {lines:,} ledger lines, p95",
            quantiles(pages, n=20)[-1],
            "ms",
            goal,
            at_least=False,
            note=f"median {median(pages):.3g} ms of {calls}",
        ),
        Figure(PART, "figures from rollups, against all live", median(live) / median(read), "x"),
        Figure(PART, "all days rolled up for the first time", rolled, "s"),
        Figure(PART, "a run with nothing to do", again, "s"),
    ]


def filled(members: int) -> Brand:
    brand = factories.brand(points_expire="months", points_expire_after=18)
    factories.level(brand)
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.01")
    say(f"  {members:,} members with {LINES_EACH} lines each ...")
    world.add_customers(brand, members, called="programme")
    world.run("SET statement_timeout = 0")
    world.run("SET session_replication_role = replica")
    for statement in (ADD_LINES, ADD_UP):
        world.run(statement, {"brand": brand.pk, "each": LINES_EACH, "days": DAYS})
    world.run("RESET session_replication_role")
    world.run("VACUUM ANALYZE loyalty_transaction, user_points")
    return brand


def figures_of(brand: Brand, at: datetime) -> Any:
    first, last = figures.default_months(brand, at)
    return figures.figures(brand=brand, first=first, last=last, at=at)


def open_page(client: Client) -> None:
    with override_settings(ALLOWED_HOSTS=["*"]):
        response = client.get(reverse("admin:loyalty_pointsrollup_programme"))
    assert response.status_code == 200, response.status_code


def seconds_of(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def check(scale: Scale) -> None:
    """Wrong rollups would make the figures meaningless; at full scale this check takes a while."""
    say(f"  {scale}: are the rollups what the ledger says?")
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
    assert ProgrammeWatermark.objects.filter(until__isnull=False).exists()
    differences = list(consistency.differences())
    assert not differences, differences[:3]
