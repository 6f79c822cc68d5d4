"""A person is erased at a brand: nothing says who they were, and everything that counts stays."""

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
from tests.loyalty.members.erasure.conftest import EMAIL, FIRST, PASSWORD, TRACES, deliver_all, erase, lives, traces
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, staff, text


def leave(customer_api, password=PASSWORD):
    return customer_api.call("DELETE", "customer", data=json.dumps({"password": password}).encode())


def test_no_table_holds_name_address_or_phone_any_more(api, person, brand, deliver):
    lives(api, person, brand, deliver)
    assert {word for _table, word in traces(*TRACES)} == set(TRACES)

    erase(person, brand)
    deliver_all()

    assert traces(*TRACES) == []
    assert not Device.objects.exists() and not WalletDevice.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_amounts_stay_and_the_ledger_is_clean(api, person, brand, deliver):
    lives(api, person, brand, deliver)
    numbers = ("points", "points_earned", "points_redeemed", "points_expired", "points_returned")
    before = UserPoints.objects.values(*numbers).get(brand=brand)
    lines = list(LoyaltyTransaction.objects.order_by("pk").values())

    erase(person, brand)
    deliver_all()

    assert UserPoints.objects.values(*numbers).get(brand=brand) == before
    assert list(LoyaltyTransaction.objects.order_by("pk").values()) == lines
    assert list(consistency.differences()) == []


def test_scans_keep_the_city_and_lose_the_coordinates(api, person, brand, deliver):
    lives(api, person, brand, deliver)
    person.scans.update(location="Bern, BE", device="Phone 5")

    erase(person, brand)

    assert list(person.scans.values("latitude", "longitude", "location", "device")) == [
        {"latitude": None, "longitude": None, "location": "Bern, BE", "device": ""}
    ]


class Killed(BaseException):
    """What a worker that is killed does: nothing more."""


