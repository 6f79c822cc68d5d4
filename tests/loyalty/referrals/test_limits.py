"""Rewards of referrals end with limits, budgets, blocked members and time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from loyalty.notifications import preferences
from tests.loyalty.referrals.conftest import states
from tests.support.referrals import balance, contradictions, programme, referred, scan, settle

pytestmark = pytest.mark.django_db


# --- Limits


def test_a_member_is_rewarded_for_so_many_friends_a_month(brand, customer):
    programme(brand, monthly_limit=2)
    for _number in range(3):
        friend, _referral = referred(customer, brand)
        scan(friend, brand)
        settle()

    assert states() == [("rewarded", ""), ("rewarded", ""), ("rejected", "month")]
    assert balance(customer, brand) == 200
    assert contradictions() == []


def test_the_month_is_the_brand_s_and_begins_again(brand, customer):
    programme(brand, monthly_limit=1)
    friend, _referral = referred(customer, brand)
    scan(friend, brand)
    settle()
    Referral.objects.update(rewarded_at=timezone.now() - timedelta(days=32))
    friend, _referral = referred(customer, brand)
    scan(friend, brand)
    settle()

    assert states() == [("rewarded", ""), ("rewarded", "")]


def test_a_member_is_rewarded_for_so_many_friends_in_all(brand, customer):
    programme(brand, total_limit=1)
    for _number in range(2):
        friend, _referral = referred(customer, brand)
        scan(friend, brand)
        settle()
        Referral.objects.filter(state="rewarded").update(rewarded_at=timezone.now() - timedelta(days=32))

    assert states() == [("rewarded", ""), ("rejected", "total")]


def test_the_budget_is_not_exceeded_and_what_goes_back_is_in_it_again(brand, customer):
    terms = programme(brand, budget=299)
    for _number in range(2):
        friend, _referral = referred(customer, brand)
        scan(friend, brand)
        settle()

    assert states() == [("rewarded", ""), ("rejected", "budget")]
    terms.refresh_from_db()
    assert terms.points_rewarded == 150
    assert contradictions() == []


def test_a_budget_that_is_exactly_enough_is_used_up(brand, customer):
    programme(brand, budget=150)
    friend, _referral = referred(customer, brand)
    scan(friend, brand)
    settle()

    assert states() == [("rewarded", "")]


def test_blocked_members_get_nothing(brand, customer, terms):
    friend, _referral = referred(customer, brand)
    scan(friend, brand)
    UserPoints.objects.filter(user=customer).update(status="blocked")
    settle()

    assert states() == [("rejected", "blocked")]


def test_a_phone_that_was_entered_later_is_seen(brand, customer, terms):
    friend, _referral = referred(customer, brand)
    for person in (customer, friend):
        preferences.change(person.pk, brand.pk, at=timezone.now(), phone="+4930123456")
    scan(friend, brand)
    settle()

    assert states() == [("rejected", "phone")]


def test_where_addresses_must_be_confirmed_the_member_s_is_waited_for(brand, customer, terms):
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=True)
    type(customer).objects.filter(pk=customer.pk).update(email_verified_at=None)
    friend, _referral = referred(customer, brand)
    scan(friend, brand)
    assert settle() == 0
    type(customer).objects.filter(pk=customer.pk).update(email_verified_at=timezone.now())

    assert settle() == 1


def test_a_programme_that_is_off_pays_nothing_until_it_is_on_again(brand, customer, terms):
    friend, _referral = referred(customer, brand)
    scan(friend, brand)
    ReferralProgramme.objects.update(is_active=False)
    assert settle() == 0
    ReferralProgramme.objects.update(is_active=True)

    assert settle() == 1


def test_what_waits_too_long_lapses(brand, customer, terms):
    friend, _referral = referred(customer, brand)
    Referral.objects.update(created_at=timezone.now() - timedelta(days=91))
    settle()

    assert states() == [("lapsed", "")]
    scan(friend, brand)
    assert settle() == 0


def test_an_action_in_the_last_moment_counts(brand, customer, terms):
    friend, _referral = referred(customer, brand)
    Referral.objects.update(created_at=timezone.now() - timedelta(days=91))
    scan(friend, brand)

    assert settle() == 1
    assert states() == [("rewarded", "")]
