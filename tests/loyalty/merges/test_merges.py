"""Merging two accounts: the ledger moves everything over once, and the undo brings it back."""

import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone, translation

from brands.models.audit import AuditLogEntry
from brands.models.people import User
from core.errors import IdempotencyKeyReused, Invalid
from events.models import Event
from loyalty.errors import MergeNotPossible, MergeUndoNotPossible
from loyalty.merges import merge as merging
from loyalty.models.accounts import OpeningBalance, UserPoints
from loyalty.models.ledger import AccountMerge, LoyaltyTransaction
from loyalty.models.rewards import Redemption
from loyalty.models.wallets import WalletPass
from loyalty.models.webhooks import WebhookEndpoint
from loyalty.points import ledger, transfers
from loyalty.programme import consistency as books
from loyalty.programme import roll_forward, rollups
from loyalty.rewards import cancellation, till
from loyalty.rewards.grants import grant_reward
from loyalty.wallets import passes
from tests.loyalty.merges.conftest import context, merge_accounts, undo_merge
from tests.support import factories, shop

pytestmark = pytest.mark.django_db

FIELDS = (
    "points",
    "points_earned",
    "points_redeemed",
    "points_expired",
    "points_returned",
    "points_reversed",
    "points_received",
    "points_owed",
    "points_pending",
    "current_level",
    "status",
    "merged_into_id",
    "merged_from",
)


def state(brand, *members):
    """The fields of the accounts; fails if the accounts and the ledger contradict each other."""
    assert shop.inconsistencies() == []
    rows = UserPoints.objects.filter(brand=brand, user__in=members).order_by("pk")
    return [tuple(getattr(row, name) for name in FIELDS) for row in rows]


def create_history(brand, member):
    """Lets the member earn, redeem, cancel a redemption, and send and receive transfers."""
    factories.points(member, brand, 100)
    reward = factories.reward(brand, cost=15)
    factories.redemption(member, reward)
    cancellation.cancel(redemption=factories.redemption(member, reward), audit_context=context())
    account = factories.account(member, brand)
    friend = factories.account(factories.customer(brand), brand)
    factories.points(friend.user, brand, 20)
    for sender, receiver, points in ((account, friend, 5), (friend, account, 7)):
        request = transfers.TransferRequest(
            brand.pk, sender.user_id, receiver.pk, Decimal(points), uuid.uuid4(), timezone.now()
        )
        transfers.transfer(request)


@pytest.fixture
def brand(brand):
    brand.transfers_allowed, brand.transfer_daily_limit = True, 1000
    brand.save()
    return brand


def test_merge_moves_all_amounts_exactly(brand, target, source):
    factories.points(target, brand, "12.50")
    create_history(brand, source)
    before = factories.account(target, brand), factories.account(source, brand)

    account_merge = merge_accounts(brand, target, source)

    after, ended = factories.account(target, brand), factories.account(source, brand)
    assert shop.inconsistencies() == []
    for name in FIELDS[:9]:
        assert getattr(after, name) == getattr(before[0], name) + getattr(before[1], name), name
        assert getattr(ended, name) == 0
    assert (after.lifetime, after.redeemed) == (
        before[0].lifetime + before[1].lifetime,
        before[0].redeemed + before[1].redeemed,
    )
    assert (ended.status, ended.merged_into_id, after.merged_from) == ("merged", after.pk, [ended.pk])
    entries = LoyaltyTransaction.objects.filter(reason="merged").order_by("points_earned")
    assert [(entry.reason_id, entry.change, entry.note) for entry in entries] == [
        (f"merge-out:{account_merge.pk}", -before[1].points, "Moved to another account of yours"),
        (f"merge-in:{account_merge.pk}", before[1].points, "From another account of yours"),
    ]


def test_undo_restores_both_accounts(brand, target, source):
    factories.level(brand, "Gold", 110)
    factories.points(target, brand, "12.50")
    create_history(brand, source)
    before = state(brand, target, source)

    account_merge = merge_accounts(brand, target, source)
    assert factories.account(target, brand).current_level == "Gold"
    factories.points(target, brand, 3)
    undo_merge(account_merge)

    factories.points(target, brand, 0)
    after = state(brand, target, source)
    assert after[1] == before[1]
    assert after[0] == (before[0][0] + 3, before[0][1] + 3, *before[0][2:])
    assert undo_merge(account_merge).undone_at == AccountMerge.objects.get().undone_at
    assert LoyaltyTransaction.objects.filter(reason="merged").count() == 4


def test_accounts_can_be_merged_again_after_an_undo(brand, target, source):
    factories.points(source, brand, 10)
    undo_merge(merge_accounts(brand, target, source))

    merge_accounts(brand, source, target)

    assert [row[0] for row in state(brand, target, source)] == [0, 10]


