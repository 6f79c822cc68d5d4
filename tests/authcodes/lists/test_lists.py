"""The lists of codes and scans: every filter and search, and the dashboard's figures found again."""

import random
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.messages.storage.cookie import CookieStorage
from django.test import Client, RequestFactory
from django.utils import timezone

from authcodes.dashboard import figures as dashboard
from authcodes.dashboard.filters import Filters, Status
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from brands.models.people import User
from brands.models.tenants import Brand
from portal.lists.queries import UnknownFilter
from tests.authcodes.dashboard import dashboards
from tests.authcodes.lists.conftest import CODES, NOON, SCANS, changelist, found
from tests.support import factories
from tests.support.portal import address, browser, page, scan, staff, text

pytestmark = pytest.mark.django_db


def first_scanned(code: AuthCode, at: datetime, place: str = "") -> AuthCode:
    code.scan_count, code.first_scan_at, code.first_scan_location = 1, at, place
    code.save()
    return code


# --- Filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["scanned", "unscanned", "expired", "deactivated", "recalled"])
def test_scans_are_filtered_by_their_codes_status_now(client: Client, brand: Brand, status: str) -> None:
    codes = {
        "scanned": first_scanned(factories.code(brand), NOON),
        "unscanned": factories.code(brand),
        "expired": first_scanned(factories.expired_code(brand), NOON),
        "deactivated": first_scanned(factories.code(brand), NOON),
        "recalled": first_scanned(factories.code(brand), NOON),
    }
    factories.deactivate(codes=[codes["deactivated"]], at=NOON)
    recall_fields = dict.fromkeys(("recall_id", "contact", "message", "reason"), "x")
    recalls.recall_batch(batch=codes["recalled"].batch, at=NOON, **recall_fields)
    refused = {"outcome": "error", "reason": "bad_tag", "points_status": "not_eligible"}
    scans = {name: scan(code, **(refused if name == "unscanned" else {})) for name, code in codes.items()}

    shown = found(client, SCANS, status=status)

    assert scans[status] in shown
    assert len(shown) == (4 if status == "scanned" else 1)


@pytest.mark.parametrize(
    ("days", "count"),
    [
        ({"from": "2026-03-02"}, 1),
        ({"to": "2026-03-01"}, 1),
        ({"from": "2026-03-01", "to": "2026-03-02"}, 2),
        ({"from": "2026-03-03"}, 0),
    ],
)
@pytest.mark.parametrize("name", ["created_at", "first_scan_at", "scanned_at"])
def test_days_are_cut_in_the_brands_zone(name: str, days: dict[str, str], count: int) -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    before, after = NOON.replace(hour=18, minute=29), NOON.replace(hour=18, minute=30)  # midnight in Kolkata
    for moment in (before, after):
        code = first_scanned(factories.code(brand), moment)
        AuthCode.objects.filter(pk=code.pk).update(created_at=moment)
        scan(code, scanned_at=moment)
    label = SCANS if name == "scanned_at" else CODES

    assert len(found(browser(staff(brand)), label, **{f"{name}_{end}": day for end, day in days.items()})) == count


def test_days_are_each_brands_own_for_who_works_for_several() -> None:
    kolkata, hawaii = factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="Pacific/Honolulu")
    moment = NOON.replace(hour=20)  # the next day in Kolkata, the same in Honolulu
    shown = {brand: scan(factories.code(brand), scanned_at=moment) for brand in (kolkata, hawaii)}
    client = browser(staff(kolkata, hawaii))

    assert found(client, SCANS, scanned_at_to="2026-03-01") == [shown[hawaii]]
    assert found(client, SCANS, scanned_at_from="2026-03-02") == [shown[kolkata]]


def test_codes_are_filtered_by_place_campaign_batch_product_and_assignment(client: Client, brand: Brand) -> None:
    campaign = factories.campaign(brand)
    code = first_scanned(factories.code(brand, campaign=campaign), NOON, "Pune, Maharashtra")
    other = factories.code(brand, assigned=False)

    for query in (
        {"first_scan_location": "Pune, Maharashtra"},
        {"batch__campaign__campaign_id__exact": campaign.pk},
        {"batch__id__exact": code.batch_id},
        {"product__id__exact": code.product_id},
        {"assigned": "yes"},
        {"scan_count__gt": 0},
    ):
        assert found(client, CODES, **query) == [code], query
    assert found(client, CODES, assigned="no") == [other]
    assert client.get(address(CODES), {"assigned": "perhaps"}).status_code == 302


