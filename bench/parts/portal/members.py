"""A member's page with 100,000 timeline lines and with 100, and the list of 1,000,000 members in each order."""

import time
from datetime import timedelta
from statistics import median, quantiles
from typing import Any

from django.contrib import admin
from django.test import Client, RequestFactory
from django.test.utils import override_settings
from django.urls import reverse
from django.utils import timezone

from authcodes.models.scans import Scan
from bench import fill, world
from bench.harness import Figure, Scale, ratio, say
from bench.parts.portal.lists import browser, owner_of, sampled
from brands.models.tenants import Brand
from loyalty.admin.member_page import page
from loyalty.members.listing import refresh
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.members.listed_members import ListedMembersMark
from loyalty.models.notifications import Notification, NotificationDelivery
from portal.lists.keyset_changelist import Key
from portal.timeline import reading
from portal.timeline.sources import visible_to
from tests.support import factories

PART = "members"
SLOWEST_MS = 300
COLUMNS = {"name": 1, "email": 2, "balance": 4, "spent": 5, "last seen": 6, "joined": 7}

# Accounts with different balances and times of the last change.
SPREAD_MEMBERS = """
    UPDATE user_points
       SET points = 1000 - user_point_id %% 1000, points_earned = 1000,
           points_redeemed = user_point_id %% 1000, enrolled_at = now() - interval '200 days',
           "updatedAt" = now() - make_interval(mins => (user_point_id %% 200000)::int)
     WHERE brand_id = %(brand)s
"""
# One member's history, each line at its own moment: of ten lines, four entries, four scans and two messages.
LINES = (
    fill.insert(
        LoyaltyTransaction,
        "FROM generate_series(1, %(count)s * 4 / 10) n ORDER BY n",
        brand_id="%(brand)s",
        user_point_id="%(account)s",
        points_earned="10",
        reason="'earned'",
        reason_id="%(prefix)s || n",
        note="'Points for scanning a product'",
        created_at="now() - make_interval(mins => (%(count)s - n)::int)",
        updated_at="now()",
    ),
    fill.insert(
        Scan,
        "FROM generate_series(1, %(count)s * 4 / 10) n ORDER BY n",
        scan_id="uuidv7()",
        brand_id="%(brand)s",
        code="%(prefix)s || n",
        user_id="%(user)s",
        outcome="'success'",
        reason="'accepted'",
        points_status="'limited'",
        scanned_at="now() - make_interval(mins => (%(count)s - n)::int, secs => 5)",
    ),
    fill.insert(
        NotificationDelivery,
        "FROM generate_series(1, %(count)s * 2 / 10) n ORDER BY n",
        notification_id="%(notification)s",
        brand_id="%(brand)s",
        user_id="%(user)s",
        template="'NOTIFY_CAMPAIGN_SUCCESS'",
        channel="'email'",
        language="'en'",
        masked_address="'x'",
        status="'sent'",
        event_id="gen_random_uuid()",
        created_at="now() - make_interval(mins => (%(count)s - n)::int)",
    ),
    """
    UPDATE user_points SET points = points + %(count)s * 4, points_earned = points_earned + %(count)s * 4
     WHERE user_point_id = %(account)s
    """,
)


