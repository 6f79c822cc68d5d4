"""Apple's web service for passes, called by a scripted device over real HTTP."""

import io
import json
import time
import uuid
import zipfile
from datetime import timedelta

import httpx
import pytest
from django.test import Client
from django.utils import timezone

from events.models import Event
from loyalty.models.wallets import WalletDevice, WalletPass
from loyalty.points import ledger
from loyalty.wallets import devices, passes
from tests.support import factories
from tests.support.api import Api, random_address
from tests.support.fakes import wallets

pytestmark = pytest.mark.django_db(transaction=True)


class Device:
    """An iPhone with a pass, which knows only the content of that pass."""

    def __init__(self, url, package, name="phone-1", push_token="a1b2c3d4e5f6"):
        with zipfile.ZipFile(io.BytesIO(package)) as archive:
            self.pass_data = json.loads(archive.read("pass.json"))
        self.base = f"{url}/wallets/apple/v1"
        self.name, self.push_token = name, push_token
        self.headers = {"Authorization": f"ApplePass {self.pass_data['authenticationToken']}"}
        self.type, self.serial = self.pass_data["passTypeIdentifier"], self.pass_data["serialNumber"]

    @property
    def registration(self):
        return f"{self.base}/devices/{self.name}/registrations/{self.type}/{self.serial}"

    def register(self, **options):
        return httpx.post(self.registration, json={"pushToken": self.push_token}, headers=self.headers, **options)

    def unregister(self):
        return httpx.delete(self.registration, headers=self.headers)

    def changes(self, tag=None):
        address = f"{self.base}/devices/{self.name}/registrations/{self.type}"
        return httpx.get(address, params={"passesUpdatedSince": tag} if tag is not None else {})

    def latest(self, since=None, **headers):
        options = {"If-Modified-Since": since} if since else {}
        return httpx.get(
            f"{self.base}/passes/{self.type}/{self.serial}", headers={**self.headers, **options, **headers}
        )


@pytest.fixture
def service(brand, settings, live_server):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")
    wallets.apple(brand)
    return live_server.url


@pytest.fixture
def phone(service, brand, customer):
    response = Api(brand).as_customer(customer).get("customer/wallet/apple")
    assert response["Content-Type"] == "application/vnd.apple.pkpass"
    return Device(service, response.content)


def balance_of(package):
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        return json.loads(archive.read("pass.json"))["storeCard"]["headerFields"][0]["value"]


def credit(account, points):
    reason = f"order:{uuid.uuid4()}"
    ledger.credit(account=account.pk, points=points, reason_id=reason, note="", at=timezone.now())
    messages = passes.account_changed(account=account.pk, brand_id=account.brand_id, at=timezone.now())
    Event.objects.filter(lane="wallets").delete()
    return messages


def test_device_registers_gets_changes_and_fetches_the_changed_pass(phone, account):
    assert phone.register().status_code == 201
    first = phone.changes()
    assert first.json()["serialNumbers"] == [phone.serial]
    assert phone.changes(first.json()["lastUpdated"]).status_code == 204
    fetched = phone.latest()
    assert fetched.headers["content-type"] == "application/vnd.apple.pkpass"
    assert phone.latest(since=fetched.headers["last-modified"]).status_code == 304

    credit(account, 30)

    changed = phone.changes(first.json()["lastUpdated"])
    assert (changed.status_code, changed.json()["serialNumbers"]) == (200, [phone.serial])
    refetched = phone.latest(since=fetched.headers["last-modified"])
    assert (refetched.status_code, balance_of(refetched.content)) == (200, 30)
    assert phone.changes(changed.json()["lastUpdated"]).status_code == 204
    wallet_pass = WalletPass.objects.get()
    assert (wallet_pass.state, wallet_pass.current_version, wallet_pass.fetched_at is not None) == (
        "held",
        wallet_pass.version,
        True,
    )


def test_registering_again_replaces_the_push_token(phone):
    phone.register()
    phone.push_token = "ffffffffffff"

    assert phone.register().status_code == 200
    assert WalletDevice.objects.get().push_token == "ffffffffffff"


def test_unregistering_deletes_the_device_and_marks_the_pass_as_removed(phone):
    phone.register()

    assert phone.unregister().status_code == 200
    assert (WalletDevice.objects.count(), WalletPass.objects.get().state) == (0, "removed")
    assert phone.unregister().status_code == 200


def test_changes_within_a_second_have_different_last_modified_dates(phone, account):
    """Last-Modified has whole seconds: with the same second, the device would retain the older version."""
    phone.register()
    for points in (10, 20, 30):
        credit(account, points)
        modified = phone.latest().headers["last-modified"]
        credit(account, 1)
        assert phone.latest(since=modified).status_code == 200


def test_device_registered_after_a_change_gets_a_refresh_event(phone, account):
    credit(account, 5)

    phone.register()

    assert Event.objects.get(detail_type="refresh-pass").detail["payload"]["pass_id"] == WalletPass.objects.get().pk


