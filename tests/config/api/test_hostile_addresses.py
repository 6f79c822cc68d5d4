"""Every endpoint clearly rejects invalid paths, queries, headers and methods, and writes nothing."""

import base64
import uuid

import pytest

from authcodes.models.scans import Scan
from config.schema import FILES
from tests.config.api.sampled_endpoints import TRIED_WITH_ALL_ROWS, endpoints_for
from tests.support import factories, openapi
from tests.support.api import PREFIX
from tests.support.endpoints import (
    BAD_REQUEST,
    ENDPOINTS,
    LISTS,
    NOT_FOUND,
    WITH_IDEMPOTENCY_KEY,
    assert_rejected,
    short,
    with_value,
)

# --- Paths and queries -----------------------------------------------------------------------------------------------

PATHS = [
    *[f"scans/{it}" for it in ("x", "1", "%00", "%FF", str(uuid.UUID(int=5))[:-1], "0" * 5000, str(uuid.UUID(int=5)))],
    *[f"batch-ranges/{it}/qr-codes" for it in ("0", "-1", "x", "1.5", "%D9%A3", "%00", "9" * 5000)],
    *[f"batch-ranges/{it}/qr-codes" for it in (2**31, 2**63 - 1, 2**63, 2**64, 10**18 - 1, 10**18)],
    *[f"auth-codes/{it}/scans" for it in ("x", "%00", "A%00B", "%0A", "%7F", "%FF", "%ED%A0%80", "a" * 200, "a" * 201)],
    *[f"auth-codes/{it}/scans" for it in ("..", "%2e%2e", "a/b", "%F0%9F%98%80", "x" * 5000, "https:%2F%2F[")],
    *[f"qr-codes/{it}.png" for it in ("x", "%00", "%0A", "%FF", "a" * 5000, "..", "a/b")],
    *["qr-codes/x.png?permission=%FF", "qr-codes/x.png?permission=" + "a" * 5000],
    *[f"brand/products/{it}" for it in ("0", "-1", "x", "1.5", "%D9%A3", "%00", "9" * 5000, 2**31, 2**63 - 1, 2**63)],
    *[f"brand/batches/{it}" for it in ("0", "x", 2**63 - 1)],
    *[f"brand/codes/{it}" for it in ("x", "%00", "A%00B", "%FF", "a" * 201, "a/b")],
    *[f"brand/{name}/{2**63 - 1}" for name in ("campaigns", "rewards", "jobs")],
    *["", "nothing", "%00", "%FF", "events/x", "auth/token/", "verify/product/", "customers", "../admin", "x" * 5000],
]


def test_unknown_path_is_not_found(scenario, subtests):
    for path in PATHS:
        with subtests.test(short(path)):
            assert_rejected(NOT_FOUND, scenario.bare_hub.get, path)


@pytest.mark.parametrize("scanned", ["%00", "A%00B", "%0A", "%1F", "%7F", "a" * 601, "x" * 5000])
def test_scanned_path_that_cannot_be_a_code_is_not_found(scenario, scanned):
    assert_rejected(NOT_FOUND, scenario.customer_api.verify, scanned)


UNKNOWN_CODES = [
    *[
        "x",
        "%FF",
        "%ED%A0%80",
        "%F0%9F%98%80",
        "..",
        "a/b",
        "%2F",
        "'; DROP TABLE authcodes_scan; --",
        "%25s",
        "a" * 600,
    ],
    *["https:%2F%2F%5B", "https:%2F%2Fexample.com%2Fs%2F", "%E2%80%AEABC", "%20", "."],
]


@pytest.mark.parametrize("scanned", UNKNOWN_CODES, ids=short)
def test_unknown_code_is_rejected_and_recorded_as_a_scan(scenario, scanned):
    assert_rejected((400, "AUTH_CODE_INVALID"), scenario.customer_api.verify, scanned, except_for={"Scan": 1})

    attempt = Scan.objects.exclude(pk=scenario.guest_scan.pk).get()
    assert (attempt.reason, attempt.auth_code, len(attempt.code) <= 64) == ("unknown", None, True)


@pytest.mark.parametrize("scanned", ["'", "%00", "\x7f", "😀", "a" * 500, "http://[", "https://x/s/%ED%A0%80", "a.b.c"])
def test_unknown_code_in_a_body_is_rejected_and_recorded_once(scenario, scanned):
    assert_rejected(
        (400, "AUTH_CODE_INVALID"), scenario.call, "scan_code", body={"code": scanned}, except_for={"Scan": 1}
    )

    assert scenario.call("validate_code", body={"code": scanned}).json()["valid"] is False
    assert Scan.objects.exclude(pk=scenario.guest_scan.pk).count() == 1


LIMITS = ["", "0", "-1", "+5", "1001", "1.5", "1e2", "x", "NaN", "%00", "%FF", "%D9%A3", "0000000010000", "9" * 5000]


@pytest.mark.parametrize("limit", LIMITS, ids=short)
def test_invalid_limit_is_rejected(scenario, subtests, limit):
    for name in endpoints_for(limit, LIMITS, LISTS):
        with subtests.test(name):
            assert_rejected(BAD_REQUEST, scenario.call, name, query=f"?limit={limit}")


