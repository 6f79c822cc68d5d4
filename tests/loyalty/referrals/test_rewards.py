"""Rewards of referrals: given to both sides once, after the friend's first action."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from brands.models.tenants import Brand
from events import worker
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.notifications import Notification, NotificationSettings
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from loyalty.models.webhooks import WebhookEndpoint
from loyalty.orders import releases
from loyalty.points import ledger, point_limits
from loyalty.programme import consistency as programme_consistency
from loyalty.programme import roll_forward, rollups
from loyalty.referrals import find
from tests.loyalty.referrals.conftest import states
from tests.support import factories, shop
from tests.support.referrals import balance, inconsistencies, programme, refer, referred_friend, scan, settle

pytestmark = pytest.mark.django_db


def test_both_members_get_points_after_the_friends_first_scan(brand, customer, terms):
    friend, referral = referred_friend(customer, brand)
    assert settle() == 0
    scan(friend, brand)

    assert [settle(), settle()] == [1, 0]
    assert (balance(customer, brand), balance(friend, brand)) == (100, 60)
    entries = LoyaltyTransaction.objects.filter(reason_id=f"referral:{referral.pk}").order_by("points_earned")
    assert [(entry.points_earned, entry.note) for entry in entries] == [
        (50, "You joined through a friend"),
        (100, "A friend joined"),
    ]
    referral.refresh_from_db()
    terms.refresh_from_db()
    assert (referral.state, referral.action, terms.points_rewarded) == ("rewarded", f"CODE{friend.pk}", 150)
    assert inconsistencies() == []


def test_second_action_is_not_rewarded(brand, customer, terms):
    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    settle()
    scan(friend, brand, "CODE2")

    assert settle() == 0
    assert balance(customer, brand) == 100


@pytest.mark.parametrize(
    ("action", "reason_id", "rewarded"),
    [
        ("scan", "CODE1", 100),
        ("scan", "order:A", 0),
        ("order", "CODE1", 0),
        ("order", "order:A", 100),
        ("either", "CODE1", 100),
        ("either", "order:A", 100),
        ("either", "login:2026-01-01", 0),
        ("either", "welcome:member", 0),
        ("either", "event:store-visit:1", 0),
    ],
)
def test_only_the_brands_chosen_first_action_is_rewarded(brand, customer, action, reason_id, rewarded):
    programme(brand, action=action)
    friend, _referral = referred_friend(customer, brand)
    factories.points(friend, brand, 10, reason_id=reason_id)
    settle()

    assert balance(customer, brand) == rewarded


def test_order_with_pending_points_is_rewarded_once_they_are_released(brand, customer, terms):
    Brand.objects.filter(pk=brand.pk).update(order_points="after_days", order_points_days=14)
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    friend, _referral = referred_friend(customer, brand)
    shop.buy(brand, friend)
    assert settle() == 0

    releases.catch_up(at=timezone.now() + timedelta(days=15))
    assert settle() == 1
    assert balance(customer, brand) == 100


def test_friend_may_get_no_points(brand, customer):
    programme(brand, friend_points=0)
    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    settle()

    assert (balance(customer, brand), balance(friend, brand)) == (100, 10)
    assert inconsistencies() == []


# --- Consequences


def test_reward_raises_the_level_and_notifies_both_members(brand, customer, terms):
    NotificationSettings.objects.create(brand=brand)
    factories.level(brand, "Gold", 100)
    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    settle()
    worker.drain(lane="notices")

    assert factories.account(customer, brand).current_level == "Gold"
    notifications = Notification.objects.filter(template="NOTIFY_CAMPAIGN_SUCCESS").values_list("user", "payload__note")
    assert sorted(notifications) == sorted(
        [(customer.pk, "A friend joined"), (friend.pk, "You joined through a friend")]
    )


def test_rewards_publish_webhook_events_for_both_members(brand, customer, terms):
    WebhookEndpoint.objects.create(brand=brand, url="https://hooks.example.com", types=["points.earned"])
    friend, referral = referred_friend(customer, brand)
    scan(friend, brand)
    settle()

    bodies = [event.detail["payload"]["data"] for event in Event.objects.filter(detail_type="announce")]
    assert sorted((body["user_id"], body["points_earned"]) for body in bodies) == sorted(
        [(customer.pk, 100), (friend.pk, 50)]
    )
    assert {body["cause"] for body in bodies} == {f"referral:{referral.pk}"}


def test_point_limits_neither_reduce_nor_count_rewards(brand, customer, terms):
    Brand.objects.filter(pk=brand.pk).update(daily_point_limit=20)
    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    settle()

    assert balance(customer, brand) == 100
    limit = point_limits.most_restrictive(
        account=factories.account(customer, brand).pk,
        zone=brand.zone,
        daily=Decimal(20),
        monthly=None,
        at=timezone.now(),
    )
    assert limit.used == 0


def test_roll_forward_counts_rewards_as_earned(brand, customer, friend_with_order):
    shop.return_order(brand, friend_with_order)
    worker.drain()
    month = rollups.month_of(brand.day_at(timezone.now()))
    [line] = roll_forward.months(brand=brand, first=month, last=month, at=timezone.now())

    assert (line.points["earned"], line.points["returned"], line.closing) == (160, 160, 0)
    rollups.catch_up(brand=brand, at=timezone.now() + timedelta(days=2))
    with connection.cursor() as cursor:
        for statement in programme_consistency.CHECKS.values():
            cursor.execute(statement)
            assert cursor.fetchall() == []


def test_consistency_checks_find_a_missing_entry_and_a_wrong_budget(brand, customer, terms):
    _friend, referral = referred_friend(customer, brand)
    Referral.objects.update(state="rewarded", rewarded_at=timezone.now(), referrer_points=100)
    ledger.credit(
        account=factories.account(customer, brand).pk,
        points=Decimal(7),
        reason_id="referral:999",
        note="",
        at=timezone.now(),
    )

    entry = LoyaltyTransaction.objects.get()
    assert set(inconsistencies()) == {
        ("referral is not what the ledger says", f"referral {referral.pk}"),
        ("referral is not what the ledger says", f"entry {entry.pk}"),
        ("referrals gave other points than their programme counted", f"referral programme of brand {brand.pk}"),
    }


def test_all_referrals_are_rewarded_over_several_limited_runs(brand, customer, terms, monkeypatch):
    monkeypatch.setattr(find, "MAX_SCANNED", 2)
    friends = [referred_friend(customer, brand)[0] for _number in range(5)]
    for friend in friends:
        scan(friend, brand)
    for _turn in range(60):
        settle()

    assert states() == [("rewarded", "")] * 5


def test_referrals_of_another_brand_are_independent(brand, customer, terms):
    other = factories.brand()
    programme(other)
    member = factories.customer(other)
    friend, _referral = referred_friend(member, other)
    scan(friend, other)
    ReferralProgramme.objects.filter(brand=other).update(is_active=False)

    assert settle() == 0
    assert refer(customer, factories.customer(brand), brand).state == "waiting"