def test_change_that_commits_late_is_still_returned(phone, brand, account, service):
    """The change of one pass commits after a device has already fetched a later change of another pass."""
    other_customer = factories.customer(brand)
    other_device = Device(service, Api(brand).as_customer(other_customer).get("customer/wallet/apple").content)
    phone.register()
    other_device.register()
    changed_at = timezone.now()
    time.sleep(0.01)
    credit(factories.account(other_customer, brand), 1)
    tag = phone.changes().json()["lastUpdated"]

    passes.account_changed(account=account.pk, brand_id=brand.pk, at=changed_at)

    assert phone.changes(tag).json()["serialNumbers"] == [phone.serial]


# --- Permissions and invalid requests --------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["", "ApplePass", "ApplePass wrong", "Bearer x", "ApplePass é"])
def test_calls_without_a_valid_token_get_401(phone, header):
    phone.headers = {"Authorization": header.encode()} if header else {}

    for response in (phone.register(), phone.unregister(), phone.latest()):
        assert (response.status_code, response.json()["error"]) == (401, "TOKEN_INVALID")
    assert WalletDevice.objects.count() == 0


@pytest.mark.parametrize(
    "serial", ["6b994600-e888-4a5d-9722-460cd5c30634", "x", "1", "00000000000000000000000000000000", "%2e%2e"]
)
def test_unknown_serials_get_404(phone, serial):
    phone.serial = serial

    for response in (phone.register(), phone.unregister(), phone.latest()):
        assert (response.status_code, response.json()["error"]) == (404, "NOT_FOUND")


def test_token_and_type_of_another_brands_pass_give_no_access(phone, service):
    foreign_brand = factories.brand()
    factories.level(foreign_brand)
    wallets.apple(foreign_brand, identifier="pass.com.stranger.card")
    foreign_device = Device(
        service, Api(foreign_brand).as_customer(factories.customer(foreign_brand)).get("customer/wallet/apple").content
    )

    phone.headers = foreign_device.headers
    assert (phone.latest().status_code, phone.register().status_code) == (401, 401)
    phone.headers = {"Authorization": f"ApplePass {phone.pass_data['authenticationToken']}"}
    phone.type = foreign_device.type
    assert (phone.latest().status_code, phone.register().status_code) == (404, 404)
    foreign_device.register()
    phone.type = wallets.PASS_TYPE
    assert phone.changes().status_code == 204


@pytest.mark.parametrize("size", [60_000, 2_000_000])
def test_oversized_bodies_get_413(phone, size):
    body = b'{"pushToken": "' + b"a" * size + b'"}'

    for address in (phone.registration, f"{phone.base}/log"):
        response = httpx.post(
            address, content=body, headers={**phone.headers, "Content-Type": "application/json"}, timeout=20
        )
        assert (response.status_code, response.json()["error"]) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b'{"pushToken": 5}', b'{"pushToken": ""}', b'{"pushToken": "a/../b"}', b"\xff"]
)
def test_invalid_registrations_get_400(phone, body):
    response = httpx.post(
        phone.registration, content=body, headers={**phone.headers, "Content-Type": "application/json"}
    )

    assert (response.status_code, WalletDevice.objects.count()) == (400, 0)


@pytest.mark.parametrize("tag", ["x", "-", "1-", "zz-zz", "9" * 9000, "1-1_", "٣-٣"])
def test_invalid_tag_returns_all_passes(phone, tag):
    phone.register()

    assert phone.changes(tag).json()["serialNumbers"] == [phone.serial]


def test_invalid_if_modified_since_is_ignored(phone):
    assert phone.latest(since="yesterday").status_code == 200


def test_log_messages_of_a_device_are_sanitised_and_truncated(phone, caplog):
    response = httpx.post(f"{phone.base}/log", json={"logs": ["It\nfails \x1b[31m", "x" * 9000]})

    assert response.status_code == 200
    assert [record.getMessage()[:30] for record in caplog.records if record.name.startswith("loyalty")] == [
        "A device says: It fails  [31m",
        "A device says: " + "x" * 15,
    ]
    assert max(len(record.getMessage()) for record in caplog.records) < 600


def test_number_of_devices_per_pass_is_limited(phone, monkeypatch):
    monkeypatch.setattr(devices, "MAX_DEVICES", 3)
    for number in range(5):
        phone.name = f"phone-{number}"
        phone.register()

    assert list(WalletDevice.objects.values_list("device", flat=True)) == ["phone-2", "phone-3", "phone-4"]


def test_expired_certificate_makes_the_download_unavailable_but_not_registration(phone, brand):
    brand.wallet_issuers.update(expires_at=timezone.now() - timedelta(days=1))

    response = phone.latest()

    assert (response.status_code, response.headers["retry-after"]) == (503, "3600")
    assert phone.register().status_code == 201


def test_repeated_download_returns_the_same_package(phone):
    phone.register()

    assert phone.latest().content == phone.latest().content  # a second signature would have another signing time


def test_rate_limit_applies_per_address_and_not_per_device(settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "wallet_address": "3/minute"}
    client = Client(REMOTE_ADDR=random_address())

    paths = [f"/wallets/apple/v1/devices/phone-{number}/registrations/pass.com.x" for number in range(4)]

    assert [client.get(path).status_code for path in paths] == [204, 204, 204, 429]
