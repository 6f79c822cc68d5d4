"""The portal's lists with 1,000,000 codes and scans, compared with a basic Django changelist."""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import path, reverse
from django.utils import timezone
from django.utils.http import urlencode

from authcodes.admin.filters import STATES
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from bench import fill, world
from bench.harness import Figure, Scale, interleaved, orientation, ratio, say
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from config.urls import urlpatterns as own
from portal.lists.keyset_changelist import Key
from tests.support import factories

PART = "lists"
SIZE = 1_000_000
BATCHES = 20
DAYS = 100
MAX_QUERIES = 15
SLOWEST_MS = 300

# Batches in their order of creation; the newest six are not scanned yet. One scan in ten was rejected.
FILL = (
    fill.insert(
        BatchRange,
        "FROM generate_series(0, %(batches)s - 1) n ORDER BY n",
        brand_id="%(brand)s",
        range_name="'Batch ' || n",
        product_id="(%(products)s::bigint[])[1 + n %% 5]",
        quantity="%(size)s / %(batches)s",
        prefix="%(prefix)s || lpad(n::text, 2, '0')",
        expiration_date="CASE WHEN n %% 4 = 0 THEN current_date - 10 WHEN n %% 4 = 1 THEN current_date + 300 END",
        campaign_id="(%(campaigns)s::bigint[])[1 + n %% 5]",
        first_code="%(prefix)s || lpad(n::text, 2, '0') || lpad('1', 10, '0')",
        last_code="%(prefix)s || lpad(n::text, 2, '0') || lpad((%(size)s / %(batches)s)::text, 10, '0')",
        generated_count="%(size)s / %(batches)s",
    ),
    fill.insert(
        Recall,
        "FROM authcodes_batchrange WHERE brand_id = %(brand)s AND range_name = 'Batch 2'",
        brand_id="brand_id",
        recall_id="'R-1'",
        contact="'help'",
        message="'Stop'",
        reason="'Test'",
    ),
    """
    UPDATE authcodes_batchrange b SET recall_id = r.id, recalled_at = r.recalled_at
      FROM authcodes_recall r WHERE r.brand_id = b.brand_id AND b.brand_id = %(brand)s AND b.range_name = 'Batch 2'
    """,
    fill.insert(
        AuthCode,
        """
          FROM authcodes_batchrange b, generate_series(1, %(size)s / %(batches)s) n
         WHERE b.brand_id = %(brand)s ORDER BY b.id, n
        """,
        code="b.prefix || lpad(n::text, 10, '0')",
        brand_id="%(brand)s",
        batch_id="b.id",
        product_id="b.product_id",
        created_at="now() - make_interval(days => %(days)s + 20 - substr(b.range_name, 7)::int)",
        deactivated_at="CASE WHEN n %% 100 = 7 THEN now() END",
    ),
    # The planner has no statistics on the second brand's rows, and would join them one by one.
    "ANALYZE authcodes_authcode, authcodes_batchrange, user_points",
    """
    CREATE TEMPORARY TABLE past AS
    SELECT uuidv7() AS scan_id, n, n %% 10 > 0 AS accepted, c.*, a.user_id,
           'City ' || k || ', Region ' || k %% 20 AS place,
           now() - make_interval(secs => %(days)s * 86400.0 * (%(size)s - n) / %(size)s) AS at
      FROM (SELECT n, floor(random() * %(customers)s)::int AS u, floor(200 * random() ^ 2)::int AS k,
                   1 + CASE WHEN n %% 10 > 0 THEN (n * 0.7)::int ELSE floor(random() * n * 0.7)::int END AS c
              FROM generate_series(1, %(size)s) n) s
      JOIN (SELECT c.id, c.code, c.batch_id, c.product_id, b.campaign_id, row_number() OVER (ORDER BY c.id) AS c
              FROM authcodes_authcode c JOIN authcodes_batchrange b ON b.id = c.batch_id
             WHERE c.brand_id = %(brand)s) c USING (c)
      JOIN (SELECT user_id, row_number() OVER (ORDER BY user_point_id) - 1 AS u FROM user_points
             WHERE brand_id = %(brand)s) a USING (u)
    """,
    fill.insert(
        Scan,
        "FROM past ORDER BY at",
        scan_id="scan_id",
        brand_id="%(brand)s",
        auth_code_id="id",
        code="code",
        user_id="user_id",
        batch_id="batch_id",
        product_id="product_id",
        campaign_id="campaign_id",
        outcome="CASE WHEN accepted THEN 'success' WHEN n %% 100 < 50 THEN 'warning' ELSE 'error' END",
        reason="""
            CASE WHEN accepted THEN 'accepted' WHEN n %% 100 < 40 THEN 'limit_reached'
                 WHEN n %% 100 < 50 THEN 'recalled' ELSE 'bad_tag' END
        """,
        points_status="CASE WHEN accepted THEN 'awarded' ELSE 'not_eligible' END",
        points_promised="10",
        points_awarded="CASE WHEN accepted THEN 10 ELSE 0 END",
        scan_count="""
            CASE WHEN NOT accepted THEN 0 ELSE row_number() OVER (PARTITION BY id ORDER BY accepted DESC, n) END
        """,
        latitude="18.52",
        longitude="73.85",
        location="place",
        located_at="at",
        device="'bench'",
        app_version="'1'",
        scanned_at="at",
    ),
    """
    UPDATE authcodes_authcode c SET scan_count = p.scans, first_scan_at = p.at, first_scan_location = p.place
      FROM (SELECT DISTINCT ON (id) id, at, place, count(*) OVER (PARTITION BY id) AS scans FROM past
             WHERE accepted ORDER BY id, n) p
     WHERE p.id = c.id
    """,
    "DROP TABLE past",
)


