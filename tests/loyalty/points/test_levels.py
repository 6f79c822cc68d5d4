"""Which level a number of lifetime points reaches."""

from decimal import Decimal

import pytest

from loyalty.points import levels
from loyalty.points.levels import Level

TIERS = [Level(name, Decimal(at), "points", Decimal(1)) for name, at in [("Bronze", 0), ("Silver", 100), ("Gold", 500)]]


@pytest.mark.parametrize(
    ("lifetime", "name"), [("0", "Bronze"), ("99.99", "Bronze"), ("100", "Silver"), ("9999", "Gold")]
)
def test_the_highest_threshold_taken_is_the_level(lifetime, name):
    assert levels.reached(levels=TIERS, lifetime=Decimal(lifetime)).name == name


def test_below_the_lowest_threshold_no_level_is_reached():
    assert levels.reached(levels=TIERS[1:], lifetime=Decimal(5)) is None


def test_the_next_level_is_none_at_the_top():
    assert levels.following(levels=TIERS, lifetime=Decimal(100)).name == "Gold"
    assert levels.following(levels=TIERS, lifetime=Decimal(500)) is None


def test_a_customer_without_level_scans_in_the_lowest():
    assert levels.current_level(levels=TIERS, name="").name == "Bronze"
    assert levels.current_level(levels=TIERS, name="Gold").name == "Gold"
    assert levels.current_level(levels=[], name="Gold") is None
