"""The brand's own API with 1,000,000 rows of each kind: every list with every filter, and finding a member."""

import base64
import time
from datetime import timedelta
from statistics import quantiles
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db import connection
from django.http import QueryDict
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone
from rest_framework.request import Request

from authcodes.api import brand_batches, brand_codes, brand_products
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.models.scans import Scan
from bench import world
from bench.harness import Figure, Scale, ratio, say
from bench.parts.portal import lists
from brands.access.endpoints import ModelEndpoints
from brands.identity import api_keys
from brands.models.credentials import ApiKey
from brands.models.tenants import Brand
from campaigns.api import brand_campaigns, brand_events
from campaigns.models.campaigns import Campaign
from events.models import Event
from jobs.api import jobs as jobs_api
from jobs.models import Job
from loyalty.api import brand_ledger, brand_rewards
from loyalty.api.members import brand_members
from loyalty.members import numbers
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import BrandLevel
from loyalty.models.notifications import NotificationPreference
from loyalty.models.rewards import Redemption, Reward
from tests.support import factories

PART = "brand_api"
SIZE = 1_000_000
SLOWEST_MS = 150
FIND_MS = 10
FILTER_MS = 1
MAX_QUERIES = 6
PHONE = "+41791234567"
LISTED: dict[str, tuple[Any, ModelEndpoints]] = {
    "products": (Product, brand_products.PRODUCTS),
    "batches": (BatchRange, brand_batches.BATCHES),
    "codes": (AuthCode, brand_codes.CODES),
    "scans": (Scan, brand_codes.SCANS),
    "members": (UserPoints, brand_members.MEMBERS),
    "transactions": (LoyaltyTransaction, brand_ledger.TRANSACTIONS),
    "events": (Event, brand_events.EVENTS),
    "redemptions": (Redemption, brand_ledger.REDEMPTIONS),
    "recalls": (Recall, brand_batches.RECALLS),
    "campaigns": (Campaign, brand_campaigns.CAMPAIGNS),
    "levels": (BrandLevel, brand_rewards.LEVELS),
    "rewards": (Reward, brand_rewards.REWARDS),
    "jobs": (Job, jobs_api.JOBS),
}
UNLIMITED = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")

MEMBERS = """
UPDATE user_points SET external_id = 'CRM-' || user_point_id, "updatedAt" = now() - interval '30 days' * random()
 WHERE brand_id = %(brand)s
"""
LEDGER = """
INSERT INTO loyalty_transaction
       (brand_id, user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note, "createdAt",
        "updatedAt")
SELECT brand_id, user_point_id, 1, 0, 0, 'earned', 'bench:' || user_point_id, 'Bench', "enrolled_at", "enrolled_at"
  FROM user_points WHERE brand_id = %(brand)s ORDER BY user_point_id
"""
EVENTS = """
INSERT INTO events_event
       (event_id, source, detail_type, brand_id, account, region, time, detail, status, attempts, crashes, due_at,
        give_up_at, outcome, request_id, last_error, created_at, finished_at)
SELECT gen_random_uuid(), CASE WHEN n %% 2 = 0 THEN 'shop.customer-app' ELSE 'service.customer-app' END,
       CASE WHEN n %% 1000 = 0 THEN 'shop-visit' ELSE 'order-complete' END, %(brand)s, '', '', now(),
       '{"arguments": {"user_id": 1}, "payload": {}}', CASE WHEN n %% 5000 = 0 THEN 'dead' ELSE 'done' END, 1, 0,
       now(), now(), '{}', '', '', now(), now()
  FROM generate_series(1, %(size)s) n
"""