def test_scans_are_filtered_by_everything_that_they_tell(client: Client, brand: Brand, customer: User) -> None:
    campaign = factories.campaign(brand)
    code = factories.code(brand, campaign=campaign)
    one = scan(code, user=customer, location="Goa, Goa", points_status="awarded", scanned_at=NOON)
    scan(factories.code(brand), outcome="error", reason="expired", points_status="not_eligible")

    for query in (
        {"location": "Goa, Goa"},
        {"campaign__campaign_id__exact": campaign.pk},
        {"batch__id__exact": code.batch_id},
        {"product__id__exact": code.product_id},
        {"outcome__exact": "success"},
        {"reason__exact": "accepted"},
        {"points_status__exact": "awarded"},
        {"scanned_at_to": "2026-03-01"},
        {"user__id__exact": customer.pk},
        {"user__gt": 0},
    ):
        assert found(client, SCANS, **query) == [one], query


def test_whether_another_brands_customer_scanned_is_not_to_be_found_out(client: Client, brand: Brand) -> None:
    stranger = factories.customer(factories.brand())
    code = factories.code(brand)
    scan(code, user=stranger)

    for key in (stranger.pk, 999_999_999):  # refused like a customer who is not there
        assert client.get(address(SCANS), {"user__id__exact": key})["Location"] == f"{address(SCANS)}?e=1"
    assert found(client, SCANS, q=stranger.email) == found(client, CODES, q=stranger.email) == []
    for guess in ({"user__gt": stranger.pk - 1}, {"user__in": stranger.pk}, {"user__email": stranger.email}):
        assert client.get(address(SCANS), guess).status_code == 400, guess


ALL_FILTERS = [
    Filters(status, first_day, last_day, location)
    for status, (first_day, last_day), location in product(
        [None, *Status], [(-4, -2), (None, -3), (None, None)], ["", dashboards.PLACES[0]]
    )
]


def in_the_list(filters: Filters, name: str, place: str, campaign: str) -> dict[str, Any]:
    """The dashboard's filters as a list's address has them."""
    days = {f"{name}_from": filters.first_day, f"{name}_to": filters.last_day}
    named = {"status": filters.status, place: filters.location, campaign: filters.campaign_id, **days}
    return {key: str(value) for key, value in named.items() if value}


def test_lists_show_as_many_rows_as_the_dashboard_counts() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    dashboards.fill(brand, random.Random(5))
    client = browser(staff(brand))
    today = timezone.now().astimezone(brand.zone).date()
    campaigns = [None, brand.campaigns.earliest("pk").pk]

    for each, campaign_id in product(ALL_FILTERS, campaigns):
        days = [today + timedelta(days=day) if day else None for day in (each.first_day, each.last_day)]  # type: ignore[arg-type]
        filters = Filters(each.status, *days, each.location, campaign_id)
        figures = dashboard.figures(brands=[brand], filters=filters)

        scans = changelist(
            client, SCANS, **in_the_list(filters, "scanned_at", "location", "campaign__campaign_id__exact")
        )
        assert scans.queryset.count() == figures.scans.total, filters
        query = in_the_list(filters, "first_scan_at", "first_scan_location", "batch__campaign__campaign_id__exact")
        codes = changelist(client, CODES, assigned="yes", scan_count__gt=0, **query)
        assert codes.queryset.count() == figures.codes.scanned, filters
        plain = {name: value for name, value in query.items() if not name.startswith("first_scan")}
        assert changelist(client, CODES, assigned="yes", **plain).queryset.count() == figures.codes.assigned, filters


# --- Search -----------------------------------------------------------------------------------------------------------


def test_codes_and_scans_are_found_by_product_and_customer(client: Client, brand: Brand, customer: User) -> None:
    tea = factories.product(brand, sku="TEA-7", title="Green tea")
    code, other = factories.code(brand, product=tea), factories.code(brand)
    one, two = scan(code, user=customer), scan(other)

    for search_term in ("Green tea", "een te", "tea-7", customer.email.upper(), f" {customer.email} "):
        assert found(client, CODES, q=search_term) == [code], search_term
        assert found(client, SCANS, q=search_term) == [one], search_term
    assert found(client, CODES, q="coffee") == found(client, SCANS, q="coffee") == []
    assert found(client, SCANS, q=other.code) == [two]


