"""A changed balance reaches Apple's devices: once per burst, whatever fails tried again alone."""

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
from loyalty.models.wallets import WalletDevice, WalletIssuer, WalletPass
from loyalty.points import adjustments
from loyalty.wallets import errors, issuers, passes
from tests.loyalty.wallets.conftest import on_device
from tests.support import factories
from tests.support.fakes import wallets


def adjust(account, points=10):
    deed = AuditContext(None, timezone.now(), "", "For you")
    adjustments.adjust(account=account, points=Decimal(points), key=uuid.uuid4(), audit_context=deed)


def points_of(account):
    return UserPoints.objects.get(pk=account.pk).points


def kinds(status=None):
    found = Event.objects.exclude(detail_type="notify").order_by("id")
    return list((found.filter(status=status) if status else found).values_list("detail_type", "status"))


@pytest.mark.parametrize("token", [True, False], ids=["with a token", "with the certificate"])
def test_a_scan_pushes_to_the_device(brand, customer, account, apns, deliver, deliver_wallets, token):
    wallets.apple(brand, token=token)
    apns.accepts_tokens = token
    held = on_device(account, "phone", "aaaaaaaaaaaa")

    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    deliver()
    deliver_wallets()

    held.refresh_from_db()
    assert apns.tokens == ["aaaaaaaaaaaa"]
    assert (apns.pushes[0]["proof"] == "certificate") is not token
    assert (held.version, held.pushed_version, held.current_version) == (2, 2, 1)
    assert ("refresh-pass", "done") in kinds()


def test_member_without_passes_causes_no_work(brand, customer, deliver):
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    deliver()

    assert Event.objects.get(detail_type="balance-changed").status == "ignored"


def test_a_burst_of_changes_is_one_push(held, account, apns, deliver_wallets):
    for _ in range(20):
        adjust(account)
    deliver_wallets()
    deliver_wallets()

    held.refresh_from_db()
    assert apns.tokens == ["aaaaaaaaaaaa"]
    assert (held.version, held.pushed_version) == (21, 21)
    assert Event.objects.filter(detail_type="refresh-pass").count() == 1


def test_a_change_during_the_push_is_another_one(held, account, apns, deliver_wallets):
    adjust(account)
    deliver_wallets()
    adjust(account)
    deliver_wallets()

    assert apns.tokens == ["aaaaaaaaaaaa"] * 2


def test_an_update_is_tried_for_the_merging_seconds_later(held, account, settings):
    settings.WALLET_MERGE_SECONDS = 30
    adjust(account)
    worker.drain(lane="wallets")

    waiting = Event.objects.get(detail_type="refresh-pass")
    assert waiting.status == "pending"
    assert waiting.due_at > timezone.now() + timedelta(seconds=25)


@pytest.mark.parametrize("status", [410, 400])
def test_dead_devices_are_forgotten(held, account, apns, deliver_wallets, status):
    on_device(account, "watch", "bbbbbbbbbbbb")
    apns.answer("aaaaaaaaaaaa", status, "Unregistered" if status == 410 else "BadDeviceToken")

    adjust(account)
    deliver_wallets()

    assert list(WalletDevice.objects.values_list("device", flat=True)) == ["watch"]
    assert apns.tokens == ["bbbbbbbbbbbb"]
    held.refresh_from_db()
    assert (held.state, held.pushed_version) == ("held", 2)


def test_pass_that_no_device_holds_any_more_is_removed(held, account, apns, deliver_wallets):
    apns.answer("aaaaaaaaaaaa", 410, "Unregistered")

    adjust(account)
    deliver_wallets()

    held.refresh_from_db()
    assert held.state == "removed"


