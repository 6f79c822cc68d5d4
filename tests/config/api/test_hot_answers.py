"""The three hot answers are written by hand. Each equals what its serializer would write, field by field."""

from decimal import Decimal

import pytest
from django.utils import timezone

from authcodes.api.scan_responses import ScanSuccess, ScanWarning
from authcodes.recalls import recalls
from campaigns.api.campaign_event import AccrualOutput
from core.api.outputs import PointsField
from tests.support import factories


@pytest.fixture(autouse=True)
def points_field_that_accepts_its_own_output(monkeypatch):
    monkeypatch.setattr(PointsField, "to_internal_value", lambda _self, value: Decimal(str(value)))


def serialized_again(answer, serializer):
    """Validate the answer as if it were a request, and serialize it again."""
    value = serializer(data=answer)
    value.is_valid(raise_exception=True)
    return serializer.serialize(value.validated_data)


def assert_matches(answer, serializer):
    expected = serialized_again(answer, serializer)
    left_out = {name for name in expected.keys() - answer.keys() if not serializer().fields[name].required}
    assert answer == {name: value for name, value in expected.items() if name not in left_out}
    assert {name: type(value) for name, value in answer.items()} == {name: type(expected[name]) for name in answer}


@pytest.fixture
def code_scanned_before(api, brand, customer):
    code = factories.code(brand, scan_limit=None)
    api.as_customer(factories.customer(brand)).verify(code, latitude=46.948, longitude=7.4474, city="Bern")
    return code


def recalled_code(brand):
    code = factories.code(brand)
    details = {"recall_id": "R-7", "contact": "0800 123", "message": "Bring it back.", "reason": "mould"}
    recalls.recall_batch(batch=code.batch, at=timezone.now(), **details)
    return code


def used_up_code(api, brand):
    code = factories.code(brand, scan_limit=1)
    api.as_customer(factories.customer(brand)).verify(code)
    return code


def reserved_code(api, brand):
    code = factories.code(brand, scan_limit=1)
    api.guest().post("auth-codes/scan", {"code": str(code)})
    return code


def scanned(caller, code):
    return caller.post("auth-codes/scan", {"code": str(code)})


def verified(caller, code):
    return caller.verify(code)


@pytest.mark.parametrize("send_scan", [verified, scanned])
def test_answers_to_a_customers_scan_match_their_serializers(api, brand, customer, code_scanned_before, send_scan):
    customer_api = api.as_customer(customer)

    assert_matches(send_scan(customer_api, factories.code(brand)).json(), ScanSuccess)
    assert_matches(send_scan(customer_api, code_scanned_before).json(), ScanSuccess)
    assert_matches(send_scan(customer_api, used_up_code(api, brand)).json(), ScanWarning)
    assert_matches(send_scan(customer_api, recalled_code(brand)).json(), ScanWarning)


def test_answers_to_a_guests_scan_match_their_serializers(api, brand):
    guest = api.guest().app()

    assert_matches(scanned(guest, factories.code(brand)).json(), ScanSuccess)
    assert_matches(scanned(guest, reserved_code(api, brand)).json(), ScanWarning)


def test_answer_to_a_scan_that_waits_for_email_confirmation_matches(api):
    brand = factories.brand(requires_confirmed_email=True)
    customer = factories.customer(brand, email_verified_at=None)

    answer = api.as_customer(customer, brand=brand).verify(factories.code(brand)).json()

    assert answer["waits_for"] == "confirmed_email"
    assert_matches(answer, ScanSuccess)


def test_answer_to_a_campaign_event_matches_its_serializer(api, brand, customer):
    factories.level(brand, "Silver", 10)
    factories.level(brand, "Gold", 500)
    campaign = factories.campaign(brand, target_value=10)
    factories.milestone(campaign, 5, reward_name="A mug")
    app = api.as_customer(customer).app()

    answer = app.credit(customer, factories.code(brand, campaign=campaign)).json()

    assert answer["data"].keys() >= {"campaign_progress", "campaigns"}
    assert_matches(answer, AccrualOutput)


def test_answer_to_a_campaign_event_cut_by_a_point_limit_matches(api, customer, brand):
    brand.daily_point_limit = 5
    brand.save()

    answer = api.as_customer(customer).app().credit(customer, factories.code(brand)).json()

    assert "limit" in answer["data"]
    assert_matches(answer, AccrualOutput)