def test_a_beginning_that_many_codes_share_finds_their_scans(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("authcodes.admin.search.MAX_CODES", 2)
    batch = factories.batch(brand, quantity=5, prefix="AB-")
    scans = [scan(code) for code in batch.codes.order_by("pk")]
    scan(factories.code(brand))

    assert found(client, SCANS, q="AB-") == scans[::-1]


def test_who_sees_no_scans_finds_no_codes_by_their_customers(brand: Brand, customer: User) -> None:
    scan(factories.code(brand), user=customer)

    assert found(browser(staff(brand, role="support")), CODES, q=customer.email) != []
    assert found(browser(staff(brand, role="printer")), CODES, q=customer.email) == []


def test_codes_that_begin_so_come_in_their_order(client: Client, brand: Brand) -> None:
    factories.batch(brand, quantity=3, prefix="B-")
    factories.batch(brand, quantity=3, prefix="A-")
    factories.batch(brand, quantity=1, prefix="B-A-")

    assert [it.code for it in found(client, CODES, q="B-")] == ["B-0001", "B-0002", "B-0003", "B-A-0001"]


# --- Hostile addresses ------------------------------------------------------------------------------------------------

HOSTILE = [
    "abc",
    "\0",
    "a\0b",
    "9" * 18,
    str(2**31),
    str(2**63 - 1),
    str(2**63),
    "9" * 400,
    "-1",
    "-" + "9" * 30,
    "١٢٣",
    "1e400",
    "NaN",
    "0001-01-01",
    "9999-12-31",
    "10000-01-01",
    "2026-02-30",
    "2026-13-45T99:99",
    "0001-01-01 00:00:00+14:00",
    "9999-12-31T23:59:59-23:59",
    "' OR 1=1 --",
    "%",
    "\\",
    "\ud800",
    "x" * 5000,
    "[1,2]",
    "00000000.W10",
    "null",
    "",
]


def opened(label: str, person: User, **query: Any) -> Any:
    """A list, with the forms of the filters that `query` is for; None where it refuses a mistyped address."""
    request = RequestFactory().get("/", query)
    request.user, request._messages = person, CookieStorage(request)  # type: ignore[attr-defined]
    try:
        shown = page(label).get_changelist_instance(request)
    except (IncorrectLookupParameters, UnknownFilter):
        return None
    for spec in shown.filter_specs:
        if not query or query.keys() & set(spec.expected_parameters()):
            assert all(str(choice["form"]) for choice in spec.choices(shown))
    return shown


@pytest.mark.parametrize("label", [CODES, SCANS, "events.event", "authcodes.batchrange"])
def test_no_address_breaks_a_list(brand: Brand, label: str) -> None:
    scan(factories.code(brand))
    person = staff(brand)
    names = {name for spec in opened(label, person).filter_specs for name in spec.expected_parameters() if name}
    if label in {CODES, SCANS}:
        assert len(names) >= 10
    lookups = {"scan_count__gt", "scan_count", "first_scan_at__gte", "created_at__lt", "batch__in", "scanned_at__gte"}

    for name, value in product(sorted(names | lookups | {"p", "q", "o", "all", "e"}), HOSTILE):
        opened(label, person, **{name: value.encode("utf-8", "surrogatepass")})


@pytest.mark.parametrize("name", ["status", "product__id__exact", "batch__in", "q", "p", "created_at_to", "scan_count"])
def test_a_mistyped_address_gets_a_page(client: Client, brand: Brand, name: str) -> None:
    factories.code(brand)

    for value in ("\0", "9" * 400, "9999-12-31", "x" * 5000):
        response = client.get(address(CODES), {name: value}, follow=True)
        assert response.status_code in {200, 400}, value


# --- What is shown ----------------------------------------------------------------------------------------------------


def test_moments_are_shown_in_the_brands_zone_which_is_named() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    scan(factories.code(brand), scanned_at=NOON)

    shown = text(browser(staff(brand)).get(address(SCANS)))

    assert 'title="Asia/Kolkata"' in shown
    assert "1 Mar 2026, 17:30 IST" in shown


def test_moments_are_in_each_rows_own_zone_for_who_works_for_several() -> None:
    kolkata, hawaii = factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="Pacific/Honolulu")
    for brand in (kolkata, hawaii):
        scan(factories.code(brand), scanned_at=NOON)

    shown = text(browser(staff(kolkata, hawaii)).get(address(SCANS)))

    assert "1 Mar 2026, 17:30 IST" in shown
    assert "1 Mar 2026, 02:00 HST" in shown


def test_scans_of_no_brand_are_in_utc() -> None:
    factories.brand(time_zone="Asia/Kolkata")
    factories.brand(time_zone="Pacific/Honolulu")
    Scan.objects.create(code="X", outcome="error", reason="unknown", points_status="not_eligible", scanned_at=NOON)

    shown = text(browser(factories.user(is_staff=True, is_superuser=True)).get(address(SCANS)))

    assert "1 Mar 2026, 12:00 UTC" in shown


def test_a_day_nobody_can_mean_is_refused(client: Client) -> None:
    answer = client.get(address(SCANS), {"scanned_at_to": "9999-12-31", "scanned_at_from": "0001-01-01"})

    assert (answer.status_code, answer["Location"]) == (302, address(SCANS) + "?e=1")
