"""Every endpoint answers invalid bodies with a clear error in the envelope, never with a 5xx, and writes nothing.

A new endpoint needs an entry in FIELDS; tests/support/endpoints.py states what is asserted for each value.
"""

import pytest
from django.conf import settings

from campaigns.models.earning_rules import EarningRule
from tests.config.api.hostile_fields import FIELDS, REQUIRED
from tests.config.api.sampled_endpoints import TRIED_WITH_ALL_ROWS, endpoints_for, handling_classes
from tests.support import factories
from tests.support.endpoints import (
    BAD_REQUEST,
    ENDPOINTS,
    USER_NOT_FOUND,
    WRITING,
    assert_rejected,
    short,
    with_value,
    without_field,
)


@pytest.mark.parametrize("name", ENDPOINTS)
def test_valid_request_is_accepted(scenario, name):
    """Otherwise the rejections below would prove nothing."""
    for kind in ("order-complete", "log-user-profile-update"):
        factories.earning_rule(scenario.brand, kind)
    EarningRule.objects.filter(pk=scenario.rule.pk).update(state="active")  # for logins
    scenario.call("scan_code")  # which read_scan reads

    assert scenario.call(name).status_code in {200, 201, 202, 204}


def test_every_combination_of_request_classes_is_tried_with_all_rows(scenario):
    """Otherwise a new combination would be tried with only a few rows."""
    assert {handling_classes(name, scenario) for name in TRIED_WITH_ALL_ROWS} == {
        handling_classes(name, scenario) for name in ENDPOINTS
    }


# --- Bodies ----------------------------------------------------------------------------------------------------------

