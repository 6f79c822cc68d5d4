"""The portal's search box: a few rows of each kind, pages and actions, of the person's brands and role alone."""

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
from tests.support.portal import address, browser, scan, staff

pytestmark = pytest.mark.django_db


def search(client: Client, query: str) -> Any:
    return client.get(reverse("admin:search"), {"extended": "1", "s": query})


def titles(client: Client, query: str) -> list[str]:
    return [result.title for result in search(client, query).context["results"]]


def filled(brand: Brand, prefix: str) -> None:
    """One row of each kind, all of which a search for the prefix finds."""
    product = factories.product(brand, sku=f"{prefix}SKU", title=f"{prefix}tea")
    factories.campaign(brand, campaign_name=f"{prefix}campaign")
    factories.batch(brand, range_name=f"{prefix}batch", prefix=prefix, quantity=1, product=product)
    factories.customer(brand, email=f"{prefix.lower()}ann@example.com")


def test_each_kind_is_found(brand: Brand) -> None:
    filled(brand, "QQ-")

    links = [result.link for result in search(browser(staff(brand)), "QQ-").context["results"]]

    kinds = ["authcodes.authcode", "loyalty.userpoints", "authcodes.product", "authcodes.batchrange"]
    starts = [address(kind) for kind in [*kinds, "campaigns.campaign"]]
    assert [link.startswith(start) for link, start in zip(links, starts, strict=True)] == [True] * 5


def test_a_code_is_found_as_a_scanner_reads_it(brand: Brand) -> None:
    filled(brand, "QQ-")
    code = AuthCode.objects.get().code

    assert titles(browser(staff(brand)), f"https://example.com/s/{code}") == [code]


def line_of_code(client: Client, code: AuthCode) -> str:
    return str(search(client, code.code).context["results"][0].description)


@pytest.mark.parametrize(
    ("role", "last"),
    [("support", " · 1,200 scans · last scanned by ann@example.com"), ("printer", " · 1,200 scans")],
)
def test_a_code_says_its_product_and_state_and_to_some_who_scanned_it(role: str, last: str, brand: Brand) -> None:
    code = factories.code(brand, product=factories.product(brand, title="Tea", sku="T-1"))
    client = browser(staff(brand, role=role))
    assert line_of_code(client, code) == "code · Tea (T-1) · Unscanned"

    for email, hours in (("ben@example.com", 2), ("ann@example.com", 1)):
        customer = factories.customer(brand, email=email)
        scan(code, user=customer, scanned_at=timezone.now() - timedelta(hours=hours))
    AuthCode.objects.filter(pk=code.pk).update(scan_count=1200)

    assert line_of_code(client, code) == f"code · Tea (T-1) · Scanned{last}"


def test_a_code_names_no_customer_of_a_brand_where_one_prints_only(brand: Brand) -> None:
    person, other = staff(brand), factories.brand()
    StaffRole.objects.create(user=person, brand=other, role="printer")
    code = factories.code(other)
    scan(code, user=factories.customer(other, email="ann@example.com"))

    assert "ann@example.com" not in line_of_code(browser(person), code)


def test_a_code_names_no_customer_of_another_brand(brand: Brand) -> None:
    code = factories.code(brand)
    stranger = factories.customer(factories.brand(), email="stranger@example.com")
    scan(code, user=stranger, outcome="error", reason="other_brand")

    assert "last scanned" not in line_of_code(browser(staff(brand)), code)


def test_a_code_names_whose_scan_was_accepted_last_not_who_guessed_it_or_scanned_as_a_guest(brand: Brand) -> None:
    code, now = factories.code(brand), timezone.now()
    guesser, owner = (factories.customer(brand, email=f"{name}@example.com") for name in ("guesser", "owner"))
    scan(code, user=guesser, outcome="error", reason="bad_tag", scanned_at=now)
    assert "last scanned" not in line_of_code(browser(staff(brand)), code)

    scan(code, user=owner, scanned_at=now - timedelta(hours=2))
    scan(code, scanned_at=now - timedelta(hours=1))

    assert line_of_code(browser(staff(brand)), code).endswith(" · last scanned by owner@example.com")


def test_nobody_finds_rows_of_another_brand(brand: Brand) -> None:
    other = factories.brand()
    filled(other, "QQ-")

    assert titles(browser(staff(brand)), "QQ-") == []
    assert len(titles(browser(staff(other)), "QQ-")) == 5


def test_what_was_found_is_forgotten_with_the_role(brand: Brand) -> None:
    other = factories.brand()
    filled(brand, "QQ-")
    person = staff(brand, other)
    client = browser(person)
    assert len(titles(client, "QQ-")) == 5

    client.post(reverse("admin:choose_brand"), {"viewed": other.pk, "next": "/admin/"})
    assert titles(client, "QQ-") == []

    client.post(reverse("admin:choose_brand"), {"viewed": "", "next": "/admin/"})
    assert len(titles(client, "QQ-")) == 5
    StaffRole.objects.filter(brand=brand).delete()
    assert titles(client, "QQ-") == []


