"""Work that runs while a customer is being erased, on separate connections."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core import mail
from django.db import OperationalError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from brands.audit_log import AuditContext
from brands.identity import users
from brands.models.people import User
from core.errors import TokenInvalid
from events import leases, messages, worker
from events.models import Event
from loyalty.members import erasure, profile
from loyalty.models.accounts import UserPoints
from loyalty.models.notifications import (
    Device,
    Notification,
    NotificationDelivery,
    NotificationPreference,
    NotificationSettings,
)
from loyalty.models.wallets import Platform, WalletDevice
from loyalty.models.webhooks import WebhookDelivery
from loyalty.notifications import batching, devices
from loyalty.points import accounts
from loyalty.wallets import devices as wallet_devices
from loyalty.wallets import passes
from tests.loyalty.integrations.webhooks import endpoint
from tests.support import factories
from tests.support.concurrency import result_or_error, run_during_transaction, start_until_blocked
from tests.support.fakes.fake_http import receiver, reset_breakers
from tests.support.portal import browser, staff

pytestmark = pytest.mark.django_db(transaction=True)


def erase(customer, brand):
    return erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))


def rename(customer, brand):
    fields = {"first_name": "Wilhelmina", "phone": "+41791234567"}
    return profile.change(user_id=customer.pk, brand_id=brand.pk, fields=fields, switches=None, at=timezone.now())


def add_device(customer, brand):
    return devices.register(
        user_id=customer.pk, brand_id=brand.pk, token="a phone", platform="android", at=timezone.now()
    )


@pytest.mark.parametrize("write", [rename, add_device])
def test_write_during_erasure_does_not_restore_personal_data(brand, customer, write):
    outcome = run_during_transaction(lambda: erase(customer, brand), lambda: write(customer, brand))

    assert isinstance(outcome, TokenInvalid)
    assert User.objects.get(pk=customer.pk).first_name == ""
    assert not NotificationPreference.objects.exists() and not Device.objects.exists()


def test_control_without_the_check_under_the_lock_the_name_is_restored(brand, customer, monkeypatch):
    locked_users = User.objects.select_for_update(no_key=True)
    monkeypatch.setattr(users, "lock_user", lambda *, user_id: locked_users.get(pk=user_id))

    run_during_transaction(lambda: erase(customer, brand), lambda: rename(customer, brand))

    assert User.objects.get(pk=customer.pk).first_name == "Wilhelmina"


def test_device_cannot_register_for_a_pass_during_erasure(brand, customer):
    wallet_pass, _is_new = passes.issue(
        account=factories.account(customer, brand), platform=Platform.APPLE, at=timezone.now()
    )

    def register_device():
        return wallet_devices.register(
            wallet_pass=wallet_pass, device="phone", push_token="abcdef01", at=timezone.now()
        )

    outcome = run_during_transaction(lambda: erase(customer, brand), register_device)

    assert isinstance(outcome, TokenInvalid)
    assert not WalletDevice.objects.exists()


@pytest.fixture
def webhook_receiver():
    with receiver() as running:
        yield running


@pytest.fixture
def scanned_code(brand, customer, webhook_receiver, settings):
    """A code that a customer of two brands has just scanned, at a brand with notifications, a webhook and a pass."""
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    reset_breakers()
    NotificationSettings.objects.create(brand=brand, merge_seconds=0)
    endpoint(brand, webhook_receiver, types=["code.scanned"])
    factories.accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())
    passes.issue(account=factories.account(customer, brand), platform=Platform.APPLE, at=timezone.now())
    code = factories.code(brand)
    scan.scan(scanned=str(code), context=ScanContext(at=timezone.now(), user_id=customer.pk, brand_id=brand.pk))
    return code


def run_workers():
    """Runs workers until nothing is due in any lane."""
    while sum(worker.drain(lane=lane) for lane in [messages.POINTS, *messages.slow_lanes()]):
        pass


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "kind", ["scan-auth", "notify", "send-notice", "send-email", "balance-changed", "announce", "call-webhook"]
)
def test_erasure_covers_what_a_worker_is_handling(brand, customer, scanned_code, monkeypatch, kind, moment):
    """The erasure begins right before or right after a handler finishes its event, without a deadlock."""
    if kind == "scan-auth":  # a rejection is recorded on the scan
        recall_fields = {"recall_id": "R-1", "contact": "0800 1", "message": "Return it", "reason": "Glass"}
        recalls.recall_batch(batch=scanned_code.batch, at=timezone.now(), **recall_fields)
    finish, erasures = leases.finish, []

    def finish_during_erasure(leased_event, **options):
        if leased_event.kind != kind or erasures:
            return finish(leased_event, **options)
        if moment == "after":
            finish(leased_event, **options)
        erasures.append(start_until_blocked(pool, lambda: erase(customer, brand)))
        transaction.on_commit(lambda: erasures[0].exception(timeout=10))
        return None if moment == "after" else finish(leased_event, **options)

    monkeypatch.setattr(leases, "finish", finish_during_erasure)
    with ThreadPoolExecutor(1) as pool:
        run_workers()

    assert result_or_error(erasures[0]).stays_elsewhere
    for table in (Notification, NotificationDelivery, WebhookDelivery, Scan):
        assert not table.objects.filter(brand=brand, user=customer).exists(), table
    assert not Event.objects.filter(brand=brand, detail__arguments__user_id=customer.pk).exists()
    assert "".join(WebhookDelivery.objects.values_list("body", flat=True)) == ""
    assert len(mail.outbox) == (kind == "send-email")


def test_control_finishing_the_event_last_deadlocks_with_an_erasure(brand, customer, scanned_code):
    worker.drain()
    [notify] = leases.claim(limit=1, lane="notices")
    batching.on_notify(notify)
    [leased_event] = leases.claim(limit=1, lane="notices")

    def finish_event_last():
        return run_during_transaction(
            lambda: batching.close(notification_id=leased_event.payload["notice_id"], at=timezone.now()),
            lambda: erase(customer, brand),
            lambda: leases.finish(leased_event),
        )

    try:
        outcome = finish_event_last()
    except OperationalError as error:
        outcome = error

    assert "deadlock" in str(outcome)


def test_blocking_members_and_changing_points_lock_accounts_in_one_order(brand):
    first, second = (factories.account(factories.customer(brand), brand) for _ in range(2))
    accounts.touch(account=first.pk, at=timezone.now())  # moves the row behind the other in the table

    def block():
        with connection.cursor() as cursor:  # as for a large table, which is read in physical order
            cursor.execute("SET enable_indexscan = off")
            cursor.execute("SET enable_bitmapscan = off")
        return accounts.set_status(accounts=[first, second], status=UserPoints.Status.BLOCKED, at=timezone.now())

    outcome = run_during_transaction(
        lambda: accounts.lock(account=first.pk), block, lambda: accounts.lock(account=second.pk)
    )

    assert outcome == [first, second]


@pytest.fixture
def blocked_member(brand, customer):
    member = factories.account(customer, brand)
    accounts.set_status(accounts=[member], status=UserPoints.Status.BLOCKED, at=timezone.now())
    return member


def unblock(member):
    """Staff unblock the member on their page."""
    url = reverse("admin:loyalty_userpoints_unblock_one", args=[member.pk])
    return browser(staff(member.brand)).post(url, {"reason": "A mistake"}).status_code


@pytest.mark.parametrize("stays_elsewhere", [True, False])
def test_member_unblocked_during_their_erasure_stays_blocked(brand, customer, blocked_member, stays_elsewhere):
    if stays_elsewhere:
        accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())

    outcome = run_during_transaction(lambda: erase(customer, brand), lambda: unblock(blocked_member))

    blocked_member.refresh_from_db()
    assert (outcome, blocked_member.status) == (302, UserPoints.Status.BLOCKED)