DEEP = 100_000
BODIES = {
    "nothing but a space": b" ",
    "half an object": b'{"code": "A"',
    "single quotes": b"{'code': 'A'}",
    "a list": b"[]",
    "a list of objects": b"[{}]",
    "null": b"null",
    "a number": b"5",
    "a string": b'"text"',
    "true": b"true",
    "NaN": b'{"code": "A", "x": NaN}',
    "Infinity": b'{"code": "A", "x": Infinity}',
    "minus Infinity": b'{"code": "A", "x": [-Infinity]}',
    "1e400": b'{"code": "A", "x": 1e400}',
    "2^63": b'{"code": "A", "x": 9223372036854775808}',
    "minus 2^64 inside": b'{"code": "A", "x": [{"y": -18446744073709551616}]}',
    "5,000 digits": b'{"x": ' + b"9" * 5000 + b"}",
    "NUL in a value": rb'{"code": "A\u0000B"}',
    "NUL in a name": rb'{"code": "A", "x\u0000": 1}',
    "NUL deep inside": rb'{"code": "A", "x": [{"y": ["\u0000"]}]}',
    "raw NUL": b'{"code": "A\0"}',
    "lone surrogate in a value": rb'{"code": "A\ud800"}',
    "lone surrogate in a name": rb'{"code": "A", "\udfff": 1}',
    "surrogates the wrong way round": rb'{"code": "\ude00\ud83d"}',
    "invalid UTF-8": b'{"code": "\xff\xfe"}',
    "surrogate in UTF-8": b'{"code": "\xed\xa0\x80"}',
    "overlong UTF-8": b'{"code": "\xc0\x80"}',
    "byte order mark": b'\xef\xbb\xbf{"code": "A"}',
    "UTF-16": '{"code": "A"}'.encode("utf-16"),
    "100,000 open brackets": b"[" * DEEP,
    "100,000 brackets in an object": b'{"x": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "100,000 objects": b'{"x": ' * DEEP + b"1" + b"}" * DEEP,
    "a name twice": b'{"code": "A", "code": "B"}',
    "a name twice inside": b'{"code": "A", "x": {"y": 1, "y": 1}}',
    "two objects": b"{} {}",
    "a comment": b"{} // code",
    "a trailing comma": b'{"code": "A",}',
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00C\xbf\xa6\xa3\x02\x00\x00\x00",
}


@pytest.mark.parametrize("row", BODIES)
def test_malformed_body_is_rejected(scenario, subtests, row):
    for name in endpoints_for(row, BODIES, WRITING):
        with subtests.test(name):
            assert_rejected(BAD_REQUEST, scenario.call, name, body=BODIES[row])


def test_too_long_body_is_rejected(scenario, subtests):
    body = b'{"code": "' + b"A" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE + b'"}'
    for name in WRITING:
        with subtests.test(name):
            assert_rejected((413, "PAYLOAD_TOO_LARGE"), scenario.call, name, body=body)


OTHER_CONTENT_TYPES = [
    "text/plain",
    "text/html; charset=utf-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/json-patch+json",
    "application/octet-stream",
    "x",
    "/",
    "\xff",
]


@pytest.mark.parametrize("content_type", OTHER_CONTENT_TYPES)
def test_body_of_another_content_type_is_rejected(scenario, subtests, content_type):
    for name in endpoints_for(content_type, OTHER_CONTENT_TYPES, WRITING):
        with subtests.test(name):
            assert_rejected((415, "UNSUPPORTED_MEDIA_TYPE"), scenario.call, name, content_type=content_type)


def test_body_in_another_charset_is_rejected(scenario, subtests):
    for name in WRITING:
        for charset in ("utf-16", "latin-1", "idna", "utf-7") if name in TRIED_WITH_ALL_ROWS else ("utf-16",):
            with subtests.test(f"{name}: {charset}"):
                assert_rejected(BAD_REQUEST, scenario.call, name, content_type=f"application/json; charset={charset}")


def test_missing_body_is_rejected(scenario, subtests):
    for name in WRITING:
        with subtests.test(name):
            if name != "verify_product":
                assert_rejected(BAD_REQUEST, scenario.call, name, body=b"")


@pytest.mark.parametrize("name", FIELDS)
def test_invalid_value_of_a_field_is_rejected_with_details(scenario, subtests, name):
    for path, value in [(path, value) for path, values in FIELDS[name].items() for value in values]:
        body = with_value(ENDPOINTS[name].body(scenario), path, value)
        with subtests.test(f"{path}: {short(value)}"):
            response = assert_rejected(BAD_REQUEST, scenario.call, name, body=body)

            assert response.json()["details"]


@pytest.mark.parametrize("name", REQUIRED)
def test_missing_required_field_is_rejected(scenario, subtests, name):
    for path in REQUIRED[name]:
        body = without_field(ENDPOINTS[name].body(scenario), path)
        with subtests.test(path):
            assert_rejected(BAD_REQUEST, scenario.call, name, body=body)


# --- Users and brands ------------------------------------------------------------------------------------------------

UNKNOWN_IDS = [2**31, 2**31 - 1, 2**40, 2**63 - 1]
USERS = [
    ("credit_action", "user_id"),
    ("credit_action (order)", "user_id"),
    ("ingest_event", "detail.arguments.user_id"),
    ("enrol_member", "user_id"),
    ("scan_code (hub)", "customer_id"),
    ("validate_code", "customer_id"),
]


@pytest.mark.parametrize(("name", "path"), USERS, ids=lambda value: value)
def test_unknown_or_inactive_user_or_another_brands_is_not_found(scenario, subtests, name, path):
    switched_off = factories.customer(scenario.brand, is_active=False)
    for pk in (*UNKNOWN_IDS, scenario.other_customer.pk, switched_off.pk):
        body = with_value(ENDPOINTS[name].body(scenario), path, str(pk) if path == "customer_id" else pk)
        with subtests.test(str(pk)):
            assert_rejected(USER_NOT_FOUND, scenario.call, name, body=body)


def test_app_may_not_name_another_user_whether_or_not_there_is_one(scenario, subtests):
    for pk in (*UNKNOWN_IDS, scenario.other_customer.pk, scenario.second.pk):
        body = with_value(ENDPOINTS["credit_action (app)"].body(scenario), "user_id", pk)
        with subtests.test(str(pk)):
            assert_rejected((403, "FORBIDDEN"), scenario.call, "credit_action (app)", body=body)


BRANDS = [
    ("credit_action", "brand_id"),
    ("credit_action (app)", "brand_id"),
    ("credit_action (order)", "brand_id"),
    ("ingest_event", "detail.arguments.brand_id"),
]


@pytest.mark.parametrize(("name", "path"), BRANDS, ids=lambda value: value)
def test_unknown_brand_or_another_brand_is_rejected(scenario, subtests, name, path):
    for pk in (*UNKNOWN_IDS, scenario.other_brand.pk):
        body = with_value(ENDPOINTS[name].body(scenario), path, pk)
        with subtests.test(str(pk)):
            assert_rejected((403, "BRAND_MISMATCH"), scenario.call, name, body=body)


@pytest.mark.parametrize("name", ["log_in", "register", "forgot_password"])
def test_api_key_and_id_of_different_brands_are_rejected(scenario, name):
    body = {**ENDPOINTS[name].body(scenario), "brand_id": scenario.other_brand.pk}

    assert_rejected(
        (403, "BRAND_MISMATCH"), scenario.call, name, body=body, api_key=scenario.bare_hub.headers["api-key"]
    )


# --- Locations -------------------------------------------------------------------------------------------------------

VALID_LOCATIONS = [
    {"latitude": 90, "longitude": 180},
    {"latitude": -90.0, "longitude": -180.0},
    {"latitude": 0, "longitude": 0},
    {"latitude": None, "longitude": None},
    {"latitude": 1e-300, "longitude": -0.0},
    {},
]


@pytest.mark.parametrize("location", VALID_LOCATIONS, ids=str)
def test_locations_at_the_limits_are_accepted(scenario, location):
    assert scenario.customer_api.verify(scenario.code, **location).status_code == 200
    assert scenario.guest.post("auth-codes/scan", {"code": str(scenario.code), "location": location}).status_code == 200
