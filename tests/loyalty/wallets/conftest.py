"""Fixtures and helpers for tests of wallets: fake platforms on loopback, and the workers of the wallet lane."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from brands.models.people import User
from brands.models.tenants import Brand
from core.http import google_service_accounts
from events import worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletPass
from loyalty.wallets import devices, passes
from loyalty.wallets.apple import push
from tests.support import factories
from tests.support.fakes import wallets


@pytest.fixture(autouse=True)
def local_platforms(settings: Any, monkeypatch: Any) -> None:
    """Allow calls to loopback, and trust the tests' own certificate authority."""
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    settings.STORAGE_SECRETS = {1: "s" * 32}
    settings.WALLET_MERGE_SECONDS = 0
    monkeypatch.setenv("SSL_CERT_FILE", wallets.root_file())
    push._tokens.clear()
    google_service_accounts._tokens.clear()


@pytest.fixture
def apns(settings: Any) -> Iterator[wallets.Apns]:
    with wallets.apns() as server:
        settings.APNS_ADDRESS = server.address
        yield server


@pytest.fixture
def google(settings: Any) -> Iterator[wallets.Google]:
    with wallets.google_server() as server:
        settings.GOOGLE_TOKEN_URL = f"{server.address}/token"
        settings.GOOGLE_WALLET_ADDRESS = server.address
        yield server


@pytest.fixture
def account(brand: Brand, customer: User) -> UserPoints:
    return factories.account(customer, brand)


@pytest.fixture
def deliver_wallets() -> Callable[[], int]:
    """Handles the events of the wallet lane, including those that wait to be merged or retried."""

    def run() -> int:
        Event.objects.filter(lane="wallets", status="pending").update(due_at=timezone.now() - timedelta(seconds=1))
        return worker.drain(lane="wallets")

    return run


@pytest.fixture
def apple_pass(brand: Brand, account: UserPoints) -> WalletPass:
    """An Apple pass in its first version on the device `phone`."""
    wallets.apple(brand)
    return on_device(account, "phone", "aaaaaaaaaaaa")


def on_device(account: UserPoints, device: str, push_token: str) -> WalletPass:
    issued, _new = passes.issue(account=account, platform="apple", at=timezone.now())
    passes.mark_downloaded(wallet_pass=issued)
    issued.refresh_from_db()
    devices.register(wallet_pass=issued, device=device, push_token=push_token, at=timezone.now())
    issued.refresh_from_db()
    return issued
