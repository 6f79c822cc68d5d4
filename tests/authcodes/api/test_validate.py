"""Looking a code up over HTTP without scanning it: validate (spec 4.6)."""

import pytest

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from tests.authcodes.api.conftest import INVALID_REASONS, invalid_code, recall, scan, validate
from tests.support import factories


def test_validate_answers_as_a_scan_would(customer_api, brand):
    code = factories.code(brand)

    response = validate(customer_api, code)

    assert response.json() == {
        "valid": True,
        "product": {"id": str(code.product_id), "name": code.product.title, "sku": code.product.sku},
        "points_awarded": 10,
        "scan_count": 0,
        "first_scan": True,
        "status": "success",
        "reason": "accepted",
        "points_status": "pending",
    }


def test_validate_shows_a_guest_the_points_available_after_login(api, brand):
    body = validate(api, factories.code(brand)).json()

    assert (body["valid"], body["points_awarded"], body["points_available"]) == (True, 0, 10)
    assert body["points_status"] == "guest"


def test_validate_reports_a_recall(api, brand):
    code = factories.code(brand)
    recall(code)

    body = validate(api, code).json()

    assert (body["valid"], body["status"], body["reason"]) == (False, "warning", "recalled")
    assert body["recall"]["id"] == code.batch.recall.recall_id


def test_product_no_longer_sold_is_genuine_but_earns_no_points(customer_api, brand):
    code = factories.code(brand)
    type(code.product).objects.update(is_active=False)

    validated, scanned = validate(customer_api, code).json(), customer_api.verify(code).json()

    assert (validated["valid"], validated["reason"], validated["points_awarded"]) == (True, "product_inactive", 0)
    assert (scanned["status"], scanned["reason"], scanned["points_awarded"]) == ("success", "product_inactive", 0)
    assert scanned["message"] == "Genuine product. It is no longer sold and earns no points."


def test_validate_records_and_counts_nothing(customer_api, brand):
    code = factories.code(brand)

    validate(customer_api, code)

    assert not Scan.objects.exists()
    assert AuthCode.objects.get().scan_count == 0


def test_all_invalid_codes_validate_with_the_same_answer(customer_api, brand):
    answers = [validate(customer_api, invalid_code(brand, reason)).content for reason in INVALID_REASONS]

    expected = (
        b'{"valid":false,"product":null,"points_awarded":0,"scan_count":0,"first_scan":false,'
        b'"status":"error","reason":null,"points_status":"not_eligible"}'
    )
    assert set(answers) == {expected}


@pytest.mark.parametrize("state", ["limit reached", "recalled"])
def test_used_up_or_recalled_code_is_not_valid_but_shows_its_product(api, brand, state):
    code = factories.code(brand)
    scan(api, code)
    if state == "recalled":
        recall(code)

    body = validate(api, code).json()

    assert (body["valid"], body["product"]["sku"], body["points_awarded"]) == (False, code.product.sku, 0)
    assert (body["scan_count"], body["first_scan"]) == (1, False)


def test_validate_shows_no_points_for_a_code_already_claimed(customer_api, brand, deliver_events):
    code = factories.code(brand, scan_limit=None)
    customer_api.verify(code)
    deliver_events()

    assert validate(customer_api, code).json()["points_awarded"] == 0
