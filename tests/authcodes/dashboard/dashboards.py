"""Fills brands with random codes and scans, and counts the dashboard's figures of them in plain Python."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from authcodes.dashboard.figures import Codes, Day, RankedRow, Scans
from authcodes.dashboard.filters import Filters, Status, codes_with, scans_made, scans_with
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from tests.support import factories, portal

PLACES = ["Pune, Maharashtra", "Mumbai, Maharashtra", "Goa, Goa", ""]
DAYS = 9
REJECTED_OUTCOMES = {
    "limit_reached": "warning",
    "recalled": "warning",
    "expired": "error",
    "deactivated": "error",
    "bad_tag": "error",
}


def fill(brand: Brand, rng: random.Random, *, codes: int = 12, scans: int = 160) -> None:
    """Creates different batches with codes, and scans of the last days, many of them near midnight."""
    customers = [factories.customer(brand) for _ in range(8)]
    campaigns = [factories.campaign(brand, campaign_name=f"Campaign {n}") for n in range(2)]
    products = [factories.product(brand) for _ in range(3)]
    today = timezone.now().astimezone(brand.zone).date()
    for number in range(5):
        batch = factories.batch(
            brand,
            quantity=codes,
            product=products[number % 3] if number != 4 else None,
            campaign=[*campaigns, None][number % 3],
            scan_limit=None,
        )
        expires = {1: today - timedelta(days=1), 2: today, 3: today - timedelta(days=5)}.get(number)
        BatchRange.objects.filter(pk=batch.pk).update(expiration_date=expires)
    auth_codes = list(AuthCode.objects.filter(brand=brand).select_related("batch"))
    for code in auth_codes:
        if rng.random() < 0.25:
            code.deactivated_at = timezone.now()
        if code.batch.product_id is None and rng.random() < 0.5:
            code.product = rng.choice(products)
    AuthCode.objects.bulk_update(auth_codes, ["deactivated_at", "product"])
    scannable = [code for code in auth_codes if code.product_id and rng.random() < 0.7]
    moments = sorted(random_time(brand, rng) for _ in range(scans))
    Scan.objects.bulk_create([random_scan(brand, rng, auth_codes, scannable, customers, at) for at in moments])
    AuthCode.objects.bulk_update(auth_codes, ["scan_count", "first_scan_at", "first_scan_location"])


def random_time(brand: Brand, rng: random.Random) -> datetime:
    """A random time within the last days, in half of the cases within two hours of a local midnight."""
    now = timezone.now()
    if rng.random() < 0.5:
        return now - timedelta(days=rng.random() * DAYS)
    local = now.astimezone(brand.zone) - timedelta(days=rng.randrange(DAYS))
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    return min(midnight + timedelta(minutes=rng.randint(-120, 120)), now)


def random_scan(
    brand: Brand,
    rng: random.Random,
    auth_codes: Sequence[AuthCode],
    scannable: Sequence[AuthCode],
    customers: Sequence[Any],
    at: datetime,
) -> Scan:
    fields: dict[str, Any] = {
        "brand": brand,
        "user": rng.choice([*customers, None]),
        "location": rng.choice(PLACES),
        "scanned_at": at,
        "points_status": "not_eligible",
    }
    if rng.random() < 0.08:
        return Scan(**fields, code="nonsense", outcome="error", reason="unknown")
    accepted = rng.random() < 0.6
    code = rng.choice(scannable if accepted else auth_codes)
    fields |= {"auth_code": code, "code": code.code, "batch": code.batch, "product": code.product}
    fields["campaign"] = code.batch.campaign
    if not accepted:
        reason, outcome = rng.choice(list(REJECTED_OUTCOMES.items()))
        return Scan(**fields, outcome=outcome, reason=reason, scan_count=code.scan_count)
    if not code.scan_count:
        code.first_scan_at, code.first_scan_location = at, fields["location"]
    code.scan_count += 1
    points = Decimal(rng.choice([0, 5, 10]))
    earned = {"points_awarded": points, "points_status": "awarded"} if fields["user"] and points else {}
    return Scan(**{**fields, **earned}, outcome="success", reason="accepted", scan_count=code.scan_count)


def all_filters(brands: Sequence[Brand]) -> Iterator[Filters]:
    """Every combination of an optional status, first and last day, place and campaign.

    Some more have a batch.
    """
    today = brands[0].day_at(timezone.now())
    ranges: list[tuple[date | None, date | None]] = [
        (None, None),
        (today - timedelta(days=4), None),
        (None, today - timedelta(days=2)),
        (today - timedelta(days=5), today - timedelta(days=1)),
        (today, today),
    ]
    campaign = Campaign.objects.filter(brand=brands[0]).earliest("pk")
    for status, (first, last), place, campaign_id in product(
        [None, *Status], ranges, ["", PLACES[0]], [None, campaign.pk]
    ):
        yield Filters(status, first, last, place, campaign_id)
    for batch in BatchRange.objects.filter(brand=brands[0]).order_by("pk")[:2]:
        for status in (None, *Status):
            yield Filters(status, batch_id=batch.pk)
        yield Filters(None, *ranges[3], PLACES[0], campaign.pk, batch.pk)


class BruteForceFigures:
    """The same figures, counted by iterating over all rows."""

    def __init__(self, brands: Sequence[Brand]) -> None:
        self.now = timezone.now()
        self.all_codes = list(AuthCode.objects.filter(brand__in=brands).select_related("batch", "brand"))
        rows = Scan.objects.filter(brand__in=brands).select_related("auth_code__batch", "product", "brand")
        self.all_scans = list(rows)

    def codes(self, filters: Filters) -> Codes:
        matching = [
            code
            for code in self.all_codes
            if code.product_id
            and self.has_status(code, filters.status)
            and filters.campaign_id in {None, code.batch.campaign_id}
            and filters.batch_id in {None, code.batch_id}
        ]
        first = {
            scan.auth_code_id
            for scan in self.all_scans
            if scan.outcome == "success" and scan.scan_count == 1 and self.matches_days_and_place(scan, filters)
        }
        return Codes(len(matching), len([code for code in matching if code.pk in first]))

    def scans(self, filters: Filters) -> Scans:
        matching = [
            scan
            for scan in self.all_scans
            if self.matches_days_and_place(scan, filters)
            and filters.campaign_id in {None, scan.campaign_id}
            and filters.batch_id in {None, scan.batch_id}
            and (filters.status is None or (scan.auth_code and self.has_status(scan.auth_code, filters.status)))
        ]
        outcomes = Counter(scan.outcome for scan in matching)
        by_day = Counter((self.day(scan), scan.outcome) for scan in matching)
        accepted = [scan for scan in matching if scan.outcome == "success"]
        titles = {scan.product_id: scan.product.title for scan in accepted if scan.product}
        products = Counter(scan.product_id for scan in accepted if scan.product_id)
        places = Counter(scan.location for scan in accepted if scan.location)
        return Scans(
            accepted=outcomes["success"],
            warnings=outcomes["warning"],
            errors=outcomes["error"],
            recalled=len([scan for scan in matching if scan.reason == "recalled"]),
            points=sum((scan.points_awarded for scan in matching), Decimal(0)),
            unique_scanners=len({scan.user_id for scan in matching if scan.user_id}),
            days=tuple(
                Day(day, by_day[day, "success"], by_day[day, "warning"], by_day[day, "error"])
                for day in sorted({day for day, _outcome in by_day})
            ),
            products=top((key, titles[key], number) for key, number in products.items()),
            places=top((key, key, number) for key, number in places.items()),
        )

    def has_status(self, code: AuthCode, status: Status | None) -> bool:
        local = code.brand.day_at(self.now)
        day = code.batch.expiration_date
        return {
            None: True,
            Status.SCANNED: code.scan_count > 0,
            Status.UNSCANNED: code.scan_count == 0,
            Status.EXPIRED: day is not None and day < local,
            Status.DEACTIVATED: code.deactivated_at is not None,
        }[status]

    def matches_days_and_place(self, scan: Scan, filters: Filters) -> bool:
        day = self.day(scan)
        return (
            (filters.first_day or day) <= day <= (filters.last_day or day)
            and filters.location in {"", scan.location}
        )  # fmt: skip

    def day(self, scan: Scan) -> date:
        assert scan.brand
        return scan.brand.day_at(scan.scanned_at)


def top(candidates: Any) -> tuple[RankedRow, ...]:
    ranked = sorted(candidates, key=lambda candidate: (-candidate[2], candidate[0]))
    return tuple(RankedRow(*candidate) for candidate in ranked[:5])


def codes_condition(filters: Filters, brands: Sequence[Brand]) -> Q:
    """The condition of the list for assigned codes with the filters' status, campaign and batch."""
    condition = Q(product__isnull=False)
    if filters.status:
        condition &= codes_with(filters.status, brands=brands)
    if filters.campaign_id is not None:
        condition &= Q(batch__campaign=filters.campaign_id)
    return condition & batch_condition(filters)


def scans_condition(filters: Filters, brands: Sequence[Brand]) -> Q:
    """The condition of the list for scans that match all filters."""
    condition = scans_made(brands=brands, first_day=filters.first_day, last_day=filters.last_day, places=filters.where)
    if filters.status:
        condition &= scans_with(filters.status, brands=brands)
    if filters.campaign_id is not None:
        condition &= Q(campaign=filters.campaign_id)
    return condition & batch_condition(filters)


def batch_condition(filters: Filters) -> Q:
    return Q(batch__in=filters.batches) if filters.batches else Q()


current_time = timezone.now
DAY = timedelta(days=1)


def open_home(brand: Brand, role: str = "owner", **query: Any) -> Any:
    return portal.browser(portal.staff(brand, role=role)).get(reverse("admin:index"), query)


def home(brand: Brand, role: str = "owner", **query: Any) -> Any:
    response = open_home(brand, role, **query)
    assert response.status_code == 200
    return response.context["home"]


def local(at: datetime, brand: Brand) -> date:
    return brand.day_at(at)
