"""The three hot answers are written by hand. Each is, field by field, what its serializer would write."""

from decimal import Decimal

import pytest
from django.utils import timezone

from authcodes.api.scan_responses import ScanSuccess, ScanWarning
from authcodes.recalls import recalls
from campaigns.api.campaign_event import AccrualOutput
from core.api.outputs import PointsField
from tests.support import factories


@pytest.fixture(autouse=True)
def points_are_read_as_they_are_kept(monkeypatch):
    monkeypatch.setattr(PointsField, "to_internal_value", lambda _self, value: Decimal(str(value)))


def as_its_serializer_would(answer, serializer):
    """Read the answer as if it were a request, and write it again."""
    value = serializer(data=answer)
    value.is_valid(raise_exception=True)
    return serializer.serialize(value.validated_data)


def hold(answer, serializer):
    again = as_its_serializer_would(answer, serializer)
    left_out = {name for name in again.keys() - answer.keys() if not serializer().fields[name].required}
    assert answer == {name: value for name, value in again.items() if name not in left_out}
    assert {name: type(value) for name, value in answer.items()} == {name: type(again[name]) for name in answer}


@pytest.fixture
def seen_before(api, brand, customer):
    code = factories.code(brand, scan_limit=None)
    api.as_customer(factories.customer(brand)).verify(code, latitude=46.948, longitude=7.4474, city="Bern")
    return code


def recalled(brand):
    code = factories.code(brand)
    details = {"recall_id": "R-7", "contact": "0800 123", "message": "Bring it back.", "reason": "mould"}
    recalls.recall_batch(batch=code.batch, at=timezone.now(), **details)
    return code


def used_up(api, brand):
    code = factories.code(brand, scan_limit=1)
    api.as_customer(factories.customer(brand)).verify(code)
    return code


def reserved(api, brand):
    code = factories.code(brand, scan_limit=1)
    api.guest().post("auth-codes/scan", {"code": str(code)})
    return code


def scanned(caller, code):
    return caller.post("auth-codes/scan", {"code": str(code)})


def verified(caller, code):
    return caller.verify(code)


@pytest.mark.parametrize("ask", [verified, scanned])
def test_customers_scan(api, brand, customer, seen_before, ask):
    customer_api = api.as_customer(customer)

    hold(ask(customer_api, factories.code(brand)).json(), ScanSuccess)
    hold(ask(customer_api, seen_before).json(), ScanSuccess)
    hold(ask(customer_api, used_up(api, brand)).json(), ScanWarning)
    hold(ask(customer_api, recalled(brand)).json(), ScanWarning)


def test_guests_scan(api, brand):
    guest = api.guest().app()

    hold(scanned(guest, factories.code(brand)).json(), ScanSuccess)
    hold(scanned(guest, reserved(api, brand)).json(), ScanWarning)


def test_scan_that_waits_for_an_address(api):
    brand = factories.brand(requires_confirmed_email=True)
    customer = factories.customer(brand, email_verified_at=None)

    answer = api.as_customer(customer, of=brand).verify(factories.code(brand)).json()

    assert answer["waits_for"] == "confirmed_email"
    hold(answer, ScanSuccess)


def test_campaign_event(api, brand, customer):
    factories.level(brand, "Silver", 10)
    factories.level(brand, "Gold", 500)
    campaign = factories.campaign(brand, target_value=10)
    factories.milestone(campaign, 5, reward_name="A mug")
    app = api.as_customer(customer).app()

    answer = app.credit(customer, factories.code(brand, campaign=campaign)).json()

    assert answer["data"].keys() >= {"campaign_progress", "campaigns"}
    hold(answer, AccrualOutput)


def test_campaign_event_that_a_limit_cuts(api, customer, brand):
    brand.daily_point_limit = 5
    brand.save()

    answer = api.as_customer(customer).app().credit(customer, factories.code(brand)).json()

    assert "limit" in answer["data"]
    hold(answer, AccrualOutput)
