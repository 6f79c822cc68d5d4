"""The speed and memory of a replay of past actions, with the draft and with the original rules."""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from authcodes.models.codes import AuthCode
from bench import fill, world
from bench.harness import Figure, Scale, say
from brands.models.tenants import Brand
from campaigns.earning import rules
from campaigns.models.earning_rules import EarningRule, EarningRuleSet
from campaigns.replay.drafts import Draft
from campaigns.replay.replay import replay
from core.db import row_guard
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories

PART = "replay"
EACH = 20  # actions of a member; of every five, three are scans, one a login and one an order
DAYS = 30
UNRELATED_RULES = 20  # rules for categories that the product does not have
GOAL = 20_000
GOAL_MEMORY = 1.1

PAST = """
    CREATE TEMPORARY TABLE past AS
    SELECT n, m.user_id, m.user_point_id, j %% 5 AS way, 'P' || lpad(n::text, 10, '0') AS code,
           now() - interval '1 day' * (%(days)s - j * %(days)s::numeric / %(each)s)
           + interval '1 hour' * (n %% 1000) / 1000 AS at
      FROM (SELECT user_id, user_point_id, row_number() OVER (ORDER BY user_point_id) AS k FROM user_points
             WHERE brand_id = %(brand)s) m,
           generate_series(0, %(each)s - 1) AS j,
           LATERAL (SELECT j * %(members)s + m.k AS n) AS numbered
"""
ADD_CODES = fill.insert(
    AuthCode,
    "FROM past WHERE way < 3",
    code="code",
    brand_id="%(brand)s",
    batch_id="%(batch)s",
    product_id="%(product)s",
    scan_count="1",
    first_scan_at="at",
)
DETAILS = """
    CASE WHEN way < 3 THEN jsonb_build_object('rules', %(version)s::int, 'shares', jsonb_build_array(
             jsonb_build_object('source', 'level', 'effect', 'points', 'value', '10', 'points', '10',
                                'name', 'Bronze')))
         ELSE jsonb_build_object('rules', %(version)s::int, 'shares', jsonb_build_array(jsonb_build_object(
             'source', 'rule', 'effect', 'points', 'value', '2', 'points', CASE way WHEN 3 THEN '2' ELSE '5' END,
             'rule', CASE way WHEN 3 THEN %(login)s::bigint ELSE %(order)s::bigint END, 'version', 1))) END
"""
ADD_LINES = fill.insert(
    LoyaltyTransaction,
    "FROM past ORDER BY at",
    loyalty_transaction_id="n",
    brand_id="%(brand)s",
    user_point_id="user_point_id",
    points_earned="CASE way WHEN 3 THEN 2 WHEN 4 THEN 5 ELSE 10 END",
    reason="'earned'",
    reason_id="""
        CASE way WHEN 3 THEN 'login:' || (at AT TIME ZONE %(zone)s)::date WHEN 4 THEN 'order:' || n ELSE code END
    """,
    note="'Points'",
    details=DETAILS,
    created_at="at",
    updated_at="at",
)
PAYLOAD = """
    CASE way
        WHEN 3 THEN jsonb_build_object('type', 'login', 'channel', 'app')
        WHEN 4 THEN jsonb_build_object('type', 'order', 'order', jsonb_build_object(
            'orderId', n::text, 'subtotal', '50.00', 'currency', NULL, 'items', jsonb_build_array(jsonb_build_object(
                'productId', %(product)s::bigint, 'quantity', 1, 'unitPrice', '50.00'))))
        ELSE jsonb_build_object('type', 'authenticator_scan', 'product', jsonb_build_object(
            'authCode', code, 'title', 'A product', 'retailPrice', 100, 'redeem_point_value', NULL),
            'location', jsonb_build_object('latitude', 18.52, 'longitude', 73.85, 'city', 'Pune'))
    END
"""
ADD_EVENTS = fill.insert(
    Event,
    "FROM past ORDER BY at",
    source="'service.customer-app'",
    detail_type="CASE way WHEN 3 THEN 'log-user-login' WHEN 4 THEN 'order-complete' ELSE 'scan-auth' END",
    brand_id="%(brand)s",
    time="at",
    detail=f"""jsonb_build_object('arguments', jsonb_build_object('brand_id', %(brand)s::bigint, 'user_id', user_id),
                                  'payload', {PAYLOAD})""",
    status="'done'",
    attempts="1",
    outcome="""jsonb_build_object('transaction_id', n::text, 'current_level', 'Bronze', 'level_updated', false,
                                  'points_earned', 10, 'new_balance', 10)""",
    due_at="at",
    give_up_at="at",
    created_at="at",
    finished_at="at",
)