def measure(scale: Scale) -> list[Figure]:
    size, lines, samples = scale.pick((1_000_000, 100_000, 20), (100_000, 100_000, 10), (2_000, 1_000, 0))
    world.use_database("bench_members", new=True)
    brand = factories.brand(time_zone="Asia/Kolkata")
    for each, count in ((brand, size), (factories.brand(), size // 5)):
        world.run("SET statement_timeout = 0")
        world.run("SET session_replication_role = replica")
        world.run(world.ADD_CUSTOMERS, {"brand": each.pk, "called": f"m{each.pk}-", "count": count})
        world.run(SPREAD_MEMBERS, {"brand": each.pk})
        world.run("RESET session_replication_role")
    many, few = UserPoints.objects.filter(brand=brand).order_by("pk")[:2]
    for member, count in ((many, lines), (few, 100)):
        happened(brand, member, count)
    world.run("VACUUM ANALYZE")
    with override_settings(ALLOWED_HOSTS=["*"]):
        client = browser(owner_of(brand))
        return [*refreshes(size), *pages(client, many, few, samples), *lists(client, brand, size, samples)]


def happened(brand: Brand, member: UserPoints, count: int) -> None:
    notification = Notification.objects.create(brand=brand, user_id=member.user_id, template="NOTIFY_CAMPAIGN_SUCCESS")
    numbers = {"account": member.pk, "user": member.user_id, "notification": notification.pk, "count": count}
    world.run("SET session_replication_role = replica")
    for statement in LINES:
        world.run(statement, {"brand": brand.pk, "prefix": f"L{member.pk}-", **numbers})
    world.run("RESET session_replication_role")


def refreshes(size: int) -> list[Figure]:
    """The first run, for all members; one after a minute with 6,000 changes; and one without changes."""
    ListedMembersMark.objects.update(until=refresh.LONG_AGO)
    figures = [Figure(PART, f"sort keys: all {size:,} members", run_seconds(), "s")]
    world.run("ANALYZE loyalty_listedmember")
    world.run('UPDATE user_points SET "updatedAt" = now() WHERE user_point_id %% 167 = 0', {})
    figures.append(Figure(PART, "sort keys: a minute with changes of 0.6 %", run_seconds(), "s"))
    figures.append(Figure(PART, "sort keys: a minute without", run_seconds(), "s", note="the same rows are compared"))
    return figures


def run_seconds() -> float:
    began = time.perf_counter()
    refresh.refresh(at=timezone.now() + timedelta(seconds=1))
    return time.perf_counter() - began


def pages(client: Client, many: UserPoints, few: UserPoints, samples: int) -> list[Figure]:
    newest = reverse("admin:loyalty_userpoints_change", args=[many.pk])
    small = reverse("admin:loyalty_userpoints_change", args=[few.pk])
    cases = {"100 lines": small, "newest": newest, "only scans": f"{newest}?kind=scans"}
    cases |= {"after half of them": f"{newest}?older={older_of(many)}"}
    figures, p50 = [], {}
    for what, address in cases.items():
        times, queries = sampled(client, address, samples)
        p95 = quantiles(times, n=20)[-1] if samples > 1 else times[0]
        p50[what] = [median(times)]
        figures.append(Figure(PART, f"page: {what}", p95, "ms", SLOWEST_MS, False, note=f"p95; {queries} queries"))
        say(figures[-1].line)
    goals: dict[str, Any] = {"goal": 1.3, "at_least": False}
    figures.append(ratio(PART, "page: newest of 100,000 lines / of 100", p50["newest"], p50["100 lines"], **goals))
    figures.append(ratio(PART, "page: after half / newest", p50["after half of them"], p50["newest"], **goals))
    return figures


def older_of(member: UserPoints) -> str:
    """The place of the page in the middle, as the previous page would write it."""
    request = RequestFactory().get("/")
    request.user = owner_of(member.brand)
    subject = page.subject_of(request, member)
    entries = LoyaltyTransaction.objects.filter(user_point=member).order_by("pk")
    scans = Scan.objects.filter(user=member.user_id).order_by("scanned_at")
    messages = NotificationDelivery.objects.filter(user=member.user_id).order_by("pk")
    half = {
        "points": entries.values_list("pk", "created_at")[entries.count() // 2],
        "scans": scans.values_list("pk", "scanned_at")[scans.count() // 2],
        "messages": messages.values_list("pk", "created_at")[messages.count() // 2],
    }
    rows = [reading.Row(kind, str(key), at) for kind, (key, at) in half.items()]
    kinds = list(visible_to(request.user, member.brand))
    return reading.write_place(reading.Place(), rows, member.points, subject, kinds)


def lists(client: Client, brand: Brand, size: int, samples: int) -> list[Figure]:
    """The first and the middle page of each order."""
    figures: list[Figure] = []
    for what, number in COLUMNS.items():
        for order in (f"-{number}", str(number)):
            first, middle = places(brand, order, size)
            for where, address in (("first page", first), ("in the middle", middle)):
                times, queries = sampled(client, address, samples)
                p95 = quantiles(times, n=20)[-1] if samples > 1 else times[0]
                name = f"list by {what}{' down' if order[0] == '-' else ''}: {where}"
                figures.append(Figure(PART, name, p95, "ms", SLOWEST_MS, False, note=f"p95; {queries} queries"))
                say(figures[-1].line)
    return figures


def places(brand: Brand, order: str, size: int) -> tuple[str, str]:
    request = RequestFactory().get("/", {"o": order})
    request.user = owner_of(brand)
    view: Any = admin.site.get_model_admin(UserPoints)
    changes = view.get_changelist_instance(request)
    key = Key(UserPoints, changes.queryset.query.order_by)
    rows = view.with_sort_keys(request, changes.queryset).order_by(*key.ordering(back=False))
    row = rows[size // 2]
    address = reverse("admin:loyalty_userpoints_changelist")
    middle = changes.get_query_string({"p": key.write(key.cursor_at(row, back=False), changes.list_digest)})
    return f"{address}?o={order}", address + middle
