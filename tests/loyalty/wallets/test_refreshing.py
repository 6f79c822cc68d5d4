"""A changed balance is pushed to Apple devices: once per burst, and failed pushes are retried separately."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from brands.audit_log import AuditContext
from events import messages, publishing, worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.wallets import WalletDevice, WalletPass
from loyalty.points import adjustments
from loyalty.wallets import devices, handlers, passes
from tests.loyalty.wallets.conftest import on_device
from tests.support import factories
from tests.support.fakes import wallets


def adjust(account, points=10):
    audit_context = AuditContext(None, timezone.now(), "", "For you")
    adjustments.adjust(account=account, points=Decimal(points), key=uuid.uuid4(), audit_context=audit_context)


def points_of(account):
    return UserPoints.objects.get(pk=account.pk).points


def event_statuses(status=None):
    events = Event.objects.exclude(detail_type="notify").order_by("id")
    return list((events.filter(status=status) if status else events).values_list("detail_type", "status"))


@pytest.mark.parametrize("token", [True, False], ids=["with a token", "with the certificate"])
def test_scan_causes_a_push_to_the_device(brand, customer, account, apns, deliver_events, deliver_wallets, token):
    wallets.apple(brand, token=token)
    apns.accepts_tokens = token
    apple_pass = on_device(account, "phone", "aaaaaaaaaaaa")

    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    deliver_events()
    deliver_wallets()

    apple_pass.refresh_from_db()
    assert apns.tokens == ["aaaaaaaaaaaa"]
    assert (apns.pushes[0]["proof"] == "certificate") is not token
    assert (apple_pass.version, apple_pass.pushed_version, apple_pass.current_version) == (2, 2, 1)
    assert ("refresh-pass", "done") in event_statuses()


def test_balance_event_of_a_member_without_passes_is_ignored(brand, customer, deliver_events):
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    deliver_events()

    assert Event.objects.get(detail_type="balance-changed").status == "ignored"


def test_burst_of_changes_causes_one_push(apple_pass, account, apns, deliver_wallets):
    for _ in range(20):
        adjust(account)
    deliver_wallets()
    deliver_wallets()

    apple_pass.refresh_from_db()
    assert apns.tokens == ["aaaaaaaaaaaa"]
    assert (apple_pass.version, apple_pass.pushed_version) == (21, 21)
    assert Event.objects.filter(detail_type="refresh-pass").count() == 1


def test_change_after_a_push_causes_another_push(apple_pass, account, apns, deliver_wallets):
    adjust(account)
    deliver_wallets()
    adjust(account)
    deliver_wallets()

    assert apns.tokens == ["aaaaaaaaaaaa"] * 2


def test_change_during_a_push_causes_another_push(apple_pass, account, apns, deliver_wallets, monkeypatch):
    """The pass gets another version after its device was notified, and before that is stored."""
    push_to_apple = handlers.push_to_apple

    def push_and_change(wallet_pass, issuer):
        also = push_to_apple(wallet_pass, issuer)
        if wallet_pass.version == 2:
            following = passes.account_changed(account=account.pk, brand_id=account.brand_id, at=timezone.now())
            publishing.publish(messages=following, brand_id=account.brand_id, at=timezone.now())
        return also

    monkeypatch.setattr(handlers, "push_to_apple", push_and_change)
    adjust(account)
    deliver_wallets()
    deliver_wallets()

    apple_pass.refresh_from_db()
    assert apns.tokens == ["aaaaaaaaaaaa"] * 2
    assert (apple_pass.version, apple_pass.pushed_version) == (3, 3)


def test_device_is_notified_of_a_change_during_its_registration(brand, account, apns, deliver_wallets):
    wallets.apple(brand)
    issued, _new = passes.issue(account=account, platform="apple", at=timezone.now())
    passes.mark_downloaded(wallet_pass=issued)
    issued.refresh_from_db()  # as the request for the registration reads it
    adjust(account)
    deliver_wallets()
    assert apns.tokens == []

    devices.register(wallet_pass=issued, device="phone", push_token="aaaaaaaaaaaa", at=timezone.now())
    deliver_wallets()

    assert apns.tokens == ["aaaaaaaaaaaa"]


def test_refresh_waits_for_the_merge_seconds(apple_pass, account, settings):
    settings.WALLET_MERGE_SECONDS = 30
    adjust(account)
    worker.drain(lane="wallets")

    waiting = Event.objects.get(detail_type="refresh-pass")
    assert waiting.status == "pending"
    assert waiting.due_at > timezone.now() + timedelta(seconds=25)


@pytest.mark.parametrize("status", [410, 400])
def test_devices_that_apple_reports_as_gone_are_deleted(apple_pass, account, apns, deliver_wallets, status):
    on_device(account, "watch", "bbbbbbbbbbbb")
    apns.answer("aaaaaaaaaaaa", status, "Unregistered" if status == 410 else "BadDeviceToken")

    adjust(account)
    deliver_wallets()

    assert list(WalletDevice.objects.values_list("device", flat=True)) == ["watch"]
    assert apns.tokens == ["bbbbbbbbbbbb"]
    apple_pass.refresh_from_db()
    assert (apple_pass.state, apple_pass.pushed_version) == ("held", 2)


def test_pass_without_devices_is_marked_as_removed(apple_pass, account, apns, deliver_wallets):
    apns.answer("aaaaaaaaaaaa", 410, "Unregistered")

    adjust(account)
    deliver_wallets()

    apple_pass.refresh_from_db()
    assert apple_pass.state == "removed"


def test_device_that_registered_after_apples_timestamp_is_retained(apple_pass, account, apns, deliver_wallets):
    apns.answers["aaaaaaaaaaaa"] = [(410, {"reason": "Unregistered", "timestamp": 1_000_000}, {})]

    adjust(account)
    deliver_wallets()

    assert WalletDevice.objects.count() == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_only_the_failed_device_is_retried_after_a_temporary_error(apple_pass, account, apns, deliver_wallets, status):
    on_device(account, "watch", "bbbbbbbbbbbb")
    apns.answer("aaaaaaaaaaaa", status, "TooManyRequests", retry_after="7")

    adjust(account)
    points_before = points_of(account)
    deliver_wallets()

    waiting = Event.objects.get(detail_type="refresh-pass", status="pending")
    assert apns.tokens == ["bbbbbbbbbbbb"]
    assert 5 < (waiting.due_at - timezone.now()).total_seconds() <= 7
    apple_pass.refresh_from_db()
    assert str(status) in apple_pass.last_error
    deliver_wallets()
    apple_pass.refresh_from_db()
    assert apns.tokens == ["bbbbbbbbbbbb", "aaaaaaaaaaaa"]
    assert (apple_pass.pushed_version, apple_pass.last_error, points_of(account)) == (2, "", points_before)


def test_unreachable_apple_does_not_affect_the_points(
    apple_pass, brand, customer, account, settings, deliver_events, deliver_wallets
):
    settings.APNS_ADDRESS = "https://127.0.0.1:9"

    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    for _ in range(2):
        deliver_events()
        deliver_wallets()

    apple_pass.refresh_from_db()
    assert "ConnectError" in apple_pass.last_error
    assert event_statuses() == [("scan-auth", "done"), ("balance-changed", "done"), ("refresh-pass", "pending")]
    assert (points_of(account), LoyaltyTransaction.objects.count()) == (10, 1)


def test_event_delivered_twice_causes_one_push(apple_pass, account, apns, deliver_wallets):
    adjust(account)
    deliver_wallets()
    Event.objects.filter(detail_type="refresh-pass").update(status="pending", finished_at=None)
    deliver_wallets()

    assert apns.tokens == ["aaaaaaaaaaaa"]


def test_push_is_repeated_once_if_the_worker_was_killed_after_it(apple_pass, account, apns, deliver_wallets):
    """A push that was sent but not stored is repeated: at-least-once delivery."""
    adjust(account)
    worker.drain(lane="wallets")
    Event.objects.filter(detail_type="refresh-pass").update(status="pending", finished_at=None)
    WalletPass.objects.update(pushed_version=1, busy_until=timezone.now() - timedelta(seconds=1))

    deliver_wallets()

    apple_pass.refresh_from_db()
    assert (apple_pass.pushed_version, apple_pass.busy_until, apns.tokens) == (2, None, ["aaaaaaaaaaaa"])


def test_refresh_event_for_a_pass_of_another_brand_is_rejected(apple_pass, apns):
    foreign_brand = factories.brand()
    refresh_event = messages.NewEvent(
        kind="refresh-pass", payload={"pass_id": apple_pass.pk}, arguments={"brand_id": foreign_brand.pk}
    )
    balance_event = messages.NewEvent(
        kind="balance-changed",
        payload={"user_point_id": apple_pass.account_id},
        arguments={"brand_id": foreign_brand.pk},
    )
    publishing.publish(messages=[refresh_event, balance_event], brand_id=foreign_brand.pk, at=timezone.now())

    worker.drain(lane="wallets")

    apple_pass.refresh_from_db()
    assert (apple_pass.version, apns.pushes) == (1, [])
    assert ("refresh-pass", "refused") in event_statuses()


def issue(account):
    return passes.issue(account=account, platform="apple", at=timezone.now())


def issue_without_lock(account):
    """Create a pass without locking the account."""
    return WalletPass.objects.create(account=account, brand_id=account.brand_id, platform="apple", token="t" * 32)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("issue_pass", "status"), [(issue, "pending"), (issue_without_lock, "ignored")], ids=["guarded", "control"]
)
def test_pass_issued_during_an_accrual_gets_its_balance_event(brand, customer, account, issue_pass, status):
    """The accrual read that there is no pass and the pass read the old balance: one must notice the other."""
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    issued = []

    def issue_in_other_thread():
        try:
            return issue_pass(account)
        finally:
            connection.close()

    def issue_after_reading(execute, statement, *arguments):
        result = execute(statement, *arguments)
        if not issued and "loyalty_walletpass" in statement:
            issued.append(None)
            with ThreadPoolExecutor(1) as executor:
                executor.submit(issue_in_other_thread).result()
        return result

    with connection.execute_wrapper(issue_after_reading):
        worker.drain()

    assert issued
    assert points_of(account) == 10
    assert Event.objects.get(detail_type="balance-changed").status == status


@pytest.mark.django_db(transaction=True)
def test_pass_is_leased_to_one_worker_at_a_time(apple_pass, account, apns):
    adjust(account)
    worker.drain(lane="wallets")
    WalletPass.objects.update(pushed_version=0)
    lease = {"pass_id": apple_pass.pk, "brand_id": apple_pass.brand_id}

    with passes.leased(**lease) as first:
        assert first is not None
        with pytest.raises(messages.RetryLater), passes.leased(**lease):
            pass
    WalletPass.objects.update(busy_until=timezone.now())  # its worker was killed
    with passes.leased(**lease) as second:
        assert second is not None


@pytest.mark.django_db(transaction=True)
def test_only_unexpired_leases_are_renewed(apple_pass):
    pass_id, brand = apple_pass.pk, apple_pass.brand_id

    def busy_after_renewal(until):
        WalletPass.objects.update(busy_until=until)
        passes._renew([(pass_id, brand)])
        return WalletPass.objects.get().busy_until

    now = timezone.now()
    assert busy_after_renewal(now + timedelta(seconds=2)) > now + timedelta(seconds=6)
    assert busy_after_renewal(now - timedelta(seconds=1)) == now - timedelta(seconds=1)
    assert busy_after_renewal(None) is None


def test_refreshing_all_passes_repeatedly_pushes_once_to_each_device(brand, apns, deliver_wallets):
    wallets.apple(brand)
    for number in range(5):
        on_device(factories.account(factories.customer(brand), brand), f"phone-{number}", f"{number}" * 12)
    passes.issue(account=factories.account(factories.customer(brand), brand), platform="apple", at=timezone.now())

    for _ in range(3):
        assert passes.refresh_all(brand_id=brand.pk, at=timezone.now()) == 6
    deliver_wallets()

    assert sorted(apns.tokens) == [f"{number}" * 12 for number in range(5)]
