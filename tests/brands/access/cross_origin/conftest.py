"""Two brands with a web shop each, on an origin of its own."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from brands.access import cross_origin
from brands.models.people import User
from brands.models.tenants import Brand
from tests.support import factories

SHOP = "https://shop.example.com"
OTHER_SHOP = "https://shop.other.example"
ALLOW = "Access-Control-Allow-Origin"
POINTS, LOG_IN, SCAN = "customer/loyalty/points", "auth/token", "auth-codes/scan"
HOSTILE = [
    "null",
    "*",
    "https://shop.example.com.attacker.net",
    "https://evil-shop.example.com",
    "https://attacker.net/https://shop.example.com",
    "https://shop.example.com@attacker.net",
    "https://shop.example.com.",
    "https://shop.example.com/",
    "https://SHOP.example.com",
    "HTTPS://shop.example.com",
    "https://shop.example.com:443",
    "https://shop.example.com:8443",
    "http://shop.example.com",
    "http://localhost",
    "http://localhost:3001",
    "shop.example.com",
    "https://example.com",
    "https://shop.example.com https://attacker.net",
    "https://shop.example.com,https://attacker.net",
    "https://shop.example.com\tx",
    OTHER_SHOP,
]


@pytest.fixture(autouse=True)
def all_hosts_and_empty_cache(settings: Any) -> Iterator[None]:
    settings.ALLOWED_HOSTS = ["*"]
    cross_origin.reset()
    yield
    cross_origin.reset()


@pytest.fixture
def brand(brand: Brand) -> Brand:
    brand.web_origins = [SHOP, "http://localhost:3000"]
    brand.save()
    return brand


@pytest.fixture
def other(db: None) -> Brand:
    brand = factories.brand(web_origins=[OTHER_SHOP])
    factories.level(brand)
    return brand


@pytest.fixture
def customer(brand: Brand) -> User:
    return factories.customer(brand, password=factories.PASSWORD)


def preflight(path: str = POINTS, origin: str = SHOP, **headers: str) -> Any:
    request_headers = {
        "origin": origin,
        "access-control-request-method": "GET",
        "access-control-request-headers": "api-key",
    }
    return Client().options(path if path.startswith("/") else f"/api/v1/{path}", headers={**request_headers, **headers})


def cors_headers(response: Any) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name.startswith("Access-Control-")}