def test_device_that_came_back_after_apple_knew_of_it_is_kept(held, account, apns, deliver_wallets):
    apns.answers["aaaaaaaaaaaa"] = [(410, {"reason": "Unregistered", "timestamp": 1_000_000}, {})]

    adjust(account)
    deliver_wallets()

    assert WalletDevice.objects.count() == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_apple_cannot_take_now_is_tried_again_alone(held, account, apns, deliver_wallets, status):
    on_device(account, "watch", "bbbbbbbbbbbb")
    apns.answer("aaaaaaaaaaaa", status, "TooManyRequests", retry_after="7")

    adjust(account)
    before = points_of(account)
    deliver_wallets()

    waiting = Event.objects.get(detail_type="refresh-pass", status="pending")
    assert apns.tokens == ["bbbbbbbbbbbb"]
    assert 5 < (waiting.due_at - timezone.now()).total_seconds() <= 7
    held.refresh_from_db()
    assert str(status) in held.last_error
    deliver_wallets()
    held.refresh_from_db()
    assert apns.tokens == ["bbbbbbbbbbbb", "aaaaaaaaaaaa"]
    assert (held.pushed_version, held.last_error, points_of(account)) == (2, "", before)


def test_refused_key_is_told_to_staff_and_tried_again(held, account, apns, deliver_wallets):
    WalletIssuer.objects.update(push_key_id="OTHERKEY12", push_key=wallets.pem(wallets.ec_key("other")).decode())

    adjust(account)
    deliver_wallets()

    assert "InvalidProviderToken" in WalletIssuer.objects.get().last_error
    assert ("refresh-pass", "pending") in kinds()
    assert WalletDevice.objects.count() == 1
    WalletIssuer.objects.update(push_key="", push_key_id="")
    deliver_wallets()
    assert (WalletIssuer.objects.get().last_error, apns.tokens) == ("", ["aaaaaaaaaaaa"])


def test_apple_away_leaves_the_points_alone(held, account, settings, deliver_wallets):
    settings.APNS_ADDRESS = "https://127.0.0.1:9"

    adjust(account, 25)
    deliver_wallets()

    held.refresh_from_db()
    assert points_of(account) == 25
    assert "ConnectError" in held.last_error
    assert ("refresh-pass", "pending") in kinds()


def test_ended_certificate_is_a_final_answer_and_no_loop(held, account, apns, deliver_wallets, brand):
    WalletIssuer.objects.update(expires_at=timezone.now() - timedelta(hours=1))

    adjust(account)
    deliver_wallets()

    event = Event.objects.get(detail_type="refresh-pass")
    assert (event.status, event.outcome["error"], event.outcome["details"]) == (
        "refused",
        "WALLET_UNAVAILABLE",
        {"reason": "expired"},
    )
    held.refresh_from_db()
    assert "expired" in held.last_error
    wallets.apple(brand)
    assert passes.refresh_all(brand_id=brand.pk, behind=True, at=timezone.now()) == 1
    deliver_wallets()
    assert apns.tokens == ["aaaaaaaaaaaa"]


def test_lost_storage_secret_is_a_final_answer(held, account, deliver_wallets, settings):
    adjust(account)
    settings.STORAGE_SECRETS = {2: "t" * 32}
    deliver_wallets()

    with pytest.raises(errors.WalletUnavailable) as refusal:
        issuers.usable(brand_id=account.brand_id, platform="apple", at=timezone.now())
    assert refusal.value.details == {"reason": "unreadable"}


def test_an_update_done_twice_pushes_once(held, account, apns, deliver_wallets):
    adjust(account)
    deliver_wallets()
    Event.objects.filter(detail_type="refresh-pass").update(status="pending", finished_at=None)
    deliver_wallets()

    assert apns.tokens == ["aaaaaaaaaaaa"]


def test_worker_killed_after_the_push_says_it_again_and_no_more(held, account, apns, deliver_wallets):
    """What Apple heard but nobody wrote down is said at least once; the devices come to one state."""
    adjust(account)
    worker.drain(lane="wallets")
    Event.objects.filter(detail_type="refresh-pass").update(status="pending", finished_at=None)
    WalletPass.objects.update(pushed_version=1, busy_until=timezone.now() - timedelta(seconds=1))

    deliver_wallets()

    held.refresh_from_db()
    assert (held.pushed_version, held.busy_until, apns.tokens) == (2, None, ["aaaaaaaaaaaa"])


