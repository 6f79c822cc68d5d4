"""Limits and budgets of rules: of a member, of a rule, and of the brand."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.staff_login.models import StaffMail
from campaigns.earning import budgets, checks
from campaigns.models.earning_rules import EarningRule, EarningRuleBudgetUse, EarningRuleUse
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points.explanations import texts_of
from tests.campaigns.earning.earning_rules import earned, limit, record_scan, rule, scan
from tests.support import factories
from tests.support.portal import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    """A brand whose scans are worth one point."""
    brand.levels.update(scan_reward_value=1)
    return brand


def test_member_limit_applies_within_its_period(brand, customer):
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


def test_rule_gives_the_remaining_budget_and_then_nothing(brand, customer):
    new_rule = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=25)])

    assert [scan(brand, customer) for _ in range(4)] == [11, 11, 6, 1]
    budget = EarningRuleBudgetUse.objects.get(rule=new_rule)
    assert (budget.points, budget.events) == (25, 3)
    assert budget.used_up_at
    assert texts_of(LoyaltyTransaction.objects.latest("pk").details, "en")[1] == (
        "bonus 10: 0 (all that there was to give has been given)"
    )


@pytest.mark.parametrize(
    ("lowered", "spent"),
    [
        (limit(per="rule", most=10), "25"),
        (limit(per="rule", what="events", most=2), "3"),
        (limit(per="rule", what="money", most=1, point_cost="0.10"), "2.5"),
    ],
)
def test_budget_cannot_be_lowered_below_what_was_given(brand, lowered, spent):
    new_rule = rule(brand, effect="bonus", limits=[lowered])
    EarningRuleBudgetUse.objects.filter(rule=new_rule).update(points=25, events=3)

    assert checks.problems_of(new_rule) == {
        "limits": f"The rule has already given {spent}. Enter at least that amount, or end the rule."
    }


def test_owners_are_notified_once_of_a_used_up_budget(brand, customer):
    owner = staff(brand, role="owner", email="olivia@example.com")
    new_rule = rule(brand, value=10, effect="bonus", name="Ten", limits=[limit("rule", most=5)])
    scan(brand, customer)

    notified_counts = [budgets.notify_used_up(at=timezone.now()) for _ in range(2)]

    assert notified_counts == [1, 0]
    [mail] = StaffMail.objects.filter(user=owner, kind="budget")
    assert "“Ten” has given 5 points, 1 time." in mail.text
    EarningRule.objects.filter(pk=new_rule.pk).update(limits=[limit("rule", most=50)])
    assert EarningRuleBudgetUse.objects.get(rule=new_rule).used_up_at is None
    assert scan(brand, customer) == 11


def test_many_used_up_budgets_do_not_delay_owners_of_another_brand(brand, customer, monkeypatch):
    monkeypatch.setattr(budgets, "MAX_PER_DAY", 2)
    monkeypatch.setattr(budgets, "AT_ONCE", 3)
    other = factories.brand()
    for notified_brand in (brand, other):
        staff(notified_brand, role="owner", email=f"owner-of-{notified_brand.slug}@example.com")
    now = timezone.now()
    for rule_brand, number in ((brand, 4), (other, 1)):
        for each in range(number):
            new_rule = rule(rule_brand, value=10, effect="bonus", name=f"Bonus {each}", limits=[limit("rule", most=5)])
            values = {"points": 5, "used_up_at": now}
            EarningRuleBudgetUse.objects.update_or_create(rule=new_rule, defaults=values)

    assert [budgets.notify_used_up(at=now) for _ in range(2)] == [3, 0]
    assert StaffMail.objects.filter(kind="budget", user__email=f"owner-of-{other.slug}@example.com").count() == 1
    assert budgets.notify_used_up(at=now + timedelta(days=2)) == 2


def test_money_limit_converts_points_at_their_cost(brand, customer):
    rule(brand, value=10, effect="bonus", limits=[limit("rule", "money", most="0.15", point_cost="0.01")])

    assert [scan(brand, customer) for _ in range(3)] == [11, 6, 1]


def test_scans_credited_in_one_statement_respect_the_budget(brand):
    new_rule = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=35), limit("rule", "events", most=9)])
    customers = [factories.customer(brand) for _ in range(5)]
    for customer in customers:
        record_scan(customer, factories.code(brand))
    worker.drain()

    assert sorted(earned()) == [1, 6, 11, 11, 11]
    assert EarningRuleBudgetUse.objects.get(rule=new_rule).points == 35


def test_daily_limit_of_the_brand_reduces_the_recorded_rule_use(brand, customer):
    new_rule = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=100), limit(most=100)])
    brand.daily_point_limit = 15
    brand.save()

    assert [scan(brand, customer) for _ in range(2)] == [11, 4]
    assert EarningRuleBudgetUse.objects.get(rule=new_rule).points == 13
    assert EarningRuleUse.objects.get(rule=new_rule).points == 13
    assert "daily limit" in texts_of(LoyaltyTransaction.objects.latest("pk").details, "en")[1]