def cursor(text):
    return base64.b64encode(text.encode()).decode().replace("+", "%2B").replace("=", "%3D")


POSITIONS = [
    "x",
    "\0",
    "",
    "1e400",
    "NaN",
    "infinity",
    "99999999-01-01",
    "2026-13-01",
    "2026-01-01",
    "2026-01-01 00:00",
]
POSITIONS += [
    "9999-12-31 23:59:59-23:59",
    "0001-01-01 00:00:00+23:59",
    "2026-01-01 00:00:00+01:00",
    "1; --",
    "9" * 5000,
]
CURSORS = ["x", "%FF", "%00", "%F0%9F%98%80", "A" * 5000, "====", cursor("o=-1"), cursor("o=x"), cursor("r=1&p=1")]
CURSORS += [cursor("r=x&p=1"), cursor("q=1"), cursor("o=" + "9" * 5000), *[cursor(f"p={it}") for it in POSITIONS]]


@pytest.mark.parametrize("name", LISTS)
def test_invalid_cursor_is_rejected(scenario, subtests, name):
    for invalid_cursor in CURSORS:
        with subtests.test(short(invalid_cursor)):
            assert_rejected(BAD_REQUEST, scenario.call, name, query=f"?cursor={invalid_cursor}")


@pytest.mark.parametrize("name", ["list_transactions", "list_rewards", "list_redemptions", "list_code_scans"])
def test_unknown_parameter_of_a_list_is_rejected(scenario, name):
    """Otherwise a misspelt filter would return everything. The lists of the brand API are in test_brand_api."""
    response = assert_rejected(BAD_REQUEST, scenario.call, name, query="?statsu=used")

    assert response.json()["details"] == {"field": "statsu"}


def test_query_with_a_nul_is_rejected(scenario, subtests):
    for name in ENDPOINTS:
        if name not in FILES:
            with subtests.test(name):
                assert_rejected(BAD_REQUEST, scenario.call, name, query="?x=%00")


# --- Headers and methods ---------------------------------------------------------------------------------------------

IDEMPOTENCY_KEYS = ["", " ", "a b", "a\tb", "\x7f", "\xe9", "\x01", "x" * 256, "x" * 100_000]


@pytest.mark.parametrize("key", IDEMPOTENCY_KEYS, ids=short)
def test_invalid_idempotency_key_is_rejected(scenario, subtests, key):
    for name in endpoints_for(key, IDEMPOTENCY_KEYS, WITH_IDEMPOTENCY_KEY):
        with subtests.test(name):
            assert_rejected(BAD_REQUEST, scenario.call, name, idempotency_key=key)


OTHER_REQUESTS = {
    "credit_action": "product.authCode",
    "credit_action (app)": "product.authCode",
    "verify_product": "latitude",
    "scan_code": "code",
}


@pytest.mark.parametrize(("name", "path"), OTHER_REQUESTS.items())
def test_idempotency_key_of_another_request_is_rejected(scenario, name, path):
    other = with_value(
        ENDPOINTS[name].body(scenario), path, 1 if path == "latitude" else str(factories.code(scenario.brand))
    )
    scenario.call(name, idempotency_key="k1")

    assert_rejected((422, "IDEMPOTENCY_KEY_REUSED"), scenario.call, name, body=other, idempotency_key="k1")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"])
def test_unsupported_method_is_rejected_with_an_allow_header(scenario, subtests, method):
    for name, endpoint in ENDPOINTS.items():
        address = endpoint.address(scenario).partition("?")[0]
        full_path = address if address.startswith("/") else PREFIX + address
        if openapi.operation_at(method, full_path) is None:
            with subtests.test(name):
                response = assert_rejected((405, "METHOD_NOT_ALLOWED"), scenario.call, name, method=method)

                assert endpoint.method in response["Allow"]


def test_unsupported_accept_header_is_rejected(scenario, subtests):
    for name in ENDPOINTS:
        for accept in (
            ("application/xml", "text/html", "image/png", "x/y;q=1") if name in TRIED_WITH_ALL_ROWS else ("x/y",)
        ):
            if name not in FILES:
                with subtests.test(f"{name}: {accept}"):
                    assert_rejected((406, "NOT_ACCEPTABLE"), scenario.call, name, accept=accept)


@pytest.mark.parametrize("path", ["/api/schema", "/api/docs", "/api/docs?script="])
def test_api_description_is_read_only(scenario, path):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        assert_rejected((405, "METHOD_NOT_ALLOWED"), scenario.guest.call, method, path)
    assert_rejected((406, "NOT_ACCEPTABLE"), scenario.guest.with_headers(accept="image/png").get, path)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Accept-Language", "Cookie", "Range"])
@pytest.mark.parametrize("value", ["", "\xff\xfe", "x" * 50_000, "%00", "'; --", "1.2.3.4, [::1]:x, \x01"], ids=short)
def test_garbage_in_a_header_changes_nothing(scenario, header, value):
    caller = scenario.customer_api.with_headers(**{header: value})

    assert caller.get("customer/loyalty/points").status_code == 200
