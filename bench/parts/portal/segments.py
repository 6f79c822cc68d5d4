"""A segment of 1,000,000 members: its first count, its first evaluation, and the evaluation of a day's changes."""

import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from authcodes.models.scans import Scan
from bench import fill, world
from bench.harness import Figure, Scale, say
from brands.models.tenants import Brand
from campaigns.segments import evaluate, member_conditions, preview
from core.db import sql
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.segments import Segment
from tests.support import factories

PART = "segments"
MEMBERS, SCANS_EACH, DAYS = 1_000_000, 4, 120
COUNT_GOAL_S, DAY_GOAL_S = 3, 10

# Moments ascend with the rows, as in a table that has grown.
ADD_SCANS = fill.insert(
    Scan,
    """
      FROM generate_series(1, %(each)s) n, user_points a,
           LATERAL (SELECT (%(each)s - n + (a.user_point_id %% 1000) / 1001.0) / %(each)s) AS p (past),
           LATERAL (SELECT now() - interval '1 day' * %(days)s * p.past) AS m (at)
     WHERE a.brand_id = %(brand)s
     ORDER BY at
    """,
    scan_id="uuidv7()",
    brand_id="%(brand)s",
    code="'bench'",
    user_id="a.user_id",
    product_id="%(product)s",
    outcome="'success'",
    reason="'accepted'",
    points_status="'awarded'",
    points_promised="10",
    points_awarded="10",
    scan_count="1",
    location="CASE WHEN a.user_id %% 3 = 0 THEN 'Berlin, Land Berlin' ELSE 'Bonn, NRW' END",
    located_at="at",
    scanned_at="at",
)
ADD_LINES = fill.insert(
    LoyaltyTransaction,
    """
      FROM authcodes_scan s JOIN user_points a ON a.user_id = s.user_id AND a.brand_id = s.brand_id
     WHERE s.brand_id = %(brand)s
     ORDER BY s.scanned_at
    """,
    **{
        **world.EARNED,
        "user_point_id": "a.user_point_id",
        "reason_id": "s.scan_id::text",
        "created_at": "s.scanned_at",
        "updated_at": "s.scanned_at",
    },
)
ADD_UP = """
    UPDATE user_points
       SET points = 10 * %(each)s, points_earned = 10 * %(each)s, "updatedAt" = now() - interval '30 days',
           current_level = CASE WHEN user_point_id %% 4 = 0 THEN 'Gold' ELSE '' END,
           enrolled_at = now() - interval '1 day' * (%(days)s + user_point_id %% 365)
     WHERE brand_id = %(brand)s
"""
# As after a day's traffic: this many members earned something.
TOUCH = 'UPDATE user_points SET "updatedAt" = now() WHERE brand_id = %(brand)s AND user_point_id %% 50 = 0'
ROWS = [
    {"field": "level", "operator": "in", "value": ["Gold", "Bronze"]},
    {"field": "scans", "operator": "at_least", "value": {"count": 1, "days": 60}},
    {"field": "days_since_last", "operator": "at_least", "value": 5},
    {"field": "city", "operator": "in", "value": ["Berlin", "Bonn"]},
    {"field": "consent", "operator": "in", "value": ["offers/email"]},
]


def measure(scale: Scale) -> list[Figure]:
    members = scale.pick(MEMBERS, MEMBERS // 20, 20)
    world.use_database("bench_segments", new=True)
    brand = filled(members)
    every = Segment.objects.create(brand=brand, name="Everybody")
    some = Segment.objects.create(brand=brand, name="Five conditions", conditions={"all": ROWS})
    counts = {segment.pk: seconds_of(lambda segment=segment: count(segment)) for segment in (every, some)}
    at = timezone.now()
    first = {segment.pk: seconds_of(lambda segment=segment: evaluated(segment, at)) for segment in (every, some)}
    world.run("VACUUM ANALYZE loyalty_segmentmember")
    world.run(TOUCH, {"brand": brand.pk})
    Segment.objects.update(evaluated_at=at - timedelta(days=1))
    touched, again = [], {}
    for segment in (every, some):
        again[segment.pk] = seconds_of(
            lambda segment=segment: touched.append(evaluated(segment, timezone.now()).touched)
        )
    goals = scale.pick((COUNT_GOAL_S, DAY_GOAL_S), (None, None), (None, None))
    selected = Segment.objects.get(pk=some.pk).member_count
    check(some)
    of_five = f"five conditions, {selected:,} of {members:,} members"
    return [
        figure(f"first count, all {members:,} members", counts[every.pk], goals[0]),
        figure(f"first count, {of_five}", counts[some.pk], goals[0]),
        figure(f"again what changed in a day, all members ({touched[0]:,} evaluated)", again[every.pk], goals[1]),
        figure(f"again what changed in a day, five conditions ({touched[1]:,} evaluated)", again[some.pk], goals[1]),
        figure("everybody evaluated and stored, all members", first[every.pk], None),
        figure(f"everybody evaluated and stored, {of_five}", first[some.pk], None),
    ]


def figure(what: str, seconds: float, goal: float | None) -> Figure:
    return Figure(PART, what, seconds, "s", goal, at_least=False)


def filled(members: int) -> Brand:
    brand = factories.brand()
    factories.level(brand)
    factories.level(brand, "Gold", threshold=100)
    product = factories.product(brand)
    say(f"  {members:,} members with {SCANS_EACH} scans each ...")
    world.add_customers(brand, members, called="segments")
    world.run("SET statement_timeout = 0")
    world.run("SET session_replication_role = replica")
    for statement in (ADD_SCANS, ADD_LINES, ADD_UP):
        world.run(statement, {"brand": brand.pk, "product": product.pk, "each": SCANS_EACH, "days": DAYS})
    world.run("RESET session_replication_role")
    world.run("VACUUM ANALYZE loyalty_transaction, user_points, authcodes_scan")
    return brand


def count(segment: Segment) -> int:
    result = preview.preview(segment.conditions, brand=segment.brand, at=timezone.now())
    assert result.count is not None
    return result.count


def evaluated(segment: Segment, at: Any) -> evaluate.Evaluation:
    result = evaluate.evaluate(segment.pk, at=at)
    assert result is not None
    return result


def check(segment: Segment) -> None:
    """Wrong members would make the figures meaningless: a full evaluation must change nobody."""
    row = Segment.objects.get(pk=segment.pk)
    assert row.evaluated_at is not None
    plan = member_conditions.plan_of(row.conditions, brand=row.brand, at=row.evaluated_at)
    accounts = {key for (key,) in sql.rows(plan.text(among=False), plan.parameters)}
    stored = set(row.members.values_list("account", flat=True))
    assert accounts == stored, (len(accounts), len(stored))
    assert UserPoints.objects.filter(brand=row.brand).count() >= len(accounts)


def seconds_of(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
