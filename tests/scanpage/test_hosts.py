"""Where the page is: the hostnames of brands, and the app key of its own."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.credentials import ApiKey
from tests.scanpage.conftest import text
from tests.support import factories

pytestmark = pytest.mark.django_db


# --- Whose page ------------------------------------------------------------------------------------------------------


def test_a_host_of_no_brand_says_so(brand, client):
    for address in ("/s/", f"/s/{factories.code(brand)}", "/01/04012345678901/21/A"):
        page = client.get(address, headers={"host": "portal.example.com"})
        assert page.status_code == 404
        assert "No brand at this address" in text(page)
        assert '<html lang="en" dir="ltr">' in text(page)

    page = client.get("/s/", headers={"host": "portal.example.com", "accept-language": "ar"})
    assert '<html lang="ar" dir="rtl">' in text(page)


def test_the_root_of_a_brands_host_is_its_page_and_of_others_the_portal(browser, client, brand):
    assert browser.get("/")["Location"] == "/s/"
    assert client.get("/", headers={"host": "portal.example.com"})["Location"] == "/admin/"


def test_a_hostname_with_a_port_is_met_with_that_port_first(brand, client):
    other = factories.brand(hostname="shop.example.com:8443", name="Other")
    factories.brand(hostname="shop.example.com", name="Plain")

    names = [
        client.get("/s/", headers={"host": f"shop.example.com{port}"}).context["brand"].name
        for port in ("", ":8443", ":1")
    ]

    assert names == ["Plain", other.name, "Plain"]


def test_the_page_has_an_app_key_of_its_own_that_takes_nobodys_place(brand, api, browser):
    api.app()
    api.app()

    text_of_key = browser.get("/s/").context["key"]

    assert browser.get("/s/").context["key"] == text_of_key
    assert api.having(api_key=text_of_key).post("auth-codes/validate", {"code": "x"}).status_code == 200
    key = ApiKey.objects.get(of_scan_page=True)
    assert (key.kind, key.prefix) == ("app", text_of_key[:12])
    api.app()  # still two of one's own


def test_a_revoked_or_expired_key_of_the_page_is_replaced(brand, browser):
    first = browser.get("/s/").context["key"]
    ApiKey.objects.update(revoked_at=timezone.now())
    second = browser.get("/s/").context["key"]
    ApiKey.objects.filter(revoked_at=None).update(expires_at=timezone.now() - timedelta(seconds=1))
    third = browser.get("/s/").context["key"]

    assert len({first, second, third}) == 3


def test_another_secret_makes_another_key_and_ends_the_old_one(brand, browser, settings):
    first = browser.get("/s/").context["key"]

    settings.SECRET_KEY = "another secret of at least fifty characters, 0123456789"

    assert browser.get("/s/").context["key"] != first
    assert ApiKey.objects.filter(revoked_at=None).count() == 1


def test_two_lookups_cost_the_page_and_no_more(browser, django_assert_num_queries):
    browser.get("/s/x")

    with django_assert_num_queries(2):
        browser.get("/s/x")