def filled(brand: Brand, size: int, prefix: str) -> None:
    customers = size // 10
    world.add_customers(brand, customers, called=prefix.lower())
    campaigns = [factories.campaign(brand, campaign_name=f"Campaign {n}").pk for n in range(4)]
    products = [factories.product(brand, title=f"Tea number {n}", sku=f"TEA-{n}").pk for n in range(5)]
    world.run("SET statement_timeout = 0")
    world.run("SET session_replication_role = replica")
    numbers = {"size": size, "batches": BATCHES, "days": DAYS, "customers": customers, "prefix": prefix}
    for statement in FILL:
        world.run(statement, {"brand": brand.pk, "campaigns": [*campaigns, None], "products": products, **numbers})
    world.run("RESET session_replication_role")


class PlainCodes(admin.ModelAdmin):  # type: ignore[type-arg]
    """As in a tutorial, with Django's 100 rows per page."""

    list_display = ("code", "product", "batch", "scan_count", "first_scan_at", "first_scan_location")
    list_filter = ("product", "batch", "first_scan_at")
    search_fields = ("code", "product__title")


class PlainScans(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("scanned_at", "code", "outcome", "reason", "product", "user", "location", "points_awarded")
    list_filter = ("outcome", "reason", "product", "batch", "scanned_at")
    search_fields = ("code", "user__email")


plain_site = admin.AdminSite("plain")
plain_site.register(AuthCode, PlainCodes)
plain_site.register(Scan, PlainScans)
urlpatterns = [path("plain/", plain_site.urls), *own]

# The portal's templates replace Django's of the same name; the plain pages must use Django's.
PLAIN_TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [Path(admin.__file__).parent / "templates"]}]
LISTS = {"codes": AuthCode, "scans": Scan}


