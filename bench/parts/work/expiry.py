"""A nightly run in which a million ledger entries of 100,000 members expire, while accruals go on."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from random import Random
from statistics import median

from django.db import connection
from django.utils import timezone

from bench import fill, processor, world
from bench.harness import Figure, Scale, say
from brands.models.tenants import Brand
from campaigns.intake import campaign_event
from campaigns.intake.campaign_event import Action
from loyalty.models.accounts import UserPoints
from loyalty.models.expiry import ExpiryRun
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import expiry
from tests.support import factories

PART = "expiry"
MEMBERS, LINES_EACH = 100_000, 20  # half of the entries have expired
WORKERS = 2
PAUSE_SECONDS = 0.02

ADD_LINES = fill.insert(
    LoyaltyTransaction,
    """
      FROM generate_series(1, %(each)s) n, user_points a,
           LATERAL (SELECT now() - interval '1 day' * (CASE WHEN n > %(each)s / 2 THEN 30 ELSE 500 END + n)) AS m (at)
     WHERE a.brand_id = %(brand)s
     ORDER BY n, a.user_point_id
    """,
    **{**world.EARNED, "user_point_id": "a.user_point_id", "points_earned": "5", "reason_id": "'old:' || n"},
)
ADD_UP = """
    UPDATE user_points SET points = 5 * %(each)s, points_earned = 5 * %(each)s WHERE brand_id = %(brand)s
"""


def measure(scale: Scale) -> list[Figure]:
    members, alone_seconds = scale.pick((MEMBERS, 5.0), (MEMBERS // 5, 5.0), (50, 0.5))
    world.use_database("bench_expiry", new=True)
    brand = filled(members)
    users = list(UserPoints.objects.filter(brand=brand).values_list("user_id", flat=True)[:: max(1, members // 2_000)])
    alone = waits_while(brand, users, lambda: time.sleep(alone_seconds))
    waits: list[float] = []
    with processor.watched() as other_processes:
        began = time.perf_counter()
        waits = waits_while(brand, users, lambda: expiry.run(brand=brand, at=timezone.now()))
        took = time.perf_counter() - began
    check(brand, members)
    rows = members * LINES_EACH // 2
    half = ExpiryRun.objects.get(brand=brand, kind=ExpiryRun.Kind.EXPIRE)
    assert half.finished_at is not None
    goal = scale.pick(60, None, None)
    apart = f"alone {median(alone) * 1000:.3g} ms, longest {max(alone) * 1000:.3g} ms"
    return [
        Figure(
            PART,
            f"{rows:,} lines of {members:,} members past their time",
            took,
            "s",
            goal,
            at_least=False,
            note=f"others used {other_processes.share:.0%}",
        ),
        Figure(PART, "of that, taking points", (half.finished_at - half.started_at).total_seconds(), "s"),
        Figure(PART, "longest accrual meanwhile", max(waits), "s", 1, at_least=False, note=f"of {len(waits):,}"),
        Figure(PART, "accruals meanwhile, median", median(waits) * 1000, "ms", note=apart),
        again(brand),
    ]


def filled(members: int) -> Brand:
    """Half of each member's entries have expired, some of the others soon will."""
    brand = factories.brand(points_expire="days", points_expire_after=365, expiry_warning_days=14)
    factories.level(brand)
    factories.earning_rule(brand, "order-complete")
    say(f"  {members:,} members with {LINES_EACH} lines each ...")
    world.add_customers(brand, members, called="expiry")
    world.run("SET statement_timeout = 0")
    world.run("SET session_replication_role = replica")
    for statement in (ADD_LINES, ADD_UP):
        world.run(statement, {"brand": brand.pk, "each": LINES_EACH})
    world.run("RESET session_replication_role")
    world.run("VACUUM ANALYZE loyalty_transaction, user_points")
    return brand


def check(brand: Brand, members: int) -> None:
    gone = UserPoints.objects.filter(brand=brand, points_expired=5 * LINES_EACH // 2).count()
    if gone != members:
        message = f"{gone:,} of {members:,} members lost what they should"
        raise RuntimeError(message)


def again(brand: Brand) -> Figure:
    """The next night, in which nothing expires."""
    began = time.perf_counter()
    expiry.run(brand=brand, at=timezone.now() + timedelta(days=1))
    return Figure(PART, "a night with nothing to take", time.perf_counter() - began, "s")


def waits_while(brand: Brand, users: list[int], work: object) -> list[float]:
    """Seconds of each accrual, request to commit, while `work` runs."""
    waits: list[float] = []
    with accruing(brand, users, waits):
        assert callable(work)
        work()
    return waits


@contextmanager
def accruing(brand: Brand, users: list[int], waits: list[float]) -> Iterator[None]:
    over = threading.Event()
    threads = [threading.Thread(target=accrue, args=[brand, users, waits, over, number]) for number in range(WORKERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def accrue(brand: Brand, users: list[int], waits: list[float], over: threading.Event, number: int) -> None:
    dice = Random(number)
    while not over.is_set():
        user_id, at = dice.choice(users), timezone.now()
        order = {"orderId": f"{number}-{at.timestamp()}", "subtotal": Decimal(5)}
        began = time.perf_counter()
        campaign_event.process_campaign_event(
            Action(brand, "hub", user_id, user_id, "order-complete", {"type": "order", "order": order}, "", at)
        )
        waits.append(time.perf_counter() - began)
        time.sleep(PAUSE_SECONDS)
    connection.close()
