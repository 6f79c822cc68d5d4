"""Rewards of referrals are limited by count, budget, blocked members and time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from loyalty.notifications import preferences
from tests.loyalty.referrals.conftest import states
from tests.support import factories, shop
from tests.support.referrals import balance, inconsistencies, programme, referred_friend, scan, settle

pytestmark = pytest.mark.django_db


def test_monthly_limit_rejects_further_friends(brand, customer):
    programme(brand, monthly_limit=2)
    for _number in range(3):
        friend, _referral = referred_friend(customer, brand)
        scan(friend, brand)
        settle()

    assert states() == [("rewarded", ""), ("rewarded", ""), ("rejected", "month")]
    assert balance(customer, brand) == 200
    assert inconsistencies() == []


def test_monthly_limit_resets_in_the_next_month(brand, customer):
    programme(brand, monthly_limit=1)
    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    settle()
    Referral.objects.update(rewarded_at=timezone.now() - timedelta(days=32))
    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    settle()

    assert states() == [("rewarded", ""), ("rewarded", "")]


def test_total_limit_rejects_further_friends(brand, customer):
    programme(brand, total_limit=1)
    for _number in range(2):
        friend, _referral = referred_friend(customer, brand)
        scan(friend, brand)
        settle()
        Referral.objects.filter(state="rewarded").update(rewarded_at=timezone.now() - timedelta(days=32))

    assert states() == [("rewarded", ""), ("rejected", "total")]


def test_referral_that_exceeds_the_budget_is_rejected(brand, customer):
    terms = programme(brand, budget=299)
    for _number in range(2):
        friend, _referral = referred_friend(customer, brand)
        scan(friend, brand)
        settle()

    assert states() == [("rewarded", ""), ("rejected", "budget")]
    terms.refresh_from_db()
    assert terms.points_rewarded == 150
    assert inconsistencies() == []


def test_reversed_points_are_available_in_the_budget_again(brand, customer):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    terms = programme(brand, budget=150)
    first, _referral = referred_friend(customer, brand)
    shop.buy(brand, first)
    settle()
    shop.return_order(brand, first)
    terms.refresh_from_db()
    assert terms.points_rewarded == 0

    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    settle()

    assert states() == [("reversed", "return"), ("rewarded", "")]
    terms.refresh_from_db()
    assert terms.points_rewarded == 150
    assert inconsistencies() == []


def test_budget_can_be_used_up_exactly(brand, customer):
    programme(brand, budget=150)
    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    settle()

    assert states() == [("rewarded", "")]


def test_blocked_referrer_gets_no_reward(brand, customer, terms):
    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    UserPoints.objects.filter(user=customer).update(status="blocked")
    settle()

    assert states() == [("rejected", "blocked")]


def test_same_phone_number_entered_later_rejects_the_referral(brand, customer, terms):
    friend, _referral = referred_friend(customer, brand)
    for member in (customer, friend):
        preferences.change(member.pk, brand.pk, at=timezone.now(), phone="+4930123456")
    scan(friend, brand)
    settle()

    assert states() == [("rejected", "phone")]


def test_referral_waits_for_a_required_confirmed_email_address(brand, customer, terms):
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=True)
    type(customer).objects.filter(pk=customer.pk).update(email_verified_at=None)
    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    assert settle() == 0
    type(customer).objects.filter(pk=customer.pk).update(email_verified_at=timezone.now())

    assert settle() == 1


def test_inactive_programme_rewards_nothing_until_it_is_active_again(brand, customer, terms):
    friend, _referral = referred_friend(customer, brand)
    scan(friend, brand)
    ReferralProgramme.objects.update(is_active=False)
    assert settle() == 0
    ReferralProgramme.objects.update(is_active=True)

    assert settle() == 1


def test_referral_that_waits_too_long_lapses(brand, customer, terms):
    friend, _referral = referred_friend(customer, brand)
    Referral.objects.update(created_at=timezone.now() - timedelta(days=91))
    settle()

    assert states() == [("lapsed", "")]
    scan(friend, brand)
    assert settle() == 0


def test_first_action_before_the_referral_lapses_is_rewarded(brand, customer, terms):
    friend, _referral = referred_friend(customer, brand)
    Referral.objects.update(created_at=timezone.now() - timedelta(days=91))
    scan(friend, brand)

    assert settle() == 1
    assert states() == [("rewarded", "")]
