"""Blocking: staff block a member on the portal's page, and what the member holds elsewhere is worth nothing either."""

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


def test_passes_of_a_blocked_member_get_a_new_version_that_is_void(brand, account):
    held, _is_new = passes.issue(account=account, platform="google", at=timezone.now())

    for status, is_void in [(Status.BLOCKED, True), (Status.ACTIVE, False)]:
        before = WalletPass.objects.get(pk=held.pk).version
        set_status(status, UserPoints.objects.get())
        for delivery in leases.claim(limit=5, lane=messages.lane_of("balance-changed")):
            events.deliver(delivery)

        now = WalletPass.objects.get(pk=held.pk)
        assert (now.version, cards.card_of(now).voided) == (before + 1, is_void)


def test_without_a_pass_nobody_is_told(account):
    assert set_status(Status.BLOCKED, account) == [account]
    assert not Event.objects.exists()


def test_who_is_blocked_already_is_left_alone(brand, account):
    passes.issue(account=account, platform="google", at=timezone.now())
    other = factories.brand()
    elsewhere = factories.account(factories.customer(other), other)
    passes.issue(account=elsewhere, platform="google", at=timezone.now())
    set_status(Status.BLOCKED, account)
    account.refresh_from_db()

    changed = set_status(Status.BLOCKED, account, elsewhere)

    assert changed == [elsewhere]
    balance_events = Event.objects.filter(detail_type="balance-changed").order_by("pk")
    assert list(balance_events.values_list("brand", flat=True)) == [brand.pk, other.pk]
