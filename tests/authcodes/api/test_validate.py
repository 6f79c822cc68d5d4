"""Looking a code up over HTTP without scanning it: validate (spec 4.6)."""

import pytest

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from tests.authcodes.api.conftest import WRONG, recall, scan, validate, wrong_code
from tests.support import factories


def test_validate_tells_what_a_scan_would_say(customer_api, brand):
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


def test_validate_promises_a_guest_no_points_and_says_what_logging_in_would_earn(api, brand):
    body = validate(api, factories.code(brand)).json()

    assert (body["valid"], body["points_awarded"], body["points_available"]) == (True, 0, 10)
    assert body["points_status"] == "guest"


def test_validate_tells_of_a_recall(api, brand):
    code = factories.code(brand)
    recall(code)

    body = validate(api, code).json()

    assert (body["valid"], body["status"], body["reason"]) == (False, "warning", "recalled")
    assert body["recall"]["id"] == code.batch.recall.recall_id


def test_product_no_longer_sold_is_genuine_and_says_that_it_earns_nothing(customer_api, brand):
    code = factories.code(brand)
    type(code.product).objects.update(is_active=False)

    looked_up, scanned = validate(customer_api, code).json(), customer_api.verify(code).json()

    assert (looked_up["valid"], looked_up["reason"], looked_up["points_awarded"]) == (True, "product_inactive", 0)
    assert (scanned["status"], scanned["reason"], scanned["points_awarded"]) == ("success", "product_inactive", 0)
    assert scanned["message"] == "Genuine product. It is no longer sold and earns no points."


def test_validate_records_and_counts_nothing(customer_api, brand):
    code = factories.code(brand)

    validate(customer_api, code)

    assert not Scan.objects.exists()
    assert AuthCode.objects.get().scan_count == 0


def test_codes_that_are_not_valid_validate_alike(customer_api, brand):
    answers = [validate(customer_api, wrong_code(brand, reason)).content for reason in WRONG]

    expected = (
        b'{"valid":false,"product":null,"points_awarded":0,"scan_count":0,"first_scan":false,'
        b'"status":"error","reason":null,"points_status":"not_eligible"}'
    )
    assert set(answers) == {expected}


@pytest.mark.parametrize("why", ["limit reached", "recalled"])
def test_real_code_without_a_scan_left_is_named_but_not_valid(api, brand, why):
    code = factories.code(brand)
    scan(api, code)
    if why == "recalled":
        recall(code)

    body = validate(api, code).json()

    assert (body["valid"], body["product"]["sku"], body["points_awarded"]) == (False, code.product.sku, 0)
    assert (body["scan_count"], body["first_scan"]) == (1, False)


def test_validate_of_a_claimed_code_promises_nothing_more(customer_api, brand, deliver):
    code = factories.code(brand, scan_limit=None)
    customer_api.verify(code)
    deliver()

    assert validate(customer_api, code).json()["points_awarded"] == 0
