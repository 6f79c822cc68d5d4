"""A customer's own profile, over the API."""

import json

import pytest

from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories
from tests.support.api import error


@pytest.fixture
def mine(api, customer):
    return api.as_customer(customer)


def change(mine, body):
    return mine.call("PATCH", "customer/profile", data=json.dumps(body).encode())


def test_profile_is_read_and_changed(mine, customer):
    answer = change(mine, {"first_name": "Ada", "phone": "+4930123456", "language": "de"})

    assert answer.status_code == 200
    data = mine.get("customer/profile").json()["data"]
    assert data == answer.json()["data"]
    assert (data["email"], data["first_name"], data["phone"], data["language"]) == (
        customer.email,
        "Ada",
        "+4930123456",
        "de",
    )


def test_completed_field_earns_once(mine, brand, customer, deliver):
    factories.earning_rule(brand, "log-user-profile-update", 5)
    for body in ({"first_name": "Ada"}, {"first_name": ""}, {"first_name": "Eva"}):
        change(mine, body)
    deliver()

    assert [line.reason_id for line in LoyaltyTransaction.objects.all()] == ["profile:first_name"]


def test_event_names_fields_and_never_what_is_in_them(mine):
    change(mine, {"last_name": "Lovelace"})

    payload = Event.objects.get(detail_type="log-user-profile-update").detail["payload"]
    assert payload == {"type": "profile", "changedFields": ["last_name"], "completedFields": ["last_name"]}


def test_nothing_changed_tells_nobody(mine):
    change(mine, {})
    change(mine, {"first_name": ""})

    assert not Event.objects.exists()


def test_notifications_are_switched(mine):
    data = change(mine, {"notifications": {"points": {"email": False}}}).json()["data"]

    assert data["notifications"]["points"]["email"] is False
    assert data["notifications"]["points"]["push"] is True


@pytest.mark.parametrize(
    "body",
    [
        {"phone": "030 1234"},
        {"language": "xx"},
        {"first_name": "x" * 151},
        {"first_name": 5},
        {"notifications": {"safety": {"email": False}}},
        {"notifications": 5},
    ],
)
def test_bad_wishes_are_refused(mine, body):
    assert error(change(mine, body)) == (400, "VALIDATION_ERROR")
