"""Limits and budgets of rules: of a member, of a rule, and of the brand."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.staff_login.models import StaffMail
from campaigns.earning import budgets
from campaigns.models.earning_rules import EarningRule, EarningRuleBudgetUse, EarningRuleUse
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points.explanations import texts_of
from tests.campaigns.earning.earning_rules import earned, limit, rule, scan, scanned
from tests.support import factories
from tests.support.portal import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    """Whose scans are worth one point."""
    brand.levels.update(scan_reward_value=1)
    return brand


def test_a_member_s_limit_lasts_for_its_period(brand, customer):
    rule(
        brand,
        value=10,
        effect="bonus",
        limits=[limit(period="day", most=15), limit(what="events", period="month", most=3)],
    )

    assert [scan(brand, customer) for _ in range(3)] == [11, 6, 1]
    EarningRuleUse.objects.filter(period="day").update(started=timezone.now().date() - timedelta(days=3))
    assert [scan(brand, customer) for _ in range(2)] == [11, 1]
    assert scan(brand, factories.customer(brand)) == 11


def test_a_rule_out_of_budget_gives_the_rest_and_then_nothing(brand, customer):
    made = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=25)])

    assert [scan(brand, customer) for _ in range(4)] == [11, 11, 6, 1]
    budget = EarningRuleBudgetUse.objects.get(rule=made)
    assert (budget.points, budget.events) == (25, 3)
    assert budget.used_up_at
    assert texts_of(LoyaltyTransaction.objects.latest("pk").details, "en")[1] == (
        "bonus 10: 0 (all that there was to give has been given)"
    )


def test_owners_hear_once_that_a_budget_is_used_up(brand, customer):
    owner = staff(brand, role="owner", email="olivia@example.com")
    made = rule(brand, value=10, effect="bonus", name="Ten", limits=[limit("rule", most=5)])
    scan(brand, customer)

    notified_counts = [budgets.notify_used_up(at=timezone.now()) for _ in range(2)]

    assert notified_counts == [1, 0]
    [mail] = StaffMail.objects.filter(user=owner, kind="budget")
    assert "“Ten” has given 5 points, 1 time." in mail.text
    EarningRule.objects.filter(pk=made.pk).update(limits=[limit("rule", most=50)])
    assert EarningRuleBudgetUse.objects.get(rule=made).used_up_at is None
    assert scan(brand, customer) == 11


def test_a_brand_with_many_budgets_used_up_keeps_nobody_elses_owners_waiting(brand, customer, monkeypatch):
    monkeypatch.setattr(budgets, "MAX_PER_DAY", 2)
    monkeypatch.setattr(budgets, "AT_ONCE", 3)
    other = factories.brand()
    for informed in (brand, other):
        staff(informed, role="owner", email=f"owner-of-{informed.slug}@example.com")
    now = timezone.now()
    for owning, number in ((brand, 4), (other, 1)):
        for each in range(number):
            made = rule(owning, value=10, effect="bonus", name=f"Bonus {each}", limits=[limit("rule", most=5)])
            values = {"points": 5, "used_up_at": now}
            EarningRuleBudgetUse.objects.update_or_create(rule=made, defaults=values)

    assert [budgets.notify_used_up(at=now) for _ in range(2)] == [3, 0]
    assert StaffMail.objects.filter(kind="budget", user__email=f"owner-of-{other.slug}@example.com").count() == 1
    assert budgets.notify_used_up(at=now + timedelta(days=2)) == 2


def test_money_is_counted_in_points_at_their_cost(brand, customer):
    rule(brand, value=10, effect="bonus", limits=[limit("rule", "money", most="0.15", point_cost="0.01")])

    assert [scan(brand, customer) for _ in range(3)] == [11, 6, 1]


def test_many_scans_in_one_statement_keep_to_the_budget(brand):
    made = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=35), limit("rule", "events", most=9)])
    customers = [factories.customer(brand) for _ in range(5)]
    for customer in customers:
        scanned(customer, factories.code(brand))
    worker.drain()

    assert sorted(earned()) == [1, 6, 11, 11, 11]
    assert EarningRuleBudgetUse.objects.get(rule=made).points == 35


def test_the_brand_s_own_limit_takes_back_what_rules_gave_too_much(brand, customer):
    made = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=100), limit(most=100)])
    brand.daily_point_limit = 15
    brand.save()

    assert [scan(brand, customer) for _ in range(2)] == [11, 4]
    assert EarningRuleBudgetUse.objects.get(rule=made).points == 13
    assert EarningRuleUse.objects.get(rule=made).points == 13
    assert "daily limit" in texts_of(LoyaltyTransaction.objects.latest("pk").details, "en")[1]