def test_same_idempotency_key_merges_once(brand, target, source):
    factories.points(source, brand, 10)
    key = uuid.uuid4()

    assert merge_accounts(brand, target, source, key=key) == merge_accounts(brand, target, source, key=key)
    with pytest.raises(IdempotencyKeyReused):
        merge_accounts(brand, target, factories.customer(brand), key=key)
    assert factories.account(target, brand).points == 10


def test_points_owed_by_one_account_are_settled_from_the_other(brand, target, source):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    shop.buy(brand, source, subtotal="100.00")
    factories.redemption(source, factories.reward(brand, cost=10))
    shop.return_order(brand, source)
    factories.points(target, brand, 4)
    assert shop.point_totals(brand, source) == (0, 0, 10)
    preview = merging.preview(target=factories.account(target, brand), source=factories.account(source, brand))

    account_merge = merge_accounts(brand, target, source)

    assert shop.point_totals(brand, target) == (0, 0, 6) == (preview.balance, preview.pending, preview.owed)
    assert shop.point_totals(brand, source) == (0, 0, 0)
    assert (account_merge.settled, factories.account(target, brand).lifetime) == (4, preview.lifetime)
    with pytest.raises(MergeUndoNotPossible, match="settled points owed"):
        undo_merge(account_merge)


def merge_error(brand, target, source):
    with pytest.raises(MergeNotPossible) as error:
        merge_accounts(brand, target, source)
    assert not AccountMerge.objects.exists()
    assert not LoyaltyTransaction.objects.filter(reason="merged").exists()
    return str(error.value.message)


def test_impossible_merges_are_rejected_with_the_cause(brand, target, source):
    assert "the same account" in merge_error(brand, target, target)
    other_brand = factories.brand()
    foreign_account = factories.account(factories.customer(other_brand), other_brand)
    with pytest.raises(MergeNotPossible, match="different brands"):
        merging.merge(
            target=factories.account(target, brand), source=foreign_account, key=uuid.uuid4(), audit_context=context()
        )
    with pytest.raises(Invalid, match="Enter a reason"):
        merging.merge(
            target=factories.account(target, brand),
            source=factories.account(source, brand),
            key=uuid.uuid4(),
            audit_context=context(" "),
        )
    OpeningBalance.objects.create(brand=brand, user=source, reason_id="opening:x", points=5)
    assert "are waiting for a confirmed address" in merge_error(brand, target, source)
    OpeningBalance.objects.all().delete()
    UserPoints.objects.filter(user=source).update(status="blocked")
    assert "is blocked. Unblock" in merge_error(brand, target, source)
    assert "is blocked. Unblock" in merge_error(brand, source, target)
    UserPoints.objects.filter(user=source).update(status="active")
    User.objects.filter(pk=source.pk).update(is_staff=True)
    assert "cannot be merged" in merge_error(brand, source, target)
    User.objects.filter(pk=source.pk).update(is_staff=False, is_active=False)
    assert "was erased" in merge_error(brand, target, source)
    ledger.credit(
        account=factories.account(target, brand).pk,
        points=Decimal("99999999"),
        reason_id="a",
        note="",
        at=timezone.now(),
    )
    factories.points(target, brand, 10)
    assert "too many points" in merge_error(brand, factories.customer(brand), target)


def test_merged_account_cannot_be_merged_again(brand, target, source):
    third = factories.customer(brand)
    merge_accounts(brand, target, source)

    for pair in ((third, source), (source, third)):
        with pytest.raises(MergeNotPossible, match="already merged into another account"):
            merge_accounts(brand, *pair)
    with pytest.raises(MergeNotPossible, match="Keep this account"):
        merge_accounts(brand, third, target)
    merge_accounts(brand, target, third)
    assert factories.account(target, brand).merged_from == [
        factories.account(source, brand).pk,
        factories.account(third, brand).pk,
    ]
    assert shop.inconsistencies() == []


def test_undo_is_rejected_if_points_are_missing_or_after_one_day(brand, target, source):
    factories.points(source, brand, 10)
    account_merge = merge_accounts(brand, target, source)
    factories.redemption(target, factories.reward(brand, cost=4))
    before = state(brand, target, source)

    with pytest.raises(MergeUndoNotPossible, match=r"4\.00 points that would go back are missing"):
        undo_merge(account_merge)
    with translation.override("de"), pytest.raises(MergeUndoNotPossible, match="4,00"):
        undo_merge(account_merge)
    assert state(brand, target, source) == before
    factories.points(target, brand, 4)
    with pytest.raises(MergeUndoNotPossible, match="for one day"):
        undo_merge(account_merge, at=account_merge.created_at + timedelta(days=1))
    undo_merge(account_merge, at=account_merge.created_at + timedelta(hours=23))
    assert [row[0] for row in state(brand, target, source)] == [0, 10]