@dataclass(frozen=True, slots=True)
class Run:
    """The cost of a replay: wall-clock and processor seconds, and its peak memory in MB."""

    result: dict[str, Any]
    seconds: float
    processor: float
    megabytes: float


def measure(scale: Scale) -> list[Figure]:
    members = scale.pick(500_000, 20_000, 40)  # ten million actions
    world.use_database("bench_replay", new=True)
    brand, draft = filled(members)
    now = timezone.now()
    tenth = replayed(brand, draft, until=now, days=DAYS / 10)
    whole = replayed(brand, draft, until=now, days=DAYS + 1)
    budget = [{"per": "rule", "what": "points", "period": "ever", "most": members}]
    in_order = replayed(brand, draft, until=now, days=DAYS + 1, limits=budget)
    actions = whole.result["actions"]
    if whole.result["differences"] or actions != members * EACH:
        message = f"{whole.result['differences']:,} of {actions:,} actions differ: {whole.result['examples'][:3]}"
        raise RuntimeError(message)
    goal, goal_memory = scale.pick((GOAL, GOAL_MEMORY), (GOAL, None), (None, None))
    note = f"{actions:,} actions, {whole.seconds:.3g} s, of which {whole.processor:.3g} s in the process"
    return [
        Figure(PART, "actions decided twice, by the process's core", actions / whole.processor, "/s", goal, note=note),
        Figure(PART, "the same by the clock, with PostgreSQL", actions / whole.seconds, "/s"),
        Figure(PART, "actions that differ from the ledger", whole.result["differences"], "", 0, at_least=False),
        Figure(
            PART,
            "memory of ten times the actions",
            whole.megabytes / tenth.megabytes,
            goal=goal_memory,
            at_least=False,
            note=f"{tenth.megabytes:.0f} and {whole.megabytes:.0f} MB",
        ),
        Figure(PART, "actions, of a draft with a budget", actions / in_order.seconds, "/s"),
        Figure(
            PART,
            "memory of a draft with a budget",
            in_order.megabytes,
            "MB",
            note=f"all {members:,} members at once",
        ),
    ]


def filled(members: int) -> tuple[Brand, EarningRule]:
    """A brand with members, their actions as if they had been credited, and a draft."""
    say(f"making {members * EACH:,} actions of {members:,} members ...")
    brand = world.build(customers=members, codes=10)
    product = brand.products.get()
    batch = world.batch_of(brand, product, quantity=10, prefix="P")
    always: dict[str, Any] = {"without_end": True}
    login = factories.earning_rule(brand, "log-user-login", 2, **always)
    order = factories.earning_rule(brand, "order-complete", 10, "percentage", **always)
    for number in range(UNRELATED_RULES):
        category = {"field": "category", "operator": "in", "value": [f"Category {number}"]}
        conditions = {"all": [category, {"field": "item_price", "operator": "at_least", "value": "1"}]}
        factories.earning_rule(brand, "scan-auth", 3, "bonus", name=f"{number}", conditions=conditions, **always)
    weekend = {"all": [{"field": "weekday", "operator": "in", "value": [6, 7]}]}
    draft = factories.earning_rule(
        brand, "scan-auth", 2, "multiplier", name="Weekends", conditions=weekend, state="draft", **always
    )
    version = EarningRuleSet.objects.get(brand=brand).version
    own = {"brand": brand.pk, "batch": batch.pk, "product": product.pk, "zone": brand.time_zone, "members": members}
    own |= {"each": EACH, "days": DAYS, "version": version, "login": login.pk, "order": order.pk}
    world.run("SET statement_timeout = 0")
    world.run("SET session_replication_role = replica")
    for statement in (PAST, ADD_CODES, ADD_LINES, ADD_EVENTS):
        world.run(statement, own)
    world.run("UPDATE campaigns_earningruleversion SET written_at = written_at - interval '1 year'")
    world.run("UPDATE campaigns_earningterms SET valid_from = valid_from - interval '1 year'")
    world.run("RESET session_replication_role")
    world.run("VACUUM ANALYZE loyalty_transaction, events_event, authcodes_authcode, user_points")
    return brand, draft


def replayed(brand: Brand, draft: EarningRule, *, until: datetime, days: float, **changed: Any) -> Run:
    with row_guard.within([brand.pk]), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        began, used = time.monotonic(), time.process_time()
        result = replay(
            brand=brand,
            draft=Draft("rule", draft.name, {**rules.content_of(draft), **changed}, rule_id=draft.pk),
            since=until - timedelta(days=days),
            until=until,
            raw=connection.connection,
        )
        seconds, processor = time.monotonic() - began, time.process_time() - used
    say(f"  {result['actions']:,} actions in {seconds:.3g} s, {peak():.0f} MB")
    return Run(result, seconds, processor, peak())


def peak() -> float:
    """This process's peak memory since the last reset, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [most] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(most) / 1024
