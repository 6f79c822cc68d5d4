"""Erasing a customer at a brand: no personal data remains, and all amounts stay."""

import json
import time
from contextlib import suppress

import pytest
from django.core import mail
from django.utils import timezone

from authcodes.scanning import consistency
from brands.models.audit import AuditLogEntry
from brands.models.credentials import LoginSession
from brands.models.people import StaffRole, User
from events import erasure as event_erasure
from events import leases, messages, publishing, worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.notifications import Device, Notification, NotificationDelivery, NotificationSettings
from loyalty.models.wallets import WalletDevice, WalletPass
from tests.loyalty.members.erasure.conftest import (
    EMAIL,
    FIRST,
    PASSWORD,
    PERSONAL_TEXTS,
    create_personal_data,
    deliver_all_events,
    erase,
    find_texts,
)
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, staff, text


def delete_account(customer_api, password=PASSWORD):
    return customer_api.call("DELETE", "customer", data=json.dumps({"password": password}).encode())


def test_no_table_contains_personal_data_after_erasure(api, named_customer, brand, deliver_events):
    create_personal_data(api, named_customer, brand, deliver_events)
    assert {word for _table, word in find_texts(*PERSONAL_TEXTS)} == set(PERSONAL_TEXTS)

    erase(named_customer, brand)
    deliver_all_events()

    assert find_texts(*PERSONAL_TEXTS) == []
    assert not Device.objects.exists() and not WalletDevice.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_erasure_changes_no_amounts_and_the_ledger_is_consistent(api, named_customer, brand, deliver_events):
    create_personal_data(api, named_customer, brand, deliver_events)
    amounts = ("points", "points_earned", "points_redeemed", "points_expired", "points_returned")
    before = UserPoints.objects.values(*amounts).get(brand=brand)
    entries = list(LoyaltyTransaction.objects.order_by("pk").values())

    erase(named_customer, brand)
    deliver_all_events()

    assert UserPoints.objects.values(*amounts).get(brand=brand) == before
    assert list(LoyaltyTransaction.objects.order_by("pk").values()) == entries
    assert list(consistency.differences()) == []


def test_scans_keep_the_city_and_lose_coordinates_and_device(api, named_customer, brand, deliver_events):
    create_personal_data(api, named_customer, brand, deliver_events)
    named_customer.scans.update(location="Bern, BE", device="Phone 5")

    erase(named_customer, brand)

    assert list(named_customer.scans.values("latitude", "longitude", "location", "device")) == [
        {"latitude": None, "longitude": None, "location": "Bern, BE", "device": ""}
    ]


class Killed(BaseException):
    """Ends a worker as if it were killed."""


