"""Preflights of the API are answered for web origins without revealing which ones are registered."""

from typing import Any

import pytest
from django.test import Client

from brands.access import cross_origin
from brands.models.tenants import Brand
from core.api.idempotency import IDEMPOTENCY_HEADER
from tests.brands.access.cross_origin.conftest import ALLOW, HOSTILE, OTHER_SHOP, POINTS, SHOP, cors_headers, preflight
from tests.support.api import Api

pytestmark = pytest.mark.django_db


def test_preflight_lists_the_allowed_methods_and_headers() -> None:
    answer = preflight()

    assert answer.status_code == 204
    assert answer.content == b""
    assert cors_headers(answer) == {
        ALLOW: SHOP,
        "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
        "Access-Control-Allow-Headers": cross_origin.REQUEST_HEADERS,
        "Access-Control-Max-Age": "3600",
    }
    assert "Origin" in answer["Vary"]
    allowed = answer["Access-Control-Allow-Headers"].lower().split(", ")
    assert {"authorization", "content-type", "api-key", IDEMPOTENCY_HEADER.name.lower()} <= set(allowed)
    assert "*" not in "".join(cors_headers(answer).values())


def test_preflight_does_not_reveal_which_origins_are_registered(brand: Brand) -> None:
    known, unknown = preflight(origin=SHOP), preflight(origin="https://nobody.example.com")

    assert brand.web_origins[0] == SHOP
    assert unknown[ALLOW] == "https://nobody.example.com"
    assert {**cors_headers(known), ALLOW: ""} == {**cors_headers(unknown), ALLOW: ""}
    assert known.status_code == unknown.status_code


def test_preflight_at_a_brands_hostname_allows_only_its_origins(brand: Brand, other: Brand) -> None:
    at_brand, at_other = brand.hostnames.get().hostname, other.hostnames.get().hostname

    assert preflight(host=at_brand)[ALLOW] == SHOP
    assert preflight(host=f"{at_brand}:8443")[ALLOW] == SHOP
    assert cors_headers(preflight(host=at_other)) == {}
    assert cors_headers(preflight(host=at_brand, origin=OTHER_SHOP)) == {}
    assert cors_headers(preflight(host=at_brand, origin="https://nobody.example.com")) == {}


@pytest.mark.parametrize(
    "origin", [each for each in HOSTILE if not cross_origin.is_web_origin(each)], ids=lambda origin: ascii(origin)[:40]
)
def test_preflight_of_an_invalid_web_origin_is_rejected(origin: str) -> None:
    assert cors_headers(preflight(origin=origin)) == {}


def test_preflight_for_an_unknown_host_is_rejected(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["known.example.com"]

    answer = preflight(host="unknown.example.com")

    assert (answer.status_code, cors_headers(answer)) == (400, {})


def test_options_request_without_preflight_headers_is_not_a_preflight(brand: Brand) -> None:
    answer = Client().options(
        f"/api/v1/{POINTS}", headers={"origin": SHOP, **Api(brand).app().without("origin").headers}
    )

    assert answer.status_code in {401, 405}
    assert "Access-Control-Allow-Methods" not in answer