def measure(scale: Scale) -> list[Figure]:
    size, rounds, samples = scale.pick((SIZE, 7, 20), (100_000, 3, 5), (2_000, 1, 0))
    again = scale.pick(3, 3, 1)  # consecutive requests of one kind; the median counts
    world.use_database("bench_lists", new=True)
    brand = factories.brand(time_zone="Asia/Kolkata")
    filled(brand, size, "D")
    filled(factories.brand(), size // 5, "N")
    world.run("VACUUM ANALYZE")
    with override_settings(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"]):
        return figures(brand, size, rounds, samples, again)


def figures(brand: Brand, size: int, rounds: int, samples: int, again: int) -> list[Figure]:
    owner, operator = browser(owner_of(brand)), browser(superuser())
    figures = []
    slowest: list[float] = []
    most = 0
    for name, model in LISTS.items():
        pages = cases(brand, model, size)
        for what, address in pages.items():
            times, queries = sampled(owner, address, samples)
            p95 = quantiles(times, n=20)[-1] if samples > 1 else times[0]
            slowest.append(p95)
            most = max(most, queries)
            figures.append(Figure(PART, f"{name}: {what}", p95, "ms", note=f"p95; {queries} queries"))
            say(figures[-1].line)
    figures.append(Figure(PART, "the slowest p95 of these", max(slowest), "ms", SLOWEST_MS, at_least=False))
    figures.append(Figure(PART, "the most queries of these", most, "", MAX_QUERIES, at_least=False))
    for name, model in LISTS.items():
        figures += compared(brand, name, model, size, rounds, again, owner, operator)
    return figures


def compared(
    brand: Brand, name: str, model: Any, size: int, rounds: int, again: int, owner: Client, operator: Client
) -> list[Figure]:
    """First page, search and the page in the middle, ours and Django's in turns."""
    pages = cases(brand, model, size)
    list_of_plain = list_of(model, of="plain")
    middle = size // 2 // PlainCodes.list_per_page
    ways: dict[str, Callable[[], float]] = {
        "first": partial(timed, owner, pages["first page"], again),
        "search": partial(timed, owner, pages["search: how a code begins"], again),
        "deep": partial(timed, owner, pages["page in the middle"], again),
        "plain first": partial(plain, operator, list_of_plain, again),
        "plain search": partial(plain, operator, f"{list_of_plain}?q={BEGINNING}", again),
        "plain deep": partial(plain, operator, f"{list_of_plain}?p={middle}", again),
    }
    took, other_load = interleaved(PART, rounds, ways)
    return [
        ratio(
            PART, f"{name}: first page, ours / Django's", took["first"], took["plain first"], goal=0.5, at_least=False
        ),
        ratio(
            PART, f"{name}: search, ours / Django's", took["search"], took["plain search"], goal=1 / 3, at_least=False
        ),
        ratio(PART, f"{name}: page at {size // 2:,} / first", took["deep"], took["first"], goal=1.3, at_least=False),
        ratio(PART, f"{name}: page at {size // 2:,} / first, Django's", took["plain deep"], took["plain first"]),
        *(orientation(PART, f"{name}: {way}", times, "ms") for way, times in took.items()),
        other_load,
    ]


# One code in a hundred, in the middle of the list.
BEGINNING = "D07000001"


def cases(brand: Brand, model: Any, size: int) -> dict[str, str]:
    """The measured addresses, by what they show."""
    batches = list(BatchRange.objects.filter(brand=brand).order_by("pk"))
    oldest, campaign = batches[0], brand.campaigns.earliest("pk").pk
    today = brand.day_at(timezone.now())
    days = {n: (today - timedelta(days=n)).isoformat() for n in (30, 59, 60, 99, 110)}
    place, code = "City 60, Region 0", f"{batches[5].prefix}{77:010}"
    first, next_page, middle, last = pages_of(brand, model, size)
    query_by_name: dict[str, dict[str, Any]] = {
        "search: how a code begins": {"q": BEGINNING},
        "search: how all codes begin": {"q": "D"},
        "search: a code": {"q": code},
        "search: a product": {"q": "Tea number 3"},
        "search: a customer": {"q": "d123@example.com"},
        "search: nothing": {"q": "nothing"},
        **{f"status {status}": {"status": status} for status in STATES},
        "the oldest batch": {"batch__id__exact": oldest.pk},
        "a product": {"product__id__exact": oldest.product_id},
    }
    if model is AuthCode:
        when, where, of = "first_scan_at", "first_scan_location", "batch__campaign__campaign_id__exact"
        query_by_name |= {
            "created on one day": {"created_at_from": days[110], "created_at_to": days[110]},
            "without a product": {"assigned": "no"},
        }
    else:
        when, where, of = "scanned_at", "location", "campaign__campaign_id__exact"
        query_by_name |= {
            **{f"outcome {outcome}": {"outcome__exact": outcome} for outcome in Scan.Outcome.values},
            **{f"reason {reason}": {"reason__exact": reason} for reason in ("limit_reached", "recalled", "expired")},
            "points pending": {"points_status__exact": "pending"},
            "a customer": {"user__id__exact": User.objects.get(email="d123@example.com").pk},
        }
    month = {f"{when}_from": days[59], f"{when}_to": days[30]}
    query_by_name |= {
        "one day": {f"{when}_from": days[60], f"{when}_to": days[60]},
        "the first day": {f"{when}_to": days[99]},
        "a month": month,
        "a place": {where: place},
        "an unknown place": {where: "Nowhere"},
        "a campaign": {of: campaign},
        "status, month, place, campaign": {"status": "scanned", **month, where: place, of: campaign},
    }
    its = list_of(model)
    pages = {"first page": first, "next page": next_page, "page in the middle": middle, "last page": last}
    return {
        **{what: its + query for what, query in pages.items()},
        **{what: f"{its}?{urlencode(query)}" for what, query in query_by_name.items()},
    }


def list_of(model: Any, *, of: str = "admin") -> str:
    return reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist", current_app=of)


def pages_of(brand: Brand, model: Any, size: int) -> tuple[str, str, str, str]:
    """The queries of the first page, the next, the one in the middle, and the last."""
    request = RequestFactory().get("/")
    request.user = owner_of(brand)
    changes: Any = admin.site.get_model_admin(model).get_changelist_instance(request)
    key = Key(model, changes.queryset.query.order_by)
    row = changes.queryset[size // 2]
    middle = changes.get_query_string({"p": key.write(key.cursor_at(row, back=False), changes.list_digest)})
    return "", changes.paginator.next, middle, changes.paginator.last


def sampled(client: Client, address: str, samples: int) -> tuple[list[float], int]:
    """The milliseconds of each request, and the number of queries of one."""
    with CaptureQueriesContext(connection) as captured:
        first = spent(client, address)
        queries = len(captured)
    return [spent(client, address) for _ in range(samples)] or [first], queries


def timed(client: Client, address: str, again: int) -> float:
    return median(spent(client, address) for _ in range(again))


def plain(client: Client, address: str, again: int) -> float:
    with override_settings(TEMPLATES=PLAIN_TEMPLATES):
        spent(client, address)  # compiles the templates again
        return timed(client, address, again)


def spent(client: Client, address: str) -> float:
    """The server's time for a page, including rendering."""
    began = time.perf_counter()
    response = client.get(address)
    took = (time.perf_counter() - began) * 1000
    assert response.status_code == 200, address
    return took


def browser(user: User) -> Client:
    client = Client(headers={"x-forwarded-proto": "https"})
    client.defaults["wsgi.url_scheme"] = "https"
    client.force_login(user)
    return client


def owner_of(brand: Brand) -> User:
    user, made = User.objects.get_or_create(email="owner@example.com", defaults={"is_staff": True})
    if made:
        StaffRole.objects.create(user=user, brand=brand, role=StaffRole.Role.OWNER)
    return user


def superuser() -> User:
    return User.objects.create_superuser("super@example.com")
