"""Which websites' pages may read answers of the API: those of the web origins of the brand that is asked."""

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


def shop(api: Api, origin: str = SHOP) -> Api:
    return api.having(origin=origin)


def credentials(customer: User, **more: Any) -> dict[str, Any]:
    return {"email": customer.email, "password": factories.PASSWORD, **more}


# The answer


def test_a_page_of_the_brand_reads_the_answer_to_its_key(brand: Brand, customer: User) -> None:
    answer = shop(Api(brand).app()).post(LOG_IN, credentials(customer))

    assert answer.status_code == 200
    assert cors_headers(answer) == {ALLOW: SHOP, "Access-Control-Expose-Headers": cross_origin.RESPONSE_HEADERS}
    assert "Origin" in answer["Vary"]


@pytest.mark.parametrize("origin", [SHOP, "http://localhost:3000"])
def test_a_page_of_the_brand_reads_the_answer_to_a_token(brand: Brand, customer: User, origin: str) -> None:
    answer = shop(Api(brand).as_customer(customer), origin).get(POINTS)

    assert answer.status_code == 200
    assert answer[ALLOW] == origin


@pytest.mark.parametrize("origin", HOSTILE, ids=lambda origin: ascii(origin)[:40])
def test_no_other_page_reads_anything(brand: Brand, other: Brand, customer: User, origin: str) -> None:
    answers = [
        shop(Api(brand).as_customer(customer), origin).get(POINTS),
        shop(Api(brand).app(), origin).post(LOG_IN, credentials(customer)),
        shop(Api(brand).app().as_customer(customer), origin).get(POINTS),
        shop(Api(brand).having(authorization="Bearer of-nobody"), origin).get(POINTS),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 401]
    assert [cors_headers(answer) for answer in answers] == [{}] * 4


def test_a_page_of_one_brand_reads_no_answer_of_another(brand: Brand, other: Brand, customer: User) -> None:
    foreign_customer = factories.customer(other, password=factories.PASSWORD)
    own_key, token = Api(brand).app(), Api(other).as_customer(foreign_customer).headers["authorization"]
    refresh = tokens.issue(user=foreign_customer, brand=other, at=timezone.now()).refresh
    answers = [
        shop(Api(other).as_customer(foreign_customer)).get(POINTS),
        shop(own_key.having(authorization=token)).get(POINTS),
        shop(own_key.having(authorization=token)).post(SCAN, {"code": "X"}),
        shop(own_key).post("auth/token/refresh", {"refresh": refresh}),
        shop(Api(brand)).post(LOG_IN, credentials(foreign_customer, brand_id=other.pk)),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 403, 200, 200]
    assert [cors_headers(answer) for answer in answers] == [{}] * 5


def test_whose_guest_scan_it_is_decides_who_reads_it(brand: Brand, other: Brand) -> None:
    scan = shop(Api(other).app(), OTHER_SHOP).post(SCAN, {"code": str(factories.code(other))}).json()["scan_id"]

    assert ALLOW not in shop(Api(brand).app()).get(f"scans/{scan}")
    assert ALLOW not in shop(Api(brand)).get(f"scans/{scan}")
    assert shop(Api(brand), OTHER_SHOP).get(f"scans/{scan}")[ALLOW] == OTHER_SHOP


def test_tokens_are_renewed_without_the_key(brand: Brand, customer: User) -> None:
    refresh = tokens.issue(user=customer, brand=brand, at=timezone.now()).refresh

    assert shop(Api(brand)).post("auth/token/refresh", {"refresh": refresh})[ALLOW] == SHOP


@pytest.mark.parametrize("path", ["customer/loyalty/rewards", "scans/00000000-0000-4000-8000-000000000000", SCAN])
def test_a_hub_key_opens_nothing_to_pages(brand: Brand, customer: User, path: str) -> None:
    hub = Api(brand).hub().as_customer(customer)

    assert cors_headers(shop(hub).get(path)) == {}


def test_a_revoked_hub_key_opens_no_error_either(brand: Brand) -> None:
    key, text = api_keys.create(brand=brand, kind=ApiKey.Kind.HUB, name="Shop", at=timezone.now())
    api_keys.revoke(key=key, at=timezone.now())

    answer = shop(Api(brand).having(api_key=text)).post(LOG_IN, {}, host=brand.hostnames.get().hostname)

    assert cors_headers(answer) == {}


def test_cookies_are_never_allowed(brand: Brand, customer: User) -> None:
    answers = [preflight(), shop(Api(brand).as_customer(customer)).get(POINTS)]

    assert [answer[ALLOW] for answer in answers] == [SHOP, SHOP]
    assert not any("Access-Control-Allow-Credentials" in answer for answer in answers)


