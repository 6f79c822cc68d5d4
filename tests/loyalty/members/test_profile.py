"""A customer's own profile in the API."""

import json

import pytest
from django.utils import timezone

from events import delivery as events
from events import leases, messages
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.wallets import WalletPass
from loyalty.wallets import cards, passes
from tests.support import factories
from tests.support.api import error


@pytest.fixture
def customer_api(api, customer):
    return api.as_customer(customer)


def change(customer_api, body):
    return customer_api.call("PATCH", "customer/profile", data=json.dumps(body).encode())


def test_profile_is_read_and_changed(customer_api, customer):
    answer = change(customer_api, {"first_name": "Ada", "phone": "+4930123456", "language": "de"})

    assert answer.status_code == 200
    data = customer_api.get("customer/profile").json()["data"]
    assert data == answer.json()["data"]
    assert (data["email"], data["first_name"], data["phone"], data["language"]) == (
        customer.email,
        "Ada",
        "+4930123456",
        "de",
    )


def test_completed_profile_field_earns_points_once(customer_api, brand, customer, deliver_events):
    factories.earning_rule(brand, "log-user-profile-update", 5)
    for body in ({"first_name": "Ada"}, {"first_name": ""}, {"first_name": "Eva"}):
        change(customer_api, body)
    deliver_events()

    assert [entry.reason_id for entry in LoyaltyTransaction.objects.all()] == ["profile:first_name"]


def test_profile_event_contains_field_names_but_no_values(customer_api):
    change(customer_api, {"last_name": "Lovelace"})

    payload = Event.objects.get(detail_type="log-user-profile-update").detail["payload"]
    assert payload == {"type": "profile", "changedFields": ["last_name"], "completedFields": ["last_name"]}


def test_unchanged_profile_publishes_no_event(customer_api):
    change(customer_api, {})
    change(customer_api, {"first_name": ""})

    assert not Event.objects.exists()


def test_notification_preference_is_switched_off(customer_api):
    data = change(customer_api, {"notifications": {"points": {"email": False}}}).json()["data"]

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
def test_invalid_profile_changes_are_rejected(customer_api, body):
    assert error(change(customer_api, body)) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("body", [{"language": "ar"}, {"first_name": "Ada"}], ids=str)
def test_change_of_name_or_language_gives_passes_a_new_version(customer_api, brand, customer, body):
    account = factories.account(customer, brand)
    wallet_pass, _is_new = passes.issue(account=account, platform="apple", at=timezone.now())
    card_before = {
        "pass_id": wallet_pass.pk,
        "language": cards.card_of(wallet_pass).language,
        "member": cards.card_of(wallet_pass).member,
    }

    change(customer_api, body)
    change(customer_api, body)  # the second change has no effect
    for leased_event in leases.claim(limit=5, lane=messages.lane_of("balance-changed")):
        events.deliver(leased_event)

    updated_pass = WalletPass.objects.get(pk=wallet_pass.pk)
    card_after = {
        "pass_id": updated_pass.pk,
        "language": cards.card_of(updated_pass).language,
        "member": cards.card_of(updated_pass).member,
    }
    assert updated_pass.version == wallet_pass.version + 1
    assert card_after != card_before


def test_change_of_a_field_not_on_passes_leaves_them_unchanged(customer_api, brand, customer):
    passes.issue(account=factories.account(customer, brand), platform="apple", at=timezone.now())

    change(customer_api, {"phone": "+4930123456"})

    assert not Event.objects.filter(detail_type="balance-changed").exists()
