"""The control of replays: the rules as they stood give exactly what the ledger has, whatever has changed since."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.models.earning_rules import EarningRule
from loyalty.models.ledger import LoyaltyTransaction
from tests.campaigns.replay.history import altered, paid_in, replayed, some_weeks

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
    history = some_weeks(brand, 1)
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
