"""Blocking members, which also voids their wallet passes."""

import pytest
from django.utils import timezone

from events import delivery as events
from events import leases, messages
from events.models import Event
from loyalty.members import blocking
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletPass
from loyalty.wallets import cards, passes
from tests.support import factories

Status = UserPoints.Status


@pytest.fixture
def account(brand, customer):
    return factories.account(customer, brand)


def set_status(status, *accounts):
    return blocking.set_status(accounts=accounts, status=status, at=timezone.now())


def test_blocking_voids_passes_in_a_new_version_and_unblocking_restores_them(brand, account):
    wallet_pass, _is_new = passes.issue(account=account, platform="google", at=timezone.now())

    for status, is_void in [(Status.BLOCKED, True), (Status.ACTIVE, False)]:
        version_before = WalletPass.objects.get(pk=wallet_pass.pk).version
        set_status(status, UserPoints.objects.get())
        for leased_event in leases.claim(limit=5, lane=messages.lane_of("balance-changed")):
            events.deliver(leased_event)

        updated_pass = WalletPass.objects.get(pk=wallet_pass.pk)
        assert (updated_pass.version, cards.card_of(updated_pass).voided) == (version_before + 1, is_void)


def test_blocking_a_member_without_a_pass_publishes_no_event(account):
    assert set_status(Status.BLOCKED, account) == [account]
    assert not Event.objects.exists()


def test_blocking_skips_members_who_are_already_blocked(brand, account):
    passes.issue(account=account, platform="google", at=timezone.now())
    other_brand = factories.brand()
    other_account = factories.account(factories.customer(other_brand), other_brand)
    passes.issue(account=other_account, platform="google", at=timezone.now())
    set_status(Status.BLOCKED, account)
    account.refresh_from_db()

    changed = set_status(Status.BLOCKED, account, other_account)

    assert changed == [other_account]
    balance_events = Event.objects.filter(detail_type="balance-changed").order_by("pk")
    assert list(balance_events.values_list("brand", flat=True)) == [brand.pk, other_brand.pk]
