"""A brand's web origins: what a valid one is, and the field on the brand's page."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from brands.models.audit import AuditLogEntry
from brands.models.tenants import MAX_WEB_ORIGINS, Brand
from core.web.web_origins import canonical, is_web_origin
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, staff, text

SHOP = "https://shop.example.com"


@pytest.mark.parametrize(
    "origin",
    [
        SHOP,
        "https://shop.example.com:8443",
        "https://xn--shp-sna.example.com",
        "https://localhost",
        "http://localhost",
        "http://localhost:3000",
        "http://127.0.0.1:65535",
        f"https://{'a' * 63}.example.com",
    ],
)
def test_origin_as_browsers_send_it_is_valid(origin: str) -> None:
    assert is_web_origin(origin)
    assert canonical(origin) == origin


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "*",
        "https://",
        "https://*",
        "https://*.example.com",
        "shop.example.com",
        "//shop.example.com",
        "http://shop.example.com",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "ftp://shop.example.com",
        "capacitor://localhost",
        "HTTPS://shop.example.com",
        "https://Shop.example.com",
        "https://shop.example.com/",
        "https://shop.example.com/path",
        "https://shop.example.com?a",
        "https://shop.example.com#a",
        "https://shop.example.com.",
        "https://shop..example.com",
        "https://-shop.example.com",
        "https://shop-.example.com",
        "https://shop_1.example.com",
        "https://shöp.example.com",
        "https://user@shop.example.com",
        "https://shop.example.com@attacker.net",
        "https://shop.example.com:443",
        "http://localhost:80",
        "https://shop.example.com:0",
        "https://shop.example.com:08443",
        "https://shop.example.com:65536",
        "https://shop.example.com:",
        "https://shop.example.com:٣",
        "https://shop.example.com\n",
        " https://shop.example.com",
        "https://shop.example.com https://other.example.com",
        "https://[::1]",
        f"https://{'a' * 64}.example.com",
        f"https://{'a.' * 127}com",
        f"https://{'a' * 100_000}",
    ],
    ids=lambda origin: ascii(origin)[:45],
)
def test_other_text_is_not_a_web_origin(origin: str) -> None:
    assert not is_web_origin(origin)


@pytest.mark.parametrize(
    ("typed", "origin"),
    [
        (" HTTPS://Shop.Example.COM/ ", SHOP),
        ("https://shop.example.com:443", SHOP),
        ("http://localhost:80/", "http://localhost"),
        ("https://shop.example.com:4430", "https://shop.example.com:4430"),
        ("https://shop.example.com:80", "https://shop.example.com:80"),
    ],
)
def test_typed_origin_is_converted_to_the_form_that_browsers_send(typed: str, origin: str) -> None:
    assert canonical(typed) == origin


@pytest.mark.django_db
@pytest.mark.parametrize("origins", [["https://*.example.com"], [f"https://shop{n}.example.com" for n in range(21)]])
def test_model_rejects_invalid_and_too_many_origins(brand: Brand, origins: list[str]) -> None:
    brand.web_origins = origins

    with pytest.raises(ValidationError) as error:
        brand.full_clean()

    assert list(error.value.message_dict) == ["web_origins"]


def save(brand: Brand, typed: str, role: str = "owner") -> Any:
    client, url = browser(staff(brand, role=role)), address("brands.brand", "change", brand.pk)
    return client.post(url, {**form_of(client.get(url)), "web_origins": typed})


@pytest.mark.django_db
def test_owner_adds_origins_with_an_audit_log_entry(brand: Brand) -> None:
    assert save(brand, f"HTTPS://Shop.example.com/\r\n\r\nhttp://localhost:3000, {SHOP}\r\n").status_code == 302

    brand.refresh_from_db()
    assert brand.web_origins == [SHOP, "http://localhost:3000"]
    entry = AuditLogEntry.objects.get()
    assert (entry.brand, entry.changes) == (brand, {"web_origins": [[], [SHOP, "http://localhost:3000"]]})
    client = browser(staff(brand))
    page = text(client.get(address("brands.brand", "change", brand.pk)))
    assert f"{SHOP}\nhttp://localhost:3000</textarea>" in page
    assert "Websites whose pages may call the API" in page
    assert f"{SHOP}, http://localhost:3000" in text(client.get(address("brands.brand", "history", brand.pk)))


@pytest.mark.django_db
def test_saving_the_unchanged_page_changes_nothing(brand: Brand) -> None:
    Brand.objects.filter(pk=brand.pk).update(web_origins=[SHOP, "http://localhost:3000"])

    assert save(brand, f"{SHOP}\r\nhttp://localhost:3000").status_code == 302

    brand.refresh_from_db()
    assert brand.web_origins == [SHOP, "http://localhost:3000"]
    assert not AuditLogEntry.objects.exists()


@pytest.mark.django_db
def test_origins_can_be_removed(brand: Brand) -> None:
    Brand.objects.filter(pk=brand.pk).update(web_origins=[SHOP])

    assert save(brand, "").status_code == 302

    brand.refresh_from_db()
    assert brand.web_origins == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("https://*.example.com", "is not a valid web origin"),
        ("https://shop.example.com/path", "is not a valid web origin"),
        ("http://shop.example.com", "Only localhost may use http"),
        ("null", "is not a valid web origin"),
        ("\n".join(f"https://shop{n}.example.com" for n in range(MAX_WEB_ORIGINS + 1)), "at most 20 web origins"),
    ],
)
def test_page_reports_invalid_and_too_many_origins(brand: Brand, typed: str, message: str) -> None:
    form_errors = errors(save(brand, typed))

    assert list(form_errors) == ["web_origins"]
    assert message in form_errors["web_origins"][0]
    brand.refresh_from_db()
    assert brand.web_origins == []


@pytest.mark.django_db
def test_brand_may_have_the_maximum_number_of_origins(brand: Brand) -> None:
    assert save(brand, "\n".join(f"https://shop{n}.example.com" for n in range(MAX_WEB_ORIGINS))).status_code == 302

    brand.refresh_from_db()
    assert len(brand.web_origins) == MAX_WEB_ORIGINS


@pytest.mark.django_db
def test_two_brands_may_have_the_same_origin(brand: Brand) -> None:
    """A brand does not learn which origins another brand has."""
    factories.brand(web_origins=[SHOP])

    assert save(brand, SHOP).status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["manager", "support"])
def test_other_roles_see_origins_and_cannot_change_them(brand: Brand, role: str) -> None:
    Brand.objects.filter(pk=brand.pk).update(web_origins=[SHOP])
    client, url = browser(staff(brand, role=role)), address("brands.brand", "change", brand.pk)

    assert SHOP in text(client.get(url))
    assert client.post(url, {"web_origins": ""}).status_code == 403

    brand.refresh_from_db()
    assert brand.web_origins == [SHOP]


@pytest.mark.django_db
def test_outdated_form_shows_the_current_origins(brand: Brand) -> None:
    client, url = browser(staff(brand)), address("brands.brand", "change", brand.pk)
    opened = client.get(url)
    sent = {**form_of(opened), "row_version": opened.context["adminform"].form.row_version, "web_origins": ""}
    Brand.objects.filter(pk=brand.pk).update(web_origins=[SHOP, "http://localhost:3000"])

    answer = client.post(url, sent)

    assert "Someone else changed this" in errors(answer)["__all__"][0]
    assert f"{SHOP}\nhttp://localhost:3000</textarea>" in text(answer)