@pytest.mark.parametrize("payload", [{}, {"pass_id": "1"}, {"pass_id": True}, {"pass_id": 2**70}, {"pass_id": -1}])
def test_update_of_no_pass_is_refused(brand, payload):
    message = messages.NewEvent(kind="refresh-pass", payload=payload, arguments={"brand_id": brand.pk})
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())

    worker.drain(lane="wallets")

    assert kinds() == [("refresh-pass", "refused")]


def test_update_of_another_brands_pass_is_refused(held, apns):
    stranger = factories.brand()
    message = messages.NewEvent(kind="refresh-pass", payload={"pass_id": held.pk}, arguments={"brand_id": stranger.pk})
    changed = messages.NewEvent(
        kind="balance-changed", payload={"user_point_id": held.account_id}, arguments={"brand_id": stranger.pk}
    )
    publishing.publish(messages=[message, changed], brand_id=stranger.pk, at=timezone.now())

    worker.drain(lane="wallets")

    held.refresh_from_db()
    assert (held.version, apns.pushes) == (1, [])
    assert ("refresh-pass", "refused") in kinds()


def issue(account):
    return passes.issue(account=account, platform="apple", at=timezone.now())


def issue_unseen(account):
    """As it would be without touching the account."""
    return WalletPass.objects.create(account=account, brand_id=account.brand_id, platform="apple", token="t" * 32)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("how", "status"), [(issue, "pending"), (issue_unseen, "ignored")], ids=["guarded", "control"])
def test_a_pass_made_during_an_accrual_is_not_forgotten(brand, customer, account, how, status):
    """The accrual has read that there is no pass, and the pass has read the old balance: one of them must see."""
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    made = []

    def elsewhere():
        try:
            return how(account)
        finally:
            connection.close()

    def after_the_facts(execute, statement, *more):
        done = execute(statement, *more)
        if not made and "loyalty_walletpass" in statement:
            made.append(None)
            with ThreadPoolExecutor(1) as other:
                other.submit(elsewhere).result()
        return done

    with connection.execute_wrapper(after_the_facts):
        worker.drain()

    assert made
    assert points_of(account) == 10
    assert Event.objects.get(detail_type="balance-changed").status == status


@pytest.mark.django_db(transaction=True)
def test_two_workers_never_talk_about_a_pass_at_once(held, account, apns):
    adjust(account)
    worker.drain(lane="wallets")
    WalletPass.objects.update(pushed_version=0)
    its = {"pass_id": held.pk, "brand_id": held.brand_id}

    with passes.leased(**its) as first:
        assert first is not None
        with pytest.raises(messages.RetryLater), passes.leased(**its):
            pass
    WalletPass.objects.update(busy_until=timezone.now())  # who had it was killed
    with passes.leased(**its) as again:
        assert again is not None


@pytest.mark.django_db(transaction=True)
def test_what_is_renewed_is_what_still_is_ones_own(held):
    its, brand = held.pk, held.brand_id

    def busy_after_renewal(until):
        WalletPass.objects.update(busy_until=until)
        passes._renew([(its, brand)])
        return WalletPass.objects.get().busy_until

    now = timezone.now()
    assert busy_after_renewal(now + timedelta(seconds=2)) > now + timedelta(seconds=6)
    assert busy_after_renewal(now - timedelta(seconds=1)) == now - timedelta(seconds=1)
    assert busy_after_renewal(None) is None


def test_refreshing_all_passes_of_a_brand_is_one_update_each(brand, apns, deliver_wallets):
    wallets.apple(brand)
    for number in range(5):
        on_device(factories.account(factories.customer(brand), brand), f"phone-{number}", f"{number}" * 12)
    passes.issue(account=factories.account(factories.customer(brand), brand), platform="apple", at=timezone.now())

    for _ in range(3):
        assert passes.refresh_all(brand_id=brand.pk, at=timezone.now()) == 6
    deliver_wallets()

    assert sorted(apns.tokens) == [f"{number}" * 12 for number in range(5)]
