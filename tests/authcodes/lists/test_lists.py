"""The lists of codes and scans: filters, searches, invalid addresses, and counts equal to the dashboard's figures."""

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
from tests.authcodes.lists.conftest import CODES, NOON, SCANS, changelist, listed_rows
from tests.support import factories
from tests.support.portal import address, browser, page, scan, staff, text

pytestmark = pytest.mark.django_db


def mark_scanned(code: AuthCode, at: datetime, place: str = "") -> AuthCode:
    code.scan_count, code.first_scan_at, code.first_scan_location = 1, at, place
    code.save()
    return code


# --- Filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["scanned", "unscanned", "expired", "deactivated", "recalled"])
def test_scans_are_filtered_by_the_current_status_of_their_code(client: Client, brand: Brand, status: str) -> None:
    codes = {
        "scanned": mark_scanned(factories.code(brand), NOON),
        "unscanned": factories.code(brand),
        "expired": mark_scanned(factories.expired_code(brand), NOON),
        "deactivated": mark_scanned(factories.code(brand), NOON),
        "recalled": mark_scanned(factories.code(brand), NOON),
    }
    factories.deactivate(codes=[codes["deactivated"]], at=NOON)
    recall_fields = dict.fromkeys(("recall_id", "contact", "message", "reason"), "x")
    recalls.recall_batch(batch=codes["recalled"].batch, at=NOON, **recall_fields)
    rejected_fields = {"outcome": "error", "reason": "bad_tag", "points_status": "not_eligible"}
    scans = {name: scan(code, **(rejected_fields if name == "unscanned" else {})) for name, code in codes.items()}

    listed_scans = listed_rows(client, SCANS, status=status)

    assert scans[status] in listed_scans
    assert len(listed_scans) == (4 if status == "scanned" else 1)


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
def test_day_filters_use_the_brands_time_zone(name: str, days: dict[str, str], count: int) -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    before, after = NOON.replace(hour=18, minute=29), NOON.replace(hour=18, minute=30)  # midnight in Kolkata
    for moment in (before, after):
        code = mark_scanned(factories.code(brand), moment)
        AuthCode.objects.filter(pk=code.pk).update(created_at=moment)
        scan(code, scanned_at=moment)
    label = SCANS if name == "scanned_at" else CODES

    assert (
        len(listed_rows(browser(staff(brand)), label, **{f"{name}_{end}": day for end, day in days.items()})) == count
    )


def test_day_filters_use_each_brands_time_zone_for_staff_of_several() -> None:
    kolkata, hawaii = factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="Pacific/Honolulu")
    moment = NOON.replace(hour=20)  # the next day in Kolkata, the same in Honolulu
    scan_of = {brand: scan(factories.code(brand), scanned_at=moment) for brand in (kolkata, hawaii)}
    client = browser(staff(kolkata, hawaii))

    assert listed_rows(client, SCANS, scanned_at_to="2026-03-01") == [scan_of[hawaii]]
    assert listed_rows(client, SCANS, scanned_at_from="2026-03-02") == [scan_of[kolkata]]


def test_codes_are_filtered_by_place_campaign_batch_product_and_assignment(client: Client, brand: Brand) -> None:
    campaign = factories.campaign(brand)
    code = mark_scanned(factories.code(brand, campaign=campaign), NOON, "Pune, Maharashtra")
    other = factories.code(brand, assigned=False)

    for query in (
        {"first_scan_location": "Pune, Maharashtra"},
        {"batch__campaign__campaign_id__exact": campaign.pk},
        {"batch__id__exact": code.batch_id},
        {"product__id__exact": code.product_id},
        {"assigned": "yes"},
        {"scan_count__gt": 0},
    ):
        assert listed_rows(client, CODES, **query) == [code], query
    assert listed_rows(client, CODES, assigned="no") == [other]
    assert client.get(address(CODES), {"assigned": "perhaps"}).status_code == 302


def test_scans_are_filtered_by_every_field(client: Client, brand: Brand, customer: User) -> None:
    campaign = factories.campaign(brand)
    code = factories.code(brand, campaign=campaign)
    matching = scan(code, user=customer, location="Goa, Goa", points_status="awarded", scanned_at=NOON)
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
        assert listed_rows(client, SCANS, **query) == [matching], query


