"""The portal's search box: a few rows of each kind, pages and actions, limited to the user's brands and role."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from authcodes.models.codes import AuthCode
from brands.models.people import StaffRole
from brands.models.tenants import Brand
from tests.support import factories
from tests.support.portal import KINDS_OF_PAGES, address, browser, scan, staff

pytestmark = pytest.mark.django_db


def search(client: Client, query: str) -> Any:
    return client.get(reverse("admin:search"), {"extended": "1", "s": query})


def titles(client: Client, query: str) -> list[str]:
    return [result.title for result in search(client, query).context["results"]]


def add_rows(brand: Brand, prefix: str) -> None:
    """Add one row of each kind; a search for the prefix finds all of them."""
    product = factories.product(brand, sku=f"{prefix}SKU", title=f"{prefix}tea")
    factories.campaign(brand, campaign_name=f"{prefix}campaign")
    factories.batch(brand, range_name=f"{prefix}batch", prefix=prefix, quantity=1, product=product)
    factories.customer(brand, email=f"{prefix.lower()}ann@example.com")


def test_search_finds_rows_of_each_kind(brand: Brand) -> None:
    add_rows(brand, "QQ-")

    links = [result.link for result in search(browser(staff(brand)), "QQ-").context["results"]]

    kinds = ["authcodes.authcode", "loyalty.userpoints", "authcodes.product", "authcodes.batchrange"]
    starts = [address(kind) for kind in [*kinds, "campaigns.campaign"]]
    assert [link.startswith(start) for link, start in zip(links, starts, strict=True)] == [True] * 5


def test_search_finds_a_code_by_its_scanned_url(brand: Brand) -> None:
    add_rows(brand, "QQ-")
    code = AuthCode.objects.get().code

    assert titles(browser(staff(brand)), f"https://example.com/s/{code}") == [code]


def description_of(client: Client, code: AuthCode) -> str:
    return str(search(client, code.code).context["results"][0].description)


@pytest.mark.parametrize(
    ("role", "ending"),
    [("support", " · 1,200 scans · last scanned by ann@example.com"), ("printer", " · 1,200 scans")],
)
def test_code_is_described_with_product_status_and_last_customer_by_role(role: str, ending: str, brand: Brand) -> None:
    code = factories.code(brand, product=factories.product(brand, title="Tea", sku="T-1"))
    client = browser(staff(brand, role=role))
    assert description_of(client, code) == "code · Tea (T-1) · Unscanned"

    for email, hours in (("ben@example.com", 2), ("ann@example.com", 1)):
        customer = factories.customer(brand, email=email)
        scan(code, user=customer, scanned_at=timezone.now() - timedelta(hours=hours))
    AuthCode.objects.filter(pk=code.pk).update(scan_count=1200)

    assert description_of(client, code) == f"code · Tea (T-1) · Scanned{ending}"


def test_code_names_no_customer_of_a_brand_with_the_printer_role(brand: Brand) -> None:
    user, other_brand = staff(brand), factories.brand()
    StaffRole.objects.create(user=user, brand=other_brand, role="printer")
    code = factories.code(other_brand)
    scan(code, user=factories.customer(other_brand, email="ann@example.com"))

    assert "ann@example.com" not in description_of(browser(user), code)


def test_code_names_no_customer_of_another_brand(brand: Brand) -> None:
    code = factories.code(brand)
    foreign_customer = factories.customer(factories.brand(), email="stranger@example.com")
    scan(code, user=foreign_customer, outcome="error", reason="other_brand")

    assert "last scanned" not in description_of(browser(staff(brand)), code)


def test_code_names_the_customer_of_the_last_accepted_scan(brand: Brand) -> None:
    code, now = factories.code(brand), timezone.now()
    customer_with_a_bad_tag, customer_with_a_scan = (
        factories.customer(brand, email=f"{name}@example.com") for name in ("guesser", "owner")
    )
    scan(code, user=customer_with_a_bad_tag, outcome="error", reason="bad_tag", scanned_at=now)
    assert "last scanned" not in description_of(browser(staff(brand)), code)

    scan(code, user=customer_with_a_scan, scanned_at=now - timedelta(hours=2))
    scan(code, scanned_at=now - timedelta(hours=1))

    assert description_of(browser(staff(brand)), code).endswith(" · last scanned by owner@example.com")


def test_search_finds_no_rows_of_another_brand(brand: Brand) -> None:
    other_brand = factories.brand()
    add_rows(other_brand, "QQ-")

    assert titles(browser(staff(brand)), "QQ-") == []
    assert len(titles(browser(staff(other_brand)), "QQ-")) == 5


def test_results_follow_the_chosen_brand_and_the_role(brand: Brand) -> None:
    other_brand = factories.brand()
    add_rows(brand, "QQ-")
    user = staff(brand, other_brand)
    client = browser(user)
    assert len(titles(client, "QQ-")) == 5

    client.post(reverse("admin:choose_brand"), {"viewed": other_brand.pk, "next": "/admin/"})
    assert titles(client, "QQ-") == []

    client.post(reverse("admin:choose_brand"), {"viewed": "", "next": "/admin/"})
    assert len(titles(client, "QQ-")) == 5
    StaffRole.objects.filter(brand=brand).delete()
    assert titles(client, "QQ-") == []


@pytest.mark.parametrize("role", ["owner", "manager", "printer", "support"])
def test_results_are_limited_to_pages_that_the_role_may_open(role: str, brand: Brand) -> None:
    add_rows(brand, "QQ-")
    client = browser(staff(brand, role=role))

    for result in [result for query in ("QQ-", "e", "till") for result in search(client, query).context["results"]]:
        assert client.get(result.link).status_code == 200, result.link
    assert ("qq-ann@example.com" in str(search(client, "QQ-").content)) == (role != "printer")
    assert ("Redeem a code" in titles(client, "till")) == (role != "printer")


@pytest.mark.parametrize("query", ["till", "export", "customers", "help", "batches"])
def test_common_terms_find_pages(query: str, brand: Brand) -> None:
    assert titles(browser(staff(brand)), query)


def test_empty_query_lists_the_actions_that_the_role_allows(brand: Brand) -> None:
    assert titles(browser(staff(brand)), "")[:3] == ["New batch", "New product", "New campaign"]
    assert titles(browser(staff(brand, role="support")), "") == []
    assert "New campaign" not in titles(browser(staff(brand, role="printer")), "")


@pytest.mark.parametrize(
    ("query", "expected_title"),
    [
        ("batch new", "New batch"),
        ("invite", "Invite a colleague"),
        ("adjust", "Adjust points of …"),
        ("csv", "Import a file of codes"),
    ],
)
def test_actions_are_found_by_their_keywords(query: str, expected_title: str, brand: Brand) -> None:
    assert expected_title in titles(browser(staff(brand)), query)
    assert expected_title not in titles(browser(staff(brand, role="support")), query)


def test_only_operators_find_the_action_for_a_new_brand(brand: Brand) -> None:
    operator = factories.user(is_staff=True, is_superuser=True)

    assert "New brand with its owner" in titles(browser(operator), "new brand")
    assert "New brand with its owner" not in titles(browser(staff(brand)), "new brand")


@pytest.mark.parametrize("query", ["adjust points of qq-ann", "Adjust QQ-ann", "adjust of qq-ann@example.com"])
def test_adjust_action_finds_the_member_by_name(query: str, brand: Brand) -> None:
    add_rows(brand, "QQ-")
    [result] = search(browser(staff(brand)), query).context["results"]

    assert result.title.startswith("Adjust the points of qq-ann@example.com")
    assert browser(staff(brand)).get(result.link).status_code == 200
    assert titles(browser(staff(factories.brand())), query) == ["Adjust points of …"]
    assert "Adjust" not in str(titles(browser(staff(brand, role="support")), query))


def test_search_finds_sections_of_the_guide(brand: Brand) -> None:
    [result] = [
        result
        for result in search(browser(staff(brand, role="printer")), "recall products").context["results"]
        if result.title == "Recall products"
    ]

    assert result.link == "/admin/help/portal/#recall-products"


def test_search_without_results_lists_the_searchable_kinds_of_the_role(brand: Brand) -> None:
    page_html = search(browser(staff(brand, role="printer")), "no such thing").content.decode()

    assert "You can search Codes, Products, Batches" in page_html
    assert "Members" not in page_html


@pytest.mark.parametrize("query", ["no such <b>thing</b>", "x" * 5000, "%%%", "\ud7ff\ud7ff\ud7ff"])
def test_search_without_results_shows_a_short_message(query: str, brand: Brand) -> None:
    add_rows(brand, "QQ-")
    response = search(browser(staff(brand)), query)

    assert response.status_code == 200
    assert "Nothing found for" in response.content.decode()
    assert "<b>" not in response.content.decode()
    assert len(response.content) < 2000


def test_search_lists_few_of_each_kind_with_a_constant_number_of_queries(brand: Brand) -> None:
    client = browser(staff(brand))
    add_rows(brand, "QQ-")
    search(client, "QQ-")

    def query_count() -> int:
        with CaptureQueriesContext(connection) as queries:
            search(client, "QQ-")
        return len(queries)

    queries_for_one = query_count()
    factories.batch(brand, range_name="QQ-many", prefix="QQ-M", quantity=30)
    for number in range(10):
        add_rows(brand, f"QQ-{number}")

    assert query_count() == queries_for_one
    assert len(titles(client, "QQ-")) == 25


def test_search_for_codes_uses_the_index(brand: Brand, rf: Any) -> None:
    add_rows(brand, "QQ-")
    request = rf.get("/")
    request.user = staff(brand)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")

    model_admin: Any = admin.site.get_model_admin(AuthCode)
    plan = model_admin.first_match(request, model_admin.get_queryset(request), "QQ-")[:5].explain()

    assert "auth_code_unique" in plan


@pytest.mark.parametrize("page", KINDS_OF_PAGES)
def test_lists_forms_and_custom_pages_have_the_search_button(page: str, brand: Brand) -> None:
    page_html = browser(staff(brand)).get(page).content.decode()

    assert 'aria-label="Search"' in page_html
    assert "Ctrl K" in page_html