def test_redemption_codes_move_to_the_target_and_stay_valid(brand, target, source):
    factories.points(source, brand, 30)
    reward = factories.reward(brand, cost=10)
    first, second = (factories.redemption(source, reward) for _ in range(2))
    account_merge = merge_accounts(brand, target, source)
    for each in (first, second):
        each.refresh_from_db()

    assert first.user_point == factories.account(target, brand)
    till.use(redemption=first, at=timezone.now(), request=uuid.uuid4())
    cancellation.cancel(redemption=second, audit_context=context())
    assert factories.account(target, brand).points == 20
    assert shop.inconsistencies() == []
    with pytest.raises(MergeUndoNotPossible, match="redemption of the ended account has been cancelled"):
        undo_merge(account_merge)


def test_reward_granted_to_both_accounts_can_be_used_twice(brand, target, source):
    milestone = factories.milestone(factories.campaign(brand), 1, reward_name="Mug")
    for member in (target, source):
        grant_reward(account=factories.account(member, brand), milestone_id=milestone.pk, name="Mug", at=timezone.now())
        Redemption.objects.filter(user_point__user=member).update(request_key=uuid.uuid4())
    merge_accounts(brand, target, source)

    for redemption in Redemption.objects.all():
        assert till.use(redemption=redemption, at=timezone.now(), request=uuid.uuid4()).status == "used"


def test_merged_points_expire_at_their_original_age(brand, target, source):
    now = timezone.now()
    factories.points(source, brand, 30, at=now - timedelta(days=500))
    factories.points(source, brand, 20, at=now - timedelta(days=10))
    factories.points(target, brand, 5, at=now - timedelta(days=10))
    merge_accounts(brand, target, source)

    account = factories.account(target, brand)
    [expired] = ledger.expire(
        accounts=[account.pk], retained_from=now - timedelta(days=365), reason_id="expire:x", note="", at=now
    )

    assert (expired.points, expired.balance) == (30, 25)


def test_roll_forward_balances_with_merges(brand, target, source):
    factories.points(target, brand, "50.50")
    factories.points(source, brand, "30.25")
    factories.redemption(source, factories.reward(brand, cost=10))
    account_merge = merge_accounts(brand, target, source)
    month = rollups.month_of(timezone.now().astimezone(brand.zone).date())

    [month_line] = roll_forward.months(brand=brand, first=month, last=month, at=timezone.now())

    assert (month_line.points["merged_in"], month_line.points["merged_out"]) == (Decimal("20.25"), Decimal("20.25"))
    assert month_line.closing == Decimal("70.75") == factories.account(target, brand).points
    undo_merge(account_merge)
    [month_line] = roll_forward.months(brand=brand, first=month, last=month, at=timezone.now())
    assert month_line.closing == Decimal("70.75")
    rollups.catch_up(brand=brand, at=timezone.now() + timedelta(days=2))
    assert [row for check in books.CHECKS.values() for row in rows_of(check)] == []


def rows_of(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


def test_consistency_checks_detect_a_tampered_merge(brand, target, source):
    factories.points(source, brand, 10)
    account_merge = merge_accounts(brand, target, source)
    AccountMerge.objects.filter(pk=account_merge.pk).update(carried={**account_merge.carried, "earned": "11"})
    assert [row[:2] for row in shop.inconsistencies()] == [
        ("merge is not what ledger and accounts say", f"merge {account_merge.pk}")
    ]
    AccountMerge.objects.filter(pk=account_merge.pk).update(carried=account_merge.carried)
    account = factories.account(target, brand)
    UserPoints.objects.filter(pk=account.pk).update(merged_from=None)
    assert {row[0] for row in shop.inconsistencies()} == {"merge is not what ledger and accounts say"}


def test_merge_and_undo_are_published_and_audited(brand, target, source):
    passes.issue(account=factories.account(source, brand), platform="google", at=timezone.now())
    WebhookEndpoint.objects.create(
        brand=brand, url="https://a.example/", secret="s" * 40, types=["member.merged", "member.unmerged"]
    )
    factories.points(source, brand, 10)
    account_merge = merge_accounts(brand, target, source)
    undo_merge(account_merge)

    payloads = [each.detail["payload"] for each in Event.objects.filter(detail_type="announce").order_by("pk")]
    assert [each["type"] for each in payloads] == ["member.merged", "member.unmerged"]
    assert [(each["data"]["user_id"], each["data"]["merged_user_id"]) for each in payloads] == [
        (target.pk, source.pk)
    ] * 2
    assert [each["data"]["new_balance"] for each in payloads] == [10, 0]
    assert WalletPass.objects.get().account.user == source
    balance_events = Event.objects.filter(detail_type="balance-changed", detail__payload__cause__startswith="merge:")
    assert balance_events.count() == 4
    audit_entries = AuditLogEntry.objects.filter(brand=brand, action__in=["Accounts merged", "Merge undone"])
    assert [each.reason for each in audit_entries.order_by("pk")] == ["One person"] * 2 + ["A mistake"] * 2