@pytest.mark.django_db(transaction=True)
def test_event_erasure_keeps_its_lease_and_resumes_after_a_killed_worker(
    api, named_customer, brand, deliver_events, monkeypatch, settings
):
    create_personal_data(api, named_customer, brand, deliver_events)
    erase(named_customer, brand)
    event = Event.objects.get(detail_type="erase-events")
    monkeypatch.setattr(event_erasure, "PORTION", event.pk // 4)
    settings.OUTGOING_LEASE_SECONDS = 0.01
    run, positions = event_erasure.ERASE_PORTION.run, []

    def be_killed_in_the_third_portion(**parameters):
        positions.append(parameters["after"])
        time.sleep(0.02)  # the lease ends
        assert run_concurrently(lambda _number: leases.claim(limit=9, lane=event.lane), [0]) == [[]]
        if len(positions) == 3:
            raise Killed
        return run(**parameters)

    monkeypatch.setattr(event_erasure.ERASE_PORTION, "run", be_killed_in_the_third_portion)
    with suppress(Killed):
        worker.drain(lane=event.lane)
    settings.OUTGOING_LEASE_SECONDS = 60
    deliver_all_events()

    event.refresh_from_db()
    assert positions[:4] == [0, event.pk // 4, event.pk // 4 * 2, event.pk // 4 * 2]
    assert positions[4:] == sorted(set(positions[4:])) and positions[4] > positions[3]
    assert (event.status, event.detail["payload"]) == ("done", {})
    assert event.outcome["events"] > 0 and find_texts(*PERSONAL_TEXTS) == []


def test_erasure_invalidates_tokens_immediately(api, named_customer, brand):
    tokens = api.post("auth/token", {"email": EMAIL, "password": PASSWORD, "brand_id": brand.pk}).json()
    customer_api = api.as_customer(named_customer)

    answer = delete_account(customer_api)

    assert answer.status_code == 204
    assert customer_api.get("customer/loyalty/points").json()["error"] == "TOKEN_INVALID"
    assert customer_api.verify(factories.code(brand)).status_code == 401
    assert api.post("auth/token/refresh", {"refresh": tokens["refresh"]}).json()["error"] == "TOKEN_INVALID"
    assert not LoginSession.objects.exists()


def test_wrong_password_erases_nothing(api, named_customer, brand):
    answer = delete_account(api.as_customer(named_customer), "another long one")

    assert (answer.status_code, answer.json()["error"]) == (403, "PASSWORD_WRONG")
    assert User.objects.filter(email=EMAIL, is_active=True).exists()


def test_staff_cannot_delete_their_account(api, named_customer, brand):
    StaffRole.objects.create(user=named_customer, brand=factories.brand(), role=StaffRole.Role.SUPPORT)

    answer = delete_account(api.as_customer(named_customer))

    assert (answer.status_code, answer.json()["error"]) == (409, "STAFF_NOT_ERASED")
    assert User.objects.filter(email=EMAIL).exists()


def test_pending_events_are_dropped_after_erasure(api, named_customer, brand):
    api.as_customer(named_customer).verify(factories.code(brand))
    assert Event.objects.pending().filter(detail_type="scan-auth").exists()

    erase(named_customer, brand)
    deliver_all_events()

    assert not LoyaltyTransaction.objects.exists()
    assert Event.objects.get(detail_type="scan-auth").outcome["error"] == "PERSON_ERASED"


def test_erased_address_can_register_again(api, named_customer, brand, deliver_events, settings):
    settings.REGISTRATION_CONFIRMS_EMAIL = False
    create_personal_data(api, named_customer, brand, deliver_events)
    erase(named_customer, brand)

    answer = api.post("auth/register", {"email": EMAIL, "password": PASSWORD, "brand_id": brand.pk})

    assert answer.status_code == 201
    assert answer.json()["user_id"] != named_customer.pk
    assert UserPoints.objects.get(user_id=answer.json()["user_id"]).points == 0


def test_erasure_removes_passes_and_replaces_their_tokens(api, named_customer, brand, deliver_events):
    create_personal_data(api, named_customer, brand, deliver_events)
    tokens = dict(WalletPass.objects.values_list("platform", "token"))

    erase(named_customer, brand)

    assert set(WalletPass.objects.values_list("state", flat=True)) == {"removed"}
    assert all(wallet_pass.token != tokens[wallet_pass.platform] for wallet_pass in WalletPass.objects.all())
    assert Event.objects.filter(detail_type="expire-pass").count() == 1


class TestErasureView:
    def submit(self, client, account, reason="Asked by letter"):
        return client.post(address("loyalty.userpoints", "erase", account.pk), {"reason": reason})

    def test_owner_reviews_the_data_and_erases_the_member(self, brand, named_customer):
        account, owner = factories.account(named_customer, brand), staff(brand)
        client = browser(owner)
        page = address("loyalty.userpoints", "erase", account.pk)

        assert page in text(client.get(address("loyalty.userpoints", "change", account.pk)))
        assert EMAIL in text(client.get(page))
        assert self.submit(client, account).status_code == 302

        assert find_texts(*PERSONAL_TEXTS) == []
        assert AuditLogEntry.objects.get(action="Personal data erased").user == owner
        assert self.submit(client, account).status_code == 403

    @pytest.mark.parametrize("role", ["manager", "printer", "support"])
    def test_other_roles_cannot_erase(self, brand, named_customer, role):
        client = browser(staff(brand, role=role))

        assert self.submit(client, factories.account(named_customer, brand)).status_code in {403, 404}
        assert User.objects.filter(email=EMAIL).exists()

    def test_member_of_another_brand_is_not_found(self, brand):
        other_brand = factories.brand()
        foreign_account = factories.account(factories.customer(other_brand), other_brand)

        assert self.submit(browser(staff(brand)), foreign_account).status_code == 404

    def test_erased_member_stays_blocked(self, brand, named_customer):
        account, other_account = (
            factories.account(named_customer, brand),
            factories.account(factories.customer(brand), brand),
        )
        UserPoints.objects.update(status="blocked")
        erase(named_customer, brand)
        client = browser(staff(brand))
        chosen = {"action": "unblock", "_selected_action": [account.pk, other_account.pk]}

        client.post(address("loyalty.userpoints"), {**chosen, "reason": "Asked"})

        statuses = UserPoints.objects.in_bulk([account.pk, other_account.pk])
        assert [statuses[each.pk].status for each in (account, other_account)] == ["blocked", "active"]

    def test_reason_is_required_and_staff_are_not_erased(self, brand, named_customer):
        account, client = factories.account(named_customer, brand), browser(staff(brand))

        assert "required" in text(self.submit(client, account, reason=""))
        StaffRole.objects.create(user=named_customer, brand=brand, role=StaffRole.Role.SUPPORT)
        assert "has staff roles" in text(self.submit(client, account))
        assert User.objects.filter(email=EMAIL).exists()


@pytest.mark.parametrize("is_member_elsewhere", [False, True])
def test_pending_notification_is_not_sent_after_erasure(brand, named_customer, is_member_elsewhere):
    if is_member_elsewhere:
        factories.accounts.enrol(user_id=named_customer.pk, brand_id=factories.brand().pk, at=timezone.now())
    NotificationSettings.objects.create(brand=brand)
    payload = {"template": "points-expiring", "points": 5, "expires_on": "2030-01-01"}
    message = messages.NewEvent(
        kind="notify",
        arguments={"brand_id": brand.pk, "user_id": named_customer.pk},
        payload={**payload, "name": FIRST},
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())

    erase(named_customer, brand)
    deliver_all_events()

    assert Event.objects.get(detail_type="notify").outcome["error"] == "PERSON_ERASED"
    assert not Notification.objects.exists() and not NotificationDelivery.objects.exists()
    assert mail.outbox == []