def test_filters_do_not_reveal_scans_by_customers_of_another_brand(client: Client, brand: Brand) -> None:
    other_brands_customer = factories.customer(factories.brand())
    code = factories.code(brand)
    scan(code, user=other_brands_customer)

    for key in (other_brands_customer.pk, 999_999_999):  # rejected like a customer that does not exist
        assert client.get(address(SCANS), {"user__id__exact": key})["Location"] == f"{address(SCANS)}?e=1"
    assert (
        listed_rows(client, SCANS, q=other_brands_customer.email)
        == listed_rows(client, CODES, q=other_brands_customer.email)
        == []
    )
    for guess in (
        {"user__gt": other_brands_customer.pk - 1},
        {"user__in": other_brands_customer.pk},
        {"user__email": other_brands_customer.email},
    ):
        assert client.get(address(SCANS), guess).status_code == 400, guess


ALL_FILTERS = [
    Filters(status, first_day, last_day, location)
    for status, (first_day, last_day), location in product(
        [None, *Status], [(-4, -2), (None, -3), (None, None)], ["", dashboards.PLACES[0]]
    )
]


def list_query(filters: Filters, name: str, place: str, campaign: str) -> dict[str, Any]:
    """The query of a list that matches the dashboard's filters."""
    days = {f"{name}_from": filters.first_day, f"{name}_to": filters.last_day}
    fields = {"status": filters.status, place: filters.location, campaign: filters.campaign_id, **days}
    return {key: str(value) for key, value in fields.items() if value}


def test_lists_have_as_many_rows_as_the_dashboard_counts() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    dashboards.fill(brand, random.Random(5))
    client = browser(staff(brand))
    today = brand.day_at(timezone.now())
    campaigns = [None, brand.campaigns.earliest("pk").pk]

    for template, campaign_id in product(ALL_FILTERS, campaigns):
        days = [today + timedelta(days=day) if day else None for day in (template.first_day, template.last_day)]  # type: ignore[arg-type]
        filters = Filters(template.status, *days, template.location, campaign_id)
        figures = dashboard.figures(brands=[brand], filters=filters)

        scans = changelist(
            client, SCANS, **list_query(filters, "scanned_at", "location", "campaign__campaign_id__exact")
        )
        assert scans.queryset.count() == figures.scans.total, filters
        query = list_query(filters, "first_scan_at", "first_scan_location", "batch__campaign__campaign_id__exact")
        codes = changelist(client, CODES, assigned="yes", scan_count__gt=0, **query)
        assert codes.queryset.count() == figures.codes.scanned, filters
        code_query = {name: value for name, value in query.items() if not name.startswith("first_scan")}
        assert changelist(client, CODES, assigned="yes", **code_query).queryset.count() == figures.codes.assigned, (
            filters
        )


# --- Search -----------------------------------------------------------------------------------------------------------


def test_search_by_product_or_customer_lists_codes_and_scans(client: Client, brand: Brand, customer: User) -> None:
    tea = factories.product(brand, sku="TEA-7", title="Green tea")
    code, other = factories.code(brand, product=tea), factories.code(brand)
    matching, other_scan = scan(code, user=customer), scan(other)

    for search_term in ("Green tea", "een te", "tea-7", customer.email.upper(), f" {customer.email} "):
        assert listed_rows(client, CODES, q=search_term) == [code], search_term
        assert listed_rows(client, SCANS, q=search_term) == [matching], search_term
    assert listed_rows(client, CODES, q="coffee") == listed_rows(client, SCANS, q="coffee") == []
    assert listed_rows(client, SCANS, q=other.code) == [other_scan]


