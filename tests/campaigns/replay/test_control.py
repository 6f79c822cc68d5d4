"""The control of replays: the rules as they stood give exactly what the ledger has, whatever has changed since."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from campaigns.accrual import birthdays
from campaigns.models.earning_rules import EarningRule
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import LevelChange
from loyalty.points import birthdays as stored
from loyalty.points.level_periods import run
from tests.campaigns.earning.earning_rules import rule as active_rule
from tests.campaigns.replay import history
from tests.campaigns.replay.history import altered, paid_in, replayed, some_weeks
from tests.support import factories, referrals, shop

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("seed", range(3))
def test_the_rules_as_they_stood_reproduce_the_ledger(brand, seed):
    some_weeks(brand, seed)
    rule = EarningRule.objects.filter(brand=brand).first()
    since = timezone.now() - timedelta(days=16)

    result = replayed(rule, since=since)

    assert result["differences"] == 0, result["examples"]
    assert result["compared"] > 40
    assert result["without_event"] == result["gone"] == 0
    assert sum(float(day[1]) for day in result["days"]) == float(paid_in(brand, since))


def test_control_of_the_control_one_line_that_was_tampered_with_is_one_difference(brand):
    history = some_weeks(brand, 1, changes=False)  # so that no limit makes two of it
    rule = EarningRule.objects.filter(brand=brand).first()
    line = LoyaltyTransaction.objects.filter(reason="earned", reason_id__startswith="login:").latest("pk")

    altered(
        "UPDATE loyalty_transaction SET points_earned = points_earned + 1 WHERE loyalty_transaction_id = %s", [line.pk]
    )

    result = replayed(rule)
    assert (result["differences"], history.numbers > 0) == (1, True)
    [example] = result["examples"]
    assert (example["reasons"], float(example["recorded"]), float(example["decided"])) == (
        [line.reason_id],
        float(line.points_earned + 1),
        float(line.points_earned),
    )


@pytest.mark.parametrize("seed", range(3))
def test_levels_that_fell_are_those_that_actions_were_decided_in(brand, seed, monkeypatch):
    """A month's points are a level's: over the weeks some fall, by the job and by accruals that are faster."""
    brand.level_period, brand.level_period_months, brand.level_warning_days = "rolling", 1, 7
    brand.save()
    run.catch_up(at=timezone.now())
    pass_a_week = history.a_week_passes

    def a_week_passes_and_the_job_comes():
        pass_a_week()
        if seed:
            run.catch_up(at=timezone.now())

    monkeypatch.setattr(history, "a_week_passes", a_week_passes_and_the_job_comes)
    monkeypatch.setattr(history, "MONTHLY_LIMIT", None)  # weeks go by, which are no months
    weeks = some_weeks(brand, seed)
    for _week in range(10):
        a_week_passes_and_the_job_comes()
    weeks.act(20)
    rule = EarningRule.objects.filter(brand=brand).first()

    result = replayed(rule)

    assert LevelChange.objects.filter(reason="lowered").exists()
    assert result["differences"] == 0, result["examples"]
    assert result["compared"] > 40
    assert shop.contradictions() == []


@pytest.mark.parametrize("after_return", ["retain", "recompute"])
def test_points_of_referrals_and_birthdays_count_for_levels_as_they_did(brand, customer, after_return):
    """They lift the member, whom the next order pays more; taken back, they may lower the member again."""
    Brand.objects.filter(pk=brand.pk).update(after_return=after_return)
    factories.level(brand, "Gold", 100)
    gold = {"all": [{"field": "level", "operator": "in", "value": ["Gold"]}]}
    plain = factories.earning_rule(brand, "order-complete", value=5, name="Order")
    factories.earning_rule(brand, "order-complete", value=7, name="Gold's order", conditions=gold)
    active_rule(
        brand, "member-birthday", 3, "points", name="Birthday", state_changed_at=timezone.now() - timedelta(days=9)
    )
    referrals.programme(brand)
    friend, _referral = referrals.referred(customer, brand)
    shop.buy(brand, customer, "A")
    shop.buy(brand, friend, "F")
    referrals.settle()
    today = timezone.now().astimezone(brand.zone)
    stored.change(customer.pk, brand.pk, text=f"{today:%m-%d}", at=timezone.now() - timedelta(days=99))
    birthdays.publish_birthdays(at=timezone.now())
    worker.drain()
    shop.buy(brand, customer, "B")
    shop.give_back(brand, friend, "F")
    worker.drain()
    shop.buy(brand, customer, "C")

    paid = dict(LoyaltyTransaction.objects.filter(user_point__user=customer).values_list("reason_id", "points_earned"))
    assert (paid["order:A"], paid["order:B"]) == (5, 12)
    assert paid["order:C"] == (12 if after_return == "retain" else 5)
    assert paid[f"birthday:{today.year}"] == 3
    result = replayed(plain)
    assert (result["differences"], result["compared"]) == (0, 4), result["examples"]
    assert (result["without_event"], result["gone"]) == (0, 1)  # the birthday, which counts as it was paid
