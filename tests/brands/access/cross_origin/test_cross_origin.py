"""Only pages of the called brand's web origins may read answers of the API."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone

from brands.access import cross_origin
from brands.identity import api_keys, tokens
from brands.models.credentials import ApiKey
from brands.models.people import User
from brands.models.tenants import Brand
from tests.brands.access.cross_origin.conftest import (
    ALLOW,
    HOSTILE,
    LOG_IN,
    OTHER_SHOP,
    POINTS,
    SCAN,
    SHOP,
    cors_headers,
    preflight,
)
from tests.support import factories
from tests.support.api import Api
from tests.support.endpoints import ENDPOINTS

pytestmark = pytest.mark.django_db


def with_origin(api: Api, origin: str = SHOP) -> Api:
    return api.with_headers(origin=origin)


def credentials(customer: User, **more: Any) -> dict[str, Any]:
    return {"email": customer.email, "password": factories.PASSWORD, **more}


# Successful answers


def test_page_of_the_brand_reads_answers_to_its_app_key(brand: Brand, customer: User) -> None:
    answer = with_origin(Api(brand).app()).post(LOG_IN, credentials(customer))

    assert answer.status_code == 200
    assert cors_headers(answer) == {ALLOW: SHOP, "Access-Control-Expose-Headers": cross_origin.RESPONSE_HEADERS}
    assert "Origin" in answer["Vary"]


@pytest.mark.parametrize("origin", [SHOP, "http://localhost:3000"])
def test_page_of_the_brand_reads_answers_to_a_customers_token(brand: Brand, customer: User, origin: str) -> None:
    answer = with_origin(Api(brand).as_customer(customer), origin).get(POINTS)

    assert answer.status_code == 200
    assert answer[ALLOW] == origin


@pytest.mark.parametrize("origin", HOSTILE, ids=lambda origin: ascii(origin)[:40])
def test_page_of_another_origin_reads_no_answer(brand: Brand, other: Brand, customer: User, origin: str) -> None:
    answers = [
        with_origin(Api(brand).as_customer(customer), origin).get(POINTS),
        with_origin(Api(brand).app(), origin).post(LOG_IN, credentials(customer)),
        with_origin(Api(brand).app().as_customer(customer), origin).get(POINTS),
        with_origin(Api(brand).with_headers(authorization="Bearer of-nobody"), origin).get(POINTS),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 401]
    assert [cors_headers(answer) for answer in answers] == [{}] * 4


def test_page_of_one_brand_reads_no_answer_of_another_brand(brand: Brand, other: Brand, customer: User) -> None:
    foreign_customer = factories.customer(other, password=factories.PASSWORD)
    own_key, token = Api(brand).app(), Api(other).as_customer(foreign_customer).headers["authorization"]
    refresh = tokens.issue(user=foreign_customer, brand=other, at=timezone.now()).refresh
    answers = [
        with_origin(Api(other).as_customer(foreign_customer)).get(POINTS),
        with_origin(own_key.with_headers(authorization=token)).get(POINTS),
        with_origin(own_key.with_headers(authorization=token)).post(SCAN, {"code": "X"}),
        with_origin(own_key).post("auth/token/refresh", {"refresh": refresh}),
        with_origin(Api(brand)).post(LOG_IN, credentials(foreign_customer, brand_id=other.pk)),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 403, 200, 200]
    assert [cors_headers(answer) for answer in answers] == [{}] * 5


def test_guest_scan_is_readable_only_for_pages_of_its_brand(brand: Brand, other: Brand) -> None:
    scan = with_origin(Api(other).app(), OTHER_SHOP).post(SCAN, {"code": str(factories.code(other))}).json()["scan_id"]

    assert ALLOW not in with_origin(Api(brand).app()).get(f"scans/{scan}")
    assert ALLOW not in with_origin(Api(brand)).get(f"scans/{scan}")
    assert with_origin(Api(brand), OTHER_SHOP).get(f"scans/{scan}")[ALLOW] == OTHER_SHOP


def test_page_renews_tokens_without_the_app_key(brand: Brand, customer: User) -> None:
    refresh = tokens.issue(user=customer, brand=brand, at=timezone.now()).refresh

    assert with_origin(Api(brand)).post("auth/token/refresh", {"refresh": refresh})[ALLOW] == SHOP


@pytest.mark.parametrize("path", ["customer/loyalty/rewards", "scans/00000000-0000-4000-8000-000000000000", SCAN])
def test_answer_to_a_hub_key_is_not_readable_for_pages(brand: Brand, customer: User, path: str) -> None:
    hub = Api(brand).hub().as_customer(customer)

    assert cors_headers(with_origin(hub).get(path)) == {}


def test_error_for_a_revoked_hub_key_is_not_readable_for_pages(brand: Brand) -> None:
    key, text = api_keys.create(brand=brand, kind=ApiKey.Kind.HUB, name="Shop", at=timezone.now())
    api_keys.revoke(key=key, at=timezone.now())

    answer = with_origin(Api(brand).with_headers(api_key=text)).post(LOG_IN, {}, host=brand.hostnames.get().hostname)

    assert cors_headers(answer) == {}


def test_cookies_are_never_allowed(brand: Brand, customer: User) -> None:
    answers = [preflight(), with_origin(Api(brand).as_customer(customer)).get(POINTS)]

    assert [answer[ALLOW] for answer in answers] == [SHOP, SHOP]
    assert not any("Access-Control-Allow-Credentials" in answer for answer in answers)


def test_campaign_event_accepts_only_web_origins_of_the_brand(brand: Brand, customer: User) -> None:
    caller = Api(brand).app().as_customer(customer)

    credited = with_origin(caller).credit(customer, factories.code(brand))

    assert (credited.status_code, credited[ALLOW]) == (200, SHOP)
    assert (
        with_origin(caller, OTHER_SHOP).credit(customer, factories.code(brand)).json()["error"] == "ORIGIN_NOT_ALLOWED"
    )


# Errors


def test_pages_read_errors(brand: Brand, customer: User) -> None:
    app = with_origin(Api(brand).app())
    answers = [
        app.post(LOG_IN, {}),
        app.post(LOG_IN, b"{"),
        app.post(LOG_IN, {"email": customer.email, "password": "wrong"}),
        app.get(POINTS),
        app.with_headers(authorization="Bearer of-nobody").get(POINTS),
        app.get("customer/nowhere"),
        app.get(LOG_IN),
        with_origin(Api(brand).as_customer(customer)).get("scans/00000000-0000-4000-8000-000000000000"),
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 401, 401, 401, 404, 405, 404]
    assert [answer.headers.get(ALLOW) for answer in answers] == [SHOP] * 8


def test_pages_read_the_retry_after_header_of_a_rate_limit(brand: Brand, customer: User, settings: Any) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": "1/minute"}
    caller = with_origin(Api(brand).as_customer(customer))
    caller.get(POINTS)

    answer = caller.get(POINTS)

    assert (answer.status_code, answer[ALLOW]) == (429, SHOP)
    assert "Retry-After" in answer["Access-Control-Expose-Headers"]


def test_only_pages_of_the_brand_read_that_a_token_has_expired(brand: Brand, customer: User) -> None:
    long_ago = timezone.now() - timedelta(days=2)
    expired = tokens.issue(user=customer, brand=brand, at=long_ago).access
    caller = Api(brand).with_headers(authorization=f"Bearer {expired}")

    answer = with_origin(caller).get(POINTS)

    assert (answer.status_code, answer[ALLOW]) == (401, SHOP)
    assert ALLOW not in with_origin(caller, OTHER_SHOP).get(POINTS)
    assert ALLOW not in with_origin(replace(caller, headers={"authorization": f"Bearer {expired}x"})).get(POINTS)


def test_pages_of_the_hostnames_brand_read_errors_without_credentials(brand: Brand, other: Brand) -> None:
    at_brand = Api(brand).with_headers(host=brand.hostnames.get().hostname)

    assert with_origin(at_brand).get(POINTS)[ALLOW] == SHOP
    assert with_origin(at_brand.with_headers(api_key="app_unknown")).post(LOG_IN, {})[ALLOW] == SHOP
    assert ALLOW not in with_origin(at_brand, OTHER_SHOP).get(POINTS)
    assert ALLOW not in with_origin(at_brand).post(SCAN, {"code": str(factories.code(other))})


def test_error_for_a_revoked_app_key_is_not_readable_for_pages(brand: Brand) -> None:
    key, text = api_keys.create(brand=brand, kind=ApiKey.Kind.APP, name="Shop", at=timezone.now())
    api_keys.revoke(key=key, at=timezone.now())

    answer = with_origin(Api(brand).with_headers(api_key=text)).post(
        LOG_IN, {"email": "a@example.com", "password": "x"}
    )

    assert (answer.status_code, cors_headers(answer)) == (401, {})


# URLs without CORS headers


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/s/",
        "/s/ABC",
        "/account",
        "/page/session",
        "/admin/",
        "/admin/login/",
        "/healthz",
        "/api/docs",
        "/api/schema",
        "/api/v1/nowhere",
        "/wallets/apple/v1/log",
        "/api/v1/brand/products",
        "/api/v1/brand/loyalty/campaign/event/more",
        "/api/v1/auth-codes/scan/scans",
        "/api/v1/events",
        "/api/v1/members",
    ],
)
def test_urls_outside_the_customer_api_have_no_cors_headers(brand: Brand, path: str) -> None:
    headers = {"host": brand.hostnames.get().hostname, **with_origin(Api(brand).app()).headers}

    assert cors_headers(Client().get(path, headers=headers)) == {}
    assert cors_headers(preflight(path, host=headers["host"])) == {}


SERVER_ENDPOINTS = {
    "ingest_event",
    "enrol_member",
    "correct_member",
    "check_redemption",
    "use_redemption",
    "list_code_scans",
    "list_qr_codes",
}
IMAGES = {"read_qr_image", "read_qr_image_svg", "check_alive"}


@pytest.mark.parametrize("name", ENDPOINTS)
def test_each_endpoint_is_either_for_pages_or_for_servers(name: str) -> None:
    endpoint = ENDPOINTS[name]
    is_brand_endpoint = endpoint.path.startswith("brand/") and not name.startswith("credit_action")

    is_for_pages = bool(cross_origin.CUSTOMER_API.fullmatch(f"/api/v1/{endpoint.path}"))

    assert is_for_pages == (not is_brand_endpoint and name not in SERVER_ENDPOINTS | IMAGES)


# Queries and caching


def test_request_without_a_web_origin_costs_no_query(
    brand: Brand, customer: User, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    caller = Api(brand).as_customer(customer)
    with django_assert_num_queries(0):
        for origin in ["", "http://testserver", "brand.example.com", "null"]:
            response: Any = Client().get(f"/api/v1/{POINTS}", headers={"origin": origin} if origin else {})
            assert response.status_code == 401
            assert "Origin" in response["Vary"]

    monkeypatch.setattr(cross_origin, "FIND_WEB_ORIGINS", None)
    assert caller.get(POINTS).status_code == 200


def test_origin_costs_one_query_and_is_then_cached_for_seconds(
    brand: Brand, customer: User, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = with_origin(Api(brand).app().with_headers(authorization="Bearer of-nobody"))
    with django_assert_num_queries(1):
        assert caller.get(POINTS)[ALLOW] == SHOP
    Brand.objects.filter(pk=brand.pk).update(web_origins=[])
    with django_assert_num_queries(0):
        assert caller.get(POINTS)[ALLOW] == SHOP

    monkeypatch.setattr(cross_origin, "REMEMBERED_SECONDS", 0)
    cross_origin.reset()
    assert ALLOW not in caller.get(POINTS)
    Brand.objects.filter(pk=brand.pk).update(web_origins=[SHOP])
    assert caller.get(POINTS)[ALLOW] == SHOP


def test_cache_of_origins_has_a_maximum_size(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_origin, "MAX_REMEMBERED", 3)

    for number in range(10):
        preflight(host=f"{number}.{brand.hostnames.get().hostname}")
        assert len(cross_origin._remembered) <= 3


def test_answer_is_sent_even_if_origins_cannot_be_read(
    brand: Brand, customer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    class UnavailableStatement:
        def all(self, **_names: Any) -> None:
            raise DatabaseError

    monkeypatch.setattr(cross_origin, "FIND_WEB_ORIGINS", UnavailableStatement())

    answer = with_origin(Api(brand).as_customer(customer)).get(POINTS)

    assert (answer.status_code, cors_headers(answer)) == (200, {})
    assert (preflight().status_code, cors_headers(preflight())) == (204, {})