def test_search_by_a_prefix_of_many_codes_lists_all_their_scans(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("authcodes.admin.search.MAX_CODES", 2)
    batch = factories.batch(brand, quantity=5, prefix="AB-")
    scans = [scan(code) for code in batch.codes.order_by("pk")]
    scan(factories.code(brand))

    assert listed_rows(client, SCANS, q="AB-") == scans[::-1]


def test_search_by_customer_needs_the_permission_to_see_scans(brand: Brand, customer: User) -> None:
    scan(factories.code(brand), user=customer)

    assert listed_rows(browser(staff(brand, role="support")), CODES, q=customer.email) != []
    assert listed_rows(browser(staff(brand, role="printer")), CODES, q=customer.email) == []


def test_codes_with_a_prefix_are_listed_in_order(client: Client, brand: Brand) -> None:
    factories.batch(brand, quantity=3, prefix="B-")
    factories.batch(brand, quantity=3, prefix="A-")
    factories.batch(brand, quantity=1, prefix="B-A-")

    assert [code.code for code in listed_rows(client, CODES, q="B-")] == ["B-0001", "B-0002", "B-0003", "B-A-0001"]


# --- Hostile addresses ------------------------------------------------------------------------------------------------

HOSTILE_VALUES = [
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


def open_changelist(label: str, user: User, **query: Any) -> Any:
    """The changelist with the forms of its queried filters; None if it rejects the query."""
    request = RequestFactory().get("/", query)
    request.user, request._messages = user, CookieStorage(request)  # type: ignore[attr-defined]
    try:
        change_list = page(label).get_changelist_instance(request)
    except (IncorrectLookupParameters, UnknownFilter):
        return None
    for spec in change_list.filter_specs:
        if not query or query.keys() & set(spec.expected_parameters()):
            assert all(str(choice["form"]) for choice in spec.choices(change_list))
    return change_list


@pytest.mark.parametrize("label", [CODES, SCANS, "events.event", "authcodes.batchrange"])
def test_hostile_query_values_do_not_break_a_list(brand: Brand, label: str) -> None:
    scan(factories.code(brand))
    user = staff(brand)
    names = {name for spec in open_changelist(label, user).filter_specs for name in spec.expected_parameters() if name}
    if label in {CODES, SCANS}:
        assert len(names) >= 10
    lookups = {"scan_count__gt", "scan_count", "first_scan_at__gte", "created_at__lt", "batch__in", "scanned_at__gte"}

    for name, value in product(sorted(names | lookups | {"p", "q", "o", "all", "e"}), HOSTILE_VALUES):
        open_changelist(label, user, **{name: value.encode("utf-8", "surrogatepass")})


@pytest.mark.parametrize("name", ["status", "product__id__exact", "batch__in", "q", "p", "created_at_to", "scan_count"])
def test_invalid_query_values_get_a_page_or_a_bad_request(client: Client, brand: Brand, name: str) -> None:
    factories.code(brand)

    for value in ("\0", "9" * 400, "9999-12-31", "x" * 5000):
        response = client.get(address(CODES), {name: value}, follow=True)
        assert response.status_code in {200, 400}, value


# --- Displayed times --------------------------------------------------------------------------------------------------


def test_times_are_displayed_in_the_brands_time_zone() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    scan(factories.code(brand), scanned_at=NOON)

    html = text(browser(staff(brand)).get(address(SCANS)))

    assert 'title="Asia/Kolkata"' in html
    assert "1 Mar 2026, 17:30 IST" in html


def test_times_are_displayed_in_each_brands_time_zone_for_staff_of_several() -> None:
    kolkata, hawaii = factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="Pacific/Honolulu")
    for brand in (kolkata, hawaii):
        scan(factories.code(brand), scanned_at=NOON)

    html = text(browser(staff(kolkata, hawaii)).get(address(SCANS)))

    assert "1 Mar 2026, 17:30 IST" in html
    assert "1 Mar 2026, 02:00 HST" in html


def test_times_of_scans_without_a_brand_are_displayed_in_utc() -> None:
    factories.brand(time_zone="Asia/Kolkata")
    factories.brand(time_zone="Pacific/Honolulu")
    Scan.objects.create(code="X", outcome="error", reason="unknown", points_status="not_eligible", scanned_at=NOON)

    html = text(browser(factories.user(is_staff=True, is_superuser=True)).get(address(SCANS)))

    assert "1 Mar 2026, 12:00 UTC" in html


def test_impossible_days_are_rejected(client: Client) -> None:
    answer = client.get(address(SCANS), {"scanned_at_to": "9999-12-31", "scanned_at_from": "0001-01-01"})

    assert (answer.status_code, answer["Location"]) == (302, address(SCANS) + "?e=1")
