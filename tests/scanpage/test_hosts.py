"""The page's hostnames, and its own app key."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.credentials import ApiKey
from tests.scanpage.conftest import text
from tests.support import factories

pytestmark = pytest.mark.django_db


# --- Hostnames and the app key ---------------------------------------------------------------------------------------


def test_host_without_a_brand_has_an_error_page(brand, client):
    for path in ("/s/", f"/s/{factories.code(brand)}", "/01/04012345678901/21/A"):
        page = client.get(path, headers={"host": "portal.example.com"})
        assert page.status_code == 404
        assert "No brand at this address" in text(page)
        assert '<html lang="en" dir="ltr">' in text(page)

    page = client.get("/s/", headers={"host": "portal.example.com", "accept-language": "ar"})
    assert '<html lang="ar" dir="rtl">' in text(page)


def test_root_redirects_to_the_scan_page_or_to_the_portal_by_host(browser, client, brand):
    assert browser.get("/")["Location"] == "/s/"
    assert client.get("/", headers={"host": "portal.example.com"})["Location"] == "/admin/"


def test_hostname_with_a_port_is_preferred_for_that_port(brand, client):
    brand_with_port = factories.brand(hostname="shop.example.com:8443", name="Other")
    factories.brand(hostname="shop.example.com", name="Plain")

    names = [
        client.get("/s/", headers={"host": f"shop.example.com{port}"}).context["brand"].name
        for port in ("", ":8443", ":1")
    ]

    assert names == ["Plain", brand_with_port.name, "Plain"]


def test_page_has_its_own_app_key_beyond_the_limit_of_the_brand(brand, api, browser):
    api.app()
    api.app()

    key_text = browser.get("/s/").context["key"]

    assert browser.get("/s/").context["key"] == key_text
    assert api.with_headers(api_key=key_text).post("auth-codes/validate", {"code": "x"}).status_code == 200
    key = ApiKey.objects.get(of_scan_page=True)
    assert (key.kind, key.prefix) == ("app", key_text[:12])
    api.app()  # the brand may still have two keys of its own


def test_revoked_or_expired_key_of_the_page_is_replaced(brand, browser):
    first = browser.get("/s/").context["key"]
    ApiKey.objects.update(revoked_at=timezone.now())
    second = browser.get("/s/").context["key"]
    ApiKey.objects.filter(revoked_at=None).update(expires_at=timezone.now() - timedelta(seconds=1))
    third = browser.get("/s/").context["key"]

    assert len({first, second, third}) == 3


def test_new_secret_key_replaces_the_app_key_and_revokes_the_old_one(brand, browser, settings):
    first = browser.get("/s/").context["key"]

    settings.SECRET_KEY = "another secret of at least fifty characters, 0123456789"

    assert browser.get("/s/").context["key"] != first
    assert ApiKey.objects.filter(revoked_at=None).count() == 1


def test_page_takes_two_queries(browser, django_assert_num_queries):
    browser.get("/s/x")

    with django_assert_num_queries(2):
        browser.get("/s/x")
