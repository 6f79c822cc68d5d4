"""A worker is killed with -9 before Apple answers: the device is notified again, and the points are credited once."""

import time

import pytest
from django.conf import settings as site
from django.core.management import call_command
from django.utils import timezone

from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.wallets import WalletPass
from tests.loyalty.wallets.conftest import on_device
from tests.support import factories
from tests.support.fakes import wallets
from tests.support.fakes.fake_http import reset_breakers
from tests.support.live_stack import Stack, wait_until

FREE_WITHIN_SECONDS = 10
ONE_PUSH_SECONDS, ALL_PUSHES_SECONDS = 4, 12  # all of them take longer than a pass stays busy without renewal


@pytest.fixture
def apns():
    with wallets.apns() as server:
        yield server


@pytest.fixture
def workers(transactional_db, apns, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", wallets.root_file())
    running = Stack(log=tmp_path / "log", redis_url=site.REDIS_URL)
    running.settings = {"OUTGOING_PRIVATE_NETWORKS": "127.0.0.0/8"}
    running.constants = {"EVENT_SWEEP_SECONDS": 1, "APNS_ADDRESS": apns.address, "WALLET_MERGE_SECONDS": 0}
    reset_breakers()
    yield running
    running.stop()


def is_busy():
    return WalletPass.objects.get().busy_until > timezone.now()


def test_worker_killed_during_a_push_notifies_the_device_again(workers, apns):
    brand = factories.brand()
    factories.level(brand)
    wallets.apple(brand)
    customer = factories.customer(brand)
    wallet_pass = on_device(factories.account(customer, brand), "phone", "aaaaaaaaaaaa")
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))

    apns.waits = 8
    worker = workers.start_worker()
    wait_until(lambda: apns.pushes)
    time.sleep(0.1)
    workers.kill(worker)
    assert is_busy()
    wallet_pass.refresh_from_db()
    assert (wallet_pass.version, wallet_pass.pushed_version) == (2, 0)
    assert UserPoints.objects.get(user=customer).points == 10

    apns.waits = 0
    reset_breakers()
    wait_until(lambda: not is_busy(), seconds=FREE_WITHIN_SECONDS)
    Event.objects.pending().update(due_at=timezone.now())
    workers.start_worker()
    wait_until(lambda: WalletPass.objects.get().pushed_version == 2)

    assert apns.tokens == ["aaaaaaaaaaaa"] * 2
    assert (UserPoints.objects.get(user=customer).points, LoyaltyTransaction.objects.count()) == (10, 1)
    call_command("check_ledger")


def test_pass_stays_busy_until_apple_answers(workers, apns):
    brand = factories.brand()
    factories.level(brand)
    wallets.apple(brand)
    customer = factories.customer(brand)
    for number in range(ALL_PUSHES_SECONDS // ONE_PUSH_SECONDS):
        on_device(factories.account(customer, brand), f"phone {number}", f"{number}" * 12)
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))

    apns.waits = ONE_PUSH_SECONDS
    workers.start_worker()
    wait_until(lambda: apns.pushes)
    end = time.monotonic() + ALL_PUSHES_SECONDS - 1
    while time.monotonic() < end:
        assert is_busy()
        time.sleep(0.2)

    wait_until(lambda: WalletPass.objects.get().pushed_version == 2)
    assert WalletPass.objects.get().busy_until is None
    assert len(apns.tokens) == ALL_PUSHES_SECONDS // ONE_PUSH_SECONDS
