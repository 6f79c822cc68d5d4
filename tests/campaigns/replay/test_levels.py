"""Replays of drafted levels: what scans would have earned, and the levels that members would have had."""

from decimal import Decimal

import pytest
from django.utils import timezone

from campaigns.replay import drafts
from core.errors import Invalid
from loyalty.points.levels import Level, levels_of
from tests.campaigns.earning.earning_rules import row, rule, scan
from tests.campaigns.replay.history import replay_draft, simulate_weeks
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    brand.levels.update(name="Bronze", scan_reward_value=1)
    return brand


def level(name, threshold, value, kind="points"):
    return Level(name, Decimal(threshold), kind, Decimal(value))


def replay_levels(brand, *levels):
    return replay_draft(brand, drafts.of_levels(brand, levels))


def totals(result):
    return [sum(float(day[place]) for day in result["days"]) for place in (1, 2)]


def test_members_rise_by_the_points_of_the_drafted_levels(brand, customer):
    for _time in range(5):
        scan(brand, customer)

    result = replay_levels(brand, level("Bronze", 0, 2), level("Silver", 4, 5), level("Gold", 14, 50))

    # 2 and 2 make 4, which is Silver: 5 and 5 make 14, which is Gold.
    assert (result["differences"], totals(result)) == (0, [5, 2 + 2 + 5 + 5 + 50])
    assert result["members_by_level"] == [["Bronze", 1, 0], ["Gold", 0, 1]]
    by_level = {name: (float(paid), float(drafted)) for name, paid, drafted, *_cost in result["levels"]}
    assert by_level == {"Bronze": (5, 4), "Silver": (0, 10), "Gold": (0, 50)}


def test_members_start_at_the_level_of_their_lifetime_points(brand, customer):
    factories.points(customer, brand, 100)
    since = timezone.now()
    scan(brand, customer)
    levels = drafts.of_levels(brand, [level("Bronze", 0, 1), level("Silver", 90, 7)])

    assert totals(replay_draft(brand, levels, since=since)) == [1, 7]


def test_rules_with_a_level_condition_use_the_drafted_level(brand, customer):
    factories.level(brand, "Gold", 1_000)
    rule(brand, "scan-auth", 10, "bonus", all_of=[row("level", "at_least", "Gold")])
    for _time in range(2):
        scan(brand, customer)

    assert totals(replay_levels(brand, level("Bronze", 0, 1), level("Gold", 1, 1))) == [2, 1 + 11]


def test_unchanged_levels_change_nothing(brand):
    simulate_weeks(brand, 5, changes=False)

    result = replay_draft(brand, drafts.of_levels(brand, levels_of(brand)))

    assert (result["differences"], result["gainers"], result["losers"]) == (0, 0, 0), result["examples"]
    assert [day[1] for day in result["days"]] == [day[2] for day in result["days"]]
    assert all(actual == drafted for _name, actual, drafted in result["members_by_level"])


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([], "1 to 50"),
        ([("A", 0, 1)] * 51, "1 to 50"),
        ([("A", 0, 1), ("a", 5, 1)], "of its own"),
        ([("A", 0, 1), ("B", 0, 1)], "of its own"),
        ([("A", -1, 1)], "A: "),
        ([("A", 0, -1)], "A: "),
        ([("A" * 61, 0, 1)], "AAA: "),
    ],
)
def test_invalid_levels_are_rejected(brand, levels, message):
    with pytest.raises(Invalid, match=message):
        drafts.of_levels(brand, [level(*each) for each in levels])
