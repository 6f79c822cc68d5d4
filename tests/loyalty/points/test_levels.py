"""Levels by lifetime points."""

from decimal import Decimal

import pytest

from loyalty.points import levels
from loyalty.points.levels import Level

LEVELS = [
    Level(name, Decimal(threshold), "points", Decimal(1))
    for name, threshold in [("Bronze", 0), ("Silver", 100), ("Gold", 500)]
]


@pytest.mark.parametrize(
    ("lifetime", "name"), [("0", "Bronze"), ("99.99", "Bronze"), ("100", "Silver"), ("9999", "Gold")]
)
def test_reached_returns_the_level_with_the_highest_reached_threshold(lifetime, name):
    assert levels.reached(levels=LEVELS, lifetime=Decimal(lifetime)).name == name


def test_no_level_is_reached_below_the_lowest_threshold():
    assert levels.reached(levels=LEVELS[1:], lifetime=Decimal(5)) is None


def test_following_is_none_at_the_highest_level():
    assert levels.following(levels=LEVELS, name="Silver", lifetime=Decimal(100)).name == "Gold"
    assert levels.following(levels=LEVELS, name="Gold", lifetime=Decimal(500)) is None


def test_following_is_above_a_level_that_needs_more_points_than_the_member_has():
    assert levels.following(levels=LEVELS, name="Silver", lifetime=Decimal(0)).name == "Gold"
    assert levels.following(levels=LEVELS, name="Gold", lifetime=Decimal(0)) is None
    assert levels.following(levels=LEVELS, name="Deleted", lifetime=Decimal(0)).name == "Silver"


def test_current_level_defaults_to_the_lowest():
    assert levels.current_level(levels=LEVELS, name="").name == "Bronze"
    assert levels.current_level(levels=LEVELS, name="Gold").name == "Gold"
    assert levels.current_level(levels=[], name="Gold") is None