@pytest.mark.parametrize("role", ["owner", "manager", "printer", "support"])
def test_a_role_finds_what_its_pages_show(role: str, brand: Brand) -> None:
    filled(brand, "QQ-")
    client = browser(staff(brand, role=role))

    for result in [each for query in ("QQ-", "e", "till") for each in search(client, query).context["results"]]:
        assert client.get(result.link).status_code == 200, result.link
    assert ("qq-ann@example.com" in str(search(client, "QQ-").content)) == (role != "printer")
    assert ("Redeem a code" in titles(client, "till")) == (role != "printer")


@pytest.mark.parametrize("query", ["till", "export", "customers", "help", "batches"])
def test_common_words_lead_to_pages(query: str, brand: Brand) -> None:
    assert titles(browser(staff(brand)), query)


def test_nothing_typed_offers_what_one_may_begin(brand: Brand) -> None:
    assert titles(browser(staff(brand)), "")[:3] == ["New batch", "New product", "New campaign"]
    assert titles(browser(staff(brand, role="support")), "") == []
    assert "New campaign" not in titles(browser(staff(brand, role="printer")), "")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("batch new", "New batch"),
        ("invite", "Invite a colleague"),
        ("adjust", "Adjust points of …"),
        ("csv", "Import a file of codes"),
    ],
)
def test_actions_are_found_by_their_words(typed: str, found: str, brand: Brand) -> None:
    assert found in titles(browser(staff(brand)), typed)
    assert found not in titles(browser(staff(brand, role="support")), typed)


def test_only_operators_are_offered_a_new_brand(brand: Brand) -> None:
    operator = factories.user(is_staff=True, is_superuser=True)

    assert "New brand with its owner" in titles(browser(operator), "new brand")
    assert "New brand with its owner" not in titles(browser(staff(brand)), "new brand")


@pytest.mark.parametrize("typed", ["adjust points of qq-ann", "Adjust QQ-ann", "adjust of qq-ann@example.com"])
def test_points_are_adjusted_of_whom_the_name_means(typed: str, brand: Brand) -> None:
    filled(brand, "QQ-")
    [result] = search(browser(staff(brand)), typed).context["results"]

    assert result.title.startswith("Adjust the points of qq-ann@example.com")
    assert browser(staff(brand)).get(result.link).status_code == 200
    assert titles(browser(staff(factories.brand())), typed) == ["Adjust points of …"]
    assert "Adjust" not in str(titles(browser(staff(brand, role="support")), typed))


def test_sections_of_the_guide_are_found(brand: Brand) -> None:
    [result] = [
        each
        for each in search(browser(staff(brand, role="printer")), "recall products").context["results"]
        if each.title == "Recall products"
    ]

    assert result.link == "/admin/help/portal/#recall-products"


def test_nothing_found_says_what_the_search_knows(brand: Brand) -> None:
    answer = search(browser(staff(brand, role="printer")), "no such thing").content.decode()

    assert "You can search Codes, Products, Batches" in answer
    assert "Members" not in answer


@pytest.mark.parametrize("query", ["no such <b>thing</b>", "x" * 5000, "%%%", "\ud7ff\ud7ff\ud7ff"])
def test_nothing_found_is_said(query: str, brand: Brand) -> None:
    filled(brand, "QQ-")
    answer = search(browser(staff(brand)), query)

    assert answer.status_code == 200
    assert "Nothing found for" in answer.content.decode()
    assert "<b>" not in answer.content.decode()
    assert len(answer.content) < 2000


def test_few_of_a_kind_in_as_many_queries_as_one(brand: Brand) -> None:
    client = browser(staff(brand))
    filled(brand, "QQ-")
    search(client, "QQ-")

    def query_count() -> int:
        with CaptureQueriesContext(connection) as queries:
            search(client, "QQ-")
        return len(queries)

    one = query_count()
    factories.batch(brand, range_name="QQ-many", prefix="QQ-M", quantity=30)
    for number in range(10):
        filled(brand, f"QQ-{number}")

    assert query_count() == one
    assert len(titles(client, "QQ-")) == 25


def test_codes_are_read_by_their_index(brand: Brand, rf: Any) -> None:
    filled(brand, "QQ-")
    request = rf.get("/")
    request.user = staff(brand)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")

    page: Any = admin.site.get_model_admin(AuthCode)
    plan = page.first_match(request, page.get_queryset(request), "QQ-")[:5].explain()

    assert "auth_code_unique" in plan


def test_every_page_has_the_button(brand: Brand) -> None:
    answer = browser(staff(brand)).get(reverse("admin:index")).content.decode()

    assert 'aria-label="Search"' in answer
    assert "Ctrl K" in answer
