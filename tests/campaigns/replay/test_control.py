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
from loyalty.points import birthdays as stored_birthdays
from loyalty.points.level_periods import run
from tests.campaigns.earning.earning_rules import rule as active_rule
from tests.campaigns.replay import history
from tests.campaigns.replay.history import execute_without_triggers, points_paid_since, replay_rule, simulate_weeks
from tests.support import factories, referrals, shop

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("seed", range(3))
def test_past_rules_reproduce_the_ledger(brand, seed):
    simulate_weeks(brand, seed)
    rule = EarningRule.objects.filter(brand=brand).first()
    since = timezone.now() - timedelta(days=16)

    result = replay_rule(rule, since=since)

    assert result["differences"] == 0, result["examples"]
    assert result["compared"] > 40
    assert result["without_event"] == result["gone"] == 0
    assert sum(float(day[1]) for day in result["days"]) == float(points_paid_since(brand, since))


def test_control_of_the_control_detects_one_tampered_ledger_entry(brand):
    history = simulate_weeks(brand, 1, changes=False)  # so that no limit causes a second difference
    rule = EarningRule.objects.filter(brand=brand).first()
    entry = LoyaltyTransaction.objects.filter(reason="earned", reason_id__startswith="login:").latest("pk")

    execute_without_triggers(
        "UPDATE loyalty_transaction SET points_earned = points_earned + 1 WHERE loyalty_transaction_id = %s", [entry.pk]
    )

    result = replay_rule(rule)
    assert (result["differences"], history.numbers > 0) == (1, True)
    [example] = result["examples"]
    assert (example["reasons"], float(example["recorded"]), float(example["decided"])) == (
        [entry.reason_id],
        float(entry.points_earned + 1),
        float(entry.points_earned),
    )


@pytest.mark.parametrize("seed", range(3))
def test_replay_decides_actions_with_the_lowered_levels_of_their_time(brand, seed, monkeypatch):
    """Levels need the points of a month. Over the weeks some are lowered, by the job or by an accrual before it."""
    brand.level_period, brand.level_period_months, brand.level_warning_days = "rolling", 1, 7
    brand.save()
    run.catch_up(at=timezone.now())
    shift_one_week_back = history.shift_one_week_back

    def pass_week_and_run_job():
        shift_one_week_back()
        if seed:
            run.catch_up(at=timezone.now())

    monkeypatch.setattr(history, "shift_one_week_back", pass_week_and_run_job)
    monkeypatch.setattr(history, "MONTHLY_LIMIT", None)  # the shifted weeks do not match calendar months
    simulated = simulate_weeks(brand, seed)
    for _week in range(10):
        pass_week_and_run_job()
    simulated.act(20)
    rule = EarningRule.objects.filter(brand=brand).first()

    result = replay_rule(rule)

    assert LevelChange.objects.filter(reason="lowered").exists()
    assert result["differences"] == 0, result["examples"]
    assert result["compared"] > 40
    assert shop.inconsistencies() == []


@pytest.mark.parametrize("after_return", ["retain", "recompute"])
def test_points_of_referrals_and_birthdays_count_towards_levels(brand, customer, after_return):
    """They raise the member's level, so that the next order pays more. Reversed, they may lower it again."""
    Brand.objects.filter(pk=brand.pk).update(after_return=after_return)
    factories.level(brand, "Gold", 100)
    gold = {"all": [{"field": "level", "operator": "in", "value": ["Gold"]}]}
    plain = factories.earning_rule(brand, "order-complete", value=5, name="Order")
    factories.earning_rule(brand, "order-complete", value=7, name="Gold's order", conditions=gold)
    active_rule(
        brand, "member-birthday", 3, "points", name="Birthday", state_changed_at=timezone.now() - timedelta(days=9)
    )
    referrals.programme(brand)
    friend, _referral = referrals.referred_friend(customer, brand)
    shop.buy(brand, customer, "A")
    shop.buy(brand, friend, "F")
    referrals.settle()
    today = timezone.now().astimezone(brand.zone)
    stored_birthdays.change(customer.pk, brand.pk, text=f"{today:%m-%d}", at=timezone.now() - timedelta(days=99))
    birthdays.publish_birthdays(at=timezone.now())
    worker.drain()
    shop.buy(brand, customer, "B")
    shop.return_order(brand, friend, "F")
    worker.drain()
    shop.buy(brand, customer, "C")

    paid = dict(LoyaltyTransaction.objects.filter(user_point__user=customer).values_list("reason_id", "points_earned"))
    assert (paid["order:A"], paid["order:B"]) == (5, 12)
    assert paid["order:C"] == (12 if after_return == "retain" else 5)
    assert paid[f"birthday:{today.year}"] == 3
    result = replay_rule(plain)
    assert (result["differences"], result["compared"]) == (0, 4), result["examples"]
    assert (result["without_event"], result["gone"]) == (0, 1)  # the birthday, which counts as it was paid