@pytest.mark.django_db(transaction=True)
def test_worker_that_erases_events_keeps_them_to_itself_and_is_followed_where_it_stopped(
    api, person, brand, deliver, monkeypatch, settings
):
    lives(api, person, brand, deliver)
    erase(person, brand)
    event = Event.objects.get(detail_type="erase-events")
    monkeypatch.setattr(event_erasure, "PORTION", event.pk // 4)
    settings.OUTGOING_LEASE_SECONDS = 0.01
    run, seen = event_erasure.ERASE_PORTION.run, []

    def be_killed_in_the_third(**parameters):
        seen.append(parameters["after"])
        time.sleep(0.02)  # the lease ends
        assert at_once(lambda _number: leases.claim(limit=9, lane=event.lane), [0]) == [[]]
        if len(seen) == 3:
            raise Killed
        return run(**parameters)

    monkeypatch.setattr(event_erasure.ERASE_PORTION, "run", be_killed_in_the_third)
    with suppress(Killed):
        worker.drain(lane=event.lane)
    settings.OUTGOING_LEASE_SECONDS = 60
    deliver_all()

    event.refresh_from_db()
    assert seen[:4] == [0, event.pk // 4, event.pk // 4 * 2, event.pk // 4 * 2]
    assert seen[4:] == sorted(set(seen[4:])) and seen[4] > seen[3]
    assert (event.status, event.detail["payload"]) == ("done", {})
    assert event.outcome["events"] > 0 and traces(*TRACES) == []


def test_old_tokens_are_refused_at_once(api, person, brand):
    tokens = api.post("auth/token", {"email": EMAIL, "password": PASSWORD, "brand_id": brand.pk}).json()
    customer_api = api.as_customer(person)

    answer = leave(customer_api)

    assert answer.status_code == 204
    assert customer_api.get("customer/loyalty/points").json()["error"] == "TOKEN_INVALID"
    assert customer_api.verify(factories.code(brand)).status_code == 401
    assert api.post("auth/token/refresh", {"refresh": tokens["refresh"]}).json()["error"] == "TOKEN_INVALID"
    assert not LoginSession.objects.exists()


def test_wrong_password_erases_nothing(api, person, brand):
    answer = leave(api.as_customer(person), "another long one")

    assert (answer.status_code, answer.json()["error"]) == (403, "PASSWORD_WRONG")
    assert User.objects.filter(email=EMAIL, is_active=True).exists()


def test_staff_are_not_erased(api, person, brand):
    StaffRole.objects.create(user=person, brand=factories.brand(), role=StaffRole.Role.SUPPORT)

    answer = leave(api.as_customer(person))

    assert (answer.status_code, answer.json()["error"]) == (409, "STAFF_NOT_ERASED")
    assert User.objects.filter(email=EMAIL).exists()


def test_what_waits_for_a_worker_is_dropped(api, person, brand):
    api.as_customer(person).verify(factories.code(brand))
    assert Event.objects.pending().filter(detail_type="scan-auth").exists()

    erase(person, brand)
    deliver_all()

    assert not LoyaltyTransaction.objects.exists()
    assert Event.objects.get(detail_type="scan-auth").outcome["error"] == "PERSON_ERASED"


def test_same_address_registers_anew(api, person, brand, deliver, settings):
    settings.REGISTRATION_CONFIRMS_EMAIL = False
    lives(api, person, brand, deliver)
    erase(person, brand)

    answer = api.post("auth/register", {"email": EMAIL, "password": PASSWORD, "brand_id": brand.pk})

    assert answer.status_code == 201
    assert answer.json()["user_id"] != person.pk
    assert UserPoints.objects.get(user_id=answer.json()["user_id"]).points == 0


def test_passes_token_opens_nothing_any_more(api, person, brand, deliver):
    lives(api, person, brand, deliver)
    tokens = dict(WalletPass.objects.values_list("platform", "token"))

    erase(person, brand)

    assert set(WalletPass.objects.values_list("state", flat=True)) == {"removed"}
    assert all(held.token != tokens[held.platform] for held in WalletPass.objects.all())
    assert Event.objects.filter(detail_type="expire-pass").count() == 1


class TestPage:
    def send(self, client, account, reason="Asked by letter"):
        return client.post(address("loyalty.userpoints", "erase", account.pk), {"reason": reason})

    def test_owner_reads_what_goes_and_erases(self, brand, person):
        account, owner = factories.account(person, brand), staff(brand)
        client = browser(owner)
        page = address("loyalty.userpoints", "erase", account.pk)

        assert page in text(client.get(address("loyalty.userpoints", "change", account.pk)))
        assert EMAIL in text(client.get(page))
        assert self.send(client, account).status_code == 302

        assert traces(*TRACES) == []
        assert AuditLogEntry.objects.get(action="Personal data erased").user == owner
        assert self.send(client, account).status_code == 403

    @pytest.mark.parametrize("role", ["manager", "printer", "support"])
    def test_nobody_but_owners_may(self, brand, person, role):
        client = browser(staff(brand, role=role))

        assert self.send(client, factories.account(person, brand)).status_code in {403, 404}
        assert User.objects.filter(email=EMAIL).exists()

    def test_another_brands_member_does_not_exist(self, brand):
        elsewhere = factories.brand()
        foreign_account = factories.account(factories.customer(elsewhere), elsewhere)

        assert self.send(browser(staff(brand)), foreign_account).status_code == 404

    def test_reason_is_needed_and_staff_stay(self, brand, person):
        account, client = factories.account(person, brand), browser(staff(brand))

        assert "required" in text(self.send(client, account, reason=""))
        StaffRole.objects.create(user=person, brand=brand, role=StaffRole.Role.SUPPORT)
        assert "has staff roles" in text(self.send(client, account))
        assert User.objects.filter(email=EMAIL).exists()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_waiting_notification_tells_nobody(brand, person, elsewhere):
    if elsewhere:
        factories.accounts.enrol(user_id=person.pk, brand_id=factories.brand().pk, at=timezone.now())
    NotificationSettings.objects.create(brand=brand)
    payload = {"template": "points-expiring", "points": 5, "expires_on": "2030-01-01"}
    message = messages.NewEvent(
        kind="notify", arguments={"brand_id": brand.pk, "user_id": person.pk}, payload={**payload, "name": FIRST}
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())

    erase(person, brand)
    deliver_all()

    assert Event.objects.get(detail_type="notify").outcome["error"] == "PERSON_ERASED"
    assert not Notification.objects.exists() and not NotificationDelivery.objects.exists()
    assert mail.outbox == []
