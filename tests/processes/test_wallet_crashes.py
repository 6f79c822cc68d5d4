"""A worker killed with -9 while Apple has not answered yet: the device is told again, and the points stand once."""

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
ONE_TELLS_SECONDS, TELLS_SECONDS = 4, 12  # together longer than a pass stays busy unless that is renewed


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


def test_a_worker_killed_while_apple_answers_tells_the_device_again(workers, apns):
    brand = factories.brand()
    factories.level(brand)
    wallets.apple(brand)
    customer = factories.customer(brand)
    held = on_device(factories.account(customer, brand), "phone", "aaaaaaaaaaaa")
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))

    apns.waits = 8
    worker = workers.start_worker()
    wait_until(lambda: apns.pushes)
    time.sleep(0.1)
    workers.kill(worker)
    assert is_busy()
    held.refresh_from_db()
    assert (held.version, held.pushed_version) == (2, 0)
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


def test_a_pass_stays_its_workers_for_as_long_as_apple_takes(workers, apns):
    brand = factories.brand()
    factories.level(brand)
    wallets.apple(brand)
    customer = factories.customer(brand)
    for number in range(TELLS_SECONDS // ONE_TELLS_SECONDS):
        on_device(factories.account(customer, brand), f"phone {number}", f"{number}" * 12)
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))

    apns.waits = ONE_TELLS_SECONDS
    workers.start_worker()
    wait_until(lambda: apns.pushes)
    end = time.monotonic() + TELLS_SECONDS - 1
    while time.monotonic() < end:
        assert is_busy()
        time.sleep(0.2)

    wait_until(lambda: WalletPass.objects.get().pushed_version == 2)
    assert WalletPass.objects.get().busy_until is None
    assert len(apns.tokens) == TELLS_SECONDS // ONE_TELLS_SECONDS