def measure(scale: Scale) -> list[Figure]:
    size, samples = scale.pick((SIZE, 20), (100_000, 5), (2_000, 2))
    world.use_database("bench_brand_api", new=True)
    brand = factories.brand(time_zone="Asia/Kolkata")
    filled(brand, size, "D")
    filled(factories.brand(), size // 5, "N")
    world.run("VACUUM ANALYZE")
    _key, text = api_keys.create(
        brand=brand, kind=ApiKey.Kind.HUB, name="bench", at=timezone.now(), scopes=ApiKey.Scope.values
    )
    with override_settings(ALLOWED_HOSTS=["*"], RATE_LIMITS=UNLIMITED):
        return figures(brand, Client(headers={"api-key": text}), samples)


def filled(brand: Brand, size: int, prefix: str) -> None:
    lists.filled(brand, size, prefix)
    world.add_customers(brand, size - size // 10, called=f"more{prefix.lower()}")
    world.run("SET session_replication_role = replica")
    world.run(MEMBERS, {"brand": brand.pk})
    world.run(LEDGER, {"brand": brand.pk})
    world.run(EVENTS, {"brand": brand.pk, "size": size})
    world.run("RESET session_replication_role")
    member = UserPoints.objects.filter(brand=brand).earliest("pk")
    NotificationPreference.objects.create(brand=brand, user=member.user, phone=PHONE)


def figures(brand: Brand, client: Client, samples: int) -> list[Figure]:
    made: list[Figure] = []
    timings: dict[str, list[float]] = {}
    for goal, pages in ((SLOWEST_MS, cases(brand)), (FIND_MS, searches(brand))):
        slowest, most = 0.0, 0
        for what, address in pages.items():
            timings[what], queries = sampled(client, address, samples)
            p95 = quantiles(timings[what], n=20)[-1]
            slowest, most = max(slowest, p95), max(most, queries)
            made.append(Figure(PART, what, p95, "ms", note=f"p95; {queries} queries"))
            say(made[-1].line)
        name = "list" if goal == SLOWEST_MS else "look-up of a member"
        made.append(Figure(PART, f"the slowest {name}, p95", slowest, "ms", goal, at_least=False))
        made.append(Figure(PART, f"the most queries of a {name}", most, "", MAX_QUERIES, at_least=False))
    slowest = max(filtering(brand, each, samples) for each in cases(brand).values())
    made.append(Figure(PART, "the dearest filters in Python, p95", slowest, "ms", FILTER_MS, at_least=False))
    for name in ("codes", "scans", "members", "transactions", "events"):
        deep, first = timings[f"{name}: in the middle"], timings[f"{name}: first page"]
        made.append(ratio(PART, f"{name}: page in the middle / first", deep, first, goal=1.3, at_least=False))
    return made


def cases(brand: Brand) -> dict[str, str]:
    """The measured addresses, by what they list."""
    batch = BatchRange.objects.filter(brand=brand).earliest("pk")
    member = UserPoints.objects.filter(brand=brand).earliest("pk")
    today = brand.day_at(timezone.now())
    month = {"from": (today - timedelta(days=59)).isoformat(), "to": (today - timedelta(days=30)).isoformat()}
    recent = (timezone.now() - timedelta(minutes=10)).isoformat()
    old = (timezone.now() - timedelta(days=15)).isoformat()
    query_by_name: dict[str, dict[str, dict[str, Any]]] = {
        "products": {"first page": {}, "since": {"updated_since": recent}},
        "batches": {
            "first page": {},
            "of a product": {"product_id": batch.product_id},
            "recalled": {"is_recalled": "true"},
        },
        "codes": {
            "first page": {},
            "in the middle": {"cursor": middle(AuthCode, brand, "id")},
            "of the oldest batch": {"batch_id": batch.pk},
            "of a product": {"product_id": batch.product_id},
            "of nothing": {"product_id": 2**40},
        },
        "scans": {
            "first page": {},
            "in the middle": {"cursor": middle(Scan, brand, "scanned_at")},
            **{f"outcome {outcome}": {"outcome": outcome} for outcome in Scan.Outcome.values},
            "of the oldest batch": {"batch_id": batch.pk},
            "of a product": {"product_id": batch.product_id},
            "a month": month,
            "of no batch": {"batch_id": 2**40},
            "of no product": {"product_id": 2**40},
        },
        "members": {
            "first page": {},
            "in the middle": {"cursor": middle(UserPoints, brand, "user_point_id")},
            "changed in the last minutes": {"updated_since": recent},
            "changed in half the time": {"updated_since": old},
            "blocked": {"status": "blocked"},
        },
        "transactions": {
            "first page": {},
            "in the middle": {"cursor": middle(LoyaltyTransaction, brand, "loyalty_transaction_id")},
            "of a member": {"user_id": member.user_id},
            "redeemed": {"reason": "redeemed"},
            "a month": month,
        },
        "redemptions": {"first page": {}, "of a member": {"user_id": member.user_id}},
        "events": {
            "first page": {},
            "in the middle": {"cursor": middle(Event, brand, "id")},
            "of a rare kind": {"kind": "shop-visit"},
            "failed": {"status": "dead"},
            "of nothing": {"kind": "nothing"},
        },
        "recalls": {"first page": {}},
        "campaigns": {"first page": {}},
        "levels": {"first page": {}},
        "rewards": {"first page": {}},
        "jobs": {"first page": {}},
    }
    return {
        f"{name}: {what}": address(name, query)
        for name, all_of in query_by_name.items()
        for what, query in all_of.items()
    }


def searches(brand: Brand) -> dict[str, str]:
    member = UserPoints.objects.filter(brand=brand).earliest("pk")
    ways = {
        "email": member.user.email,
        "phone": PHONE,
        "external_id": member.external_id,
        "barcode": numbers.barcode(member.pk),
    }
    return {f"member by {name}": address("members", {name: value}) for name, value in ways.items()}


def filtering(brand: Brand, where: str, samples: int) -> float:
    """Processor time to turn a request's parameters into a query: parsing, validation, filters. Nothing is queried."""
    path, _mark, query = where.partition("?")
    request = Request(RequestFactory().get(path, QueryDict(query).dict()))
    request.brand_access = SimpleNamespace(brand_id=brand.pk, brand=brand)  # type: ignore[attr-defined]
    model, read = LISTED[path.rpartition("/")[2]]
    rows = model.objects.all()
    spent_ms = []
    for _sample in range(samples * 5):
        began = time.process_time()
        assert read.filters.of(request, rows).qs is not None
        spent_ms.append((time.process_time() - began) * 1000)
    return quantiles(spent_ms, n=20)[-1]


def address(name: str, query: dict[str, Any]) -> str:
    return f"/api/v1/brand/{name}?{urlencode(query)}"


def middle(model: Any, brand: Brand, field: str) -> str:
    """The cursor of the page in the middle of a list."""
    rows = model.objects.filter(brand=brand).order_by(f"-{field}")
    position = rows[rows.count() // 2]
    value = getattr(position, field)
    return base64.b64encode(urlencode({"p": str(value)}).encode()).decode()


def sampled(client: Client, where: str, samples: int) -> tuple[list[float], int]:
    """The milliseconds of each request, and the number of queries of one."""
    with CaptureQueriesContext(connection) as captured:
        spent(client, where)
        queries = len(captured)
    return [spent(client, where) for _ in range(samples)], queries


def spent(client: Client, where: str) -> float:
    """The server's time for a page of 50 rows."""
    began = time.perf_counter()
    response = client.get(where)
    took = (time.perf_counter() - began) * 1000
    assert response.status_code == 200, (where, response.content)
    return took