def test_the_campaign_event_takes_a_web_origin_as_the_brands(brand: Brand, customer: User) -> None:
    caller = Api(brand).app().as_customer(customer)

    credited = shop(caller).credit(customer, factories.code(brand))

    assert (credited.status_code, credited[ALLOW]) == (200, SHOP)
    assert shop(caller, OTHER_SHOP).credit(customer, factories.code(brand)).json()["error"] == "ORIGIN_NOT_ALLOWED"


# Errors


def test_pages_read_errors(brand: Brand, customer: User) -> None:
    app = shop(Api(brand).app())
    answers = [
        app.post(LOG_IN, {}),
        app.post(LOG_IN, b"{"),
        app.post(LOG_IN, {"email": customer.email, "password": "wrong"}),
        app.get(POINTS),
        app.having(authorization="Bearer of-nobody").get(POINTS),
        app.get("customer/nowhere"),
        app.get(LOG_IN),
        shop(Api(brand).as_customer(customer)).get("scans/00000000-0000-4000-8000-000000000000"),
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 401, 401, 401, 404, 405, 404]
    assert [answer.headers.get(ALLOW) for answer in answers] == [SHOP] * 8


def test_pages_read_that_they_must_wait(brand: Brand, customer: User, settings: Any) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": "1/minute"}
    caller = shop(Api(brand).as_customer(customer))
    caller.get(POINTS)

    answer = caller.get(POINTS)

    assert (answer.status_code, answer[ALLOW]) == (429, SHOP)
    assert "Retry-After" in answer["Access-Control-Expose-Headers"]


def test_pages_read_that_a_token_has_expired_and_others_do_not(brand: Brand, customer: User) -> None:
    long_ago = timezone.now() - timedelta(days=2)
    expired = tokens.issue(user=customer, brand=brand, at=long_ago).access
    caller = Api(brand).having(authorization=f"Bearer {expired}")

    answer = shop(caller).get(POINTS)

    assert (answer.status_code, answer[ALLOW]) == (401, SHOP)
    assert ALLOW not in shop(caller, OTHER_SHOP).get(POINTS)
    assert ALLOW not in shop(replace(caller, headers={"authorization": f"Bearer {expired}x"})).get(POINTS)


def test_pages_of_the_called_hostnames_brand_read_errors_without_credentials(brand: Brand, other: Brand) -> None:
    at_brand = Api(brand).having(host=brand.hostnames.get().hostname)

    assert shop(at_brand).get(POINTS)[ALLOW] == SHOP
    assert shop(at_brand.having(api_key="app_unknown")).post(LOG_IN, {})[ALLOW] == SHOP
    assert ALLOW not in shop(at_brand, OTHER_SHOP).get(POINTS)
    assert ALLOW not in shop(at_brand).post(SCAN, {"code": str(factories.code(other))})


def test_a_revoked_app_key_reads_nothing(brand: Brand) -> None:
    key, text = api_keys.create(brand=brand, kind=ApiKey.Kind.APP, name="Shop", at=timezone.now())
    api_keys.revoke(key=key, at=timezone.now())

    answer = shop(Api(brand).having(api_key=text)).post(LOG_IN, {"email": "a@example.com", "password": "x"})

    assert (answer.status_code, cors_headers(answer)) == (401, {})


# Where there are none


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
def test_other_addresses_have_no_such_headers(brand: Brand, path: str) -> None:
    sent = {"host": brand.hostnames.get().hostname, **shop(Api(brand).app()).headers}

    assert cors_headers(Client().get(path, headers=sent)) == {}
    assert cors_headers(preflight(path, host=sent["host"])) == {}


BY_SERVERS = {
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
def test_each_endpoint_is_for_pages_of_shops_or_for_servers(name: str) -> None:
    endpoint = ENDPOINTS[name]
    is_brands = endpoint.path.startswith("brand/") and not name.startswith("credit_action")

    is_for_pages = bool(cross_origin.CUSTOMER_API.fullmatch(f"/api/v1/{endpoint.path}"))

    assert is_for_pages == (not is_brands and name not in BY_SERVERS | IMAGES)


# What it costs


def test_no_origin_costs_no_query(
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


def test_an_origin_costs_one_query_and_none_for_some_seconds(
    brand: Brand, customer: User, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = shop(Api(brand).app().having(authorization="Bearer of-nobody"))
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


def test_no_more_is_remembered_than_there_is_room_for(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_origin, "MAX_REMEMBERED", 3)

    for number in range(10):
        preflight(host=f"{number}.{brand.hostnames.get().hostname}")
        assert len(cross_origin._remembered) <= 3


def test_what_was_done_is_answered_though_origins_cannot_be_read(
    brand: Brand, customer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone:
        def all(self, **_names: Any) -> None:
            raise DatabaseError

    monkeypatch.setattr(cross_origin, "FIND_WEB_ORIGINS", Gone())

    answer = shop(Api(brand).as_customer(customer)).get(POINTS)

    assert (answer.status_code, cors_headers(answer)) == (200, {})
    assert (preflight().status_code, cors_headers(preflight())) == (204, {})
