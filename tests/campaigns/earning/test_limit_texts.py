"""Texts of rule limits are whole phrases, so that translations can order them freely."""

import pytest

from campaigns.earning import limits
from campaigns.earning.limits import EVENTS, MEMBER, MONEY, PERIODS, POINTS, RULE, LimitsError
from campaigns.earning.sentences import limit_text


def limit(**data):
    return limits.read([{"per": MEMBER, "what": POINTS, "most": "500", **data}])[0]


@pytest.mark.parametrize(
    ("data", "expected_text"),
    [
        ({"period": "event"}, "at most 500 points each time"),
        ({"period": "day"}, "at most 500 points a day for each member"),
        ({"period": "week", "most": "1"}, "at most 1 point a week for each member"),
        ({"period": "month", "most": "1.50"}, "at most 1.5 points a month for each member"),
        ({"period": "ever"}, "at most 500 points for each member"),
        ({"what": EVENTS, "period": "day", "most": "1"}, "at most 1 time a day for each member"),
        ({"what": EVENTS, "period": "month"}, "at most 500 times a month for each member"),
        ({"per": RULE}, "at most 500 points in all"),
        ({"per": RULE, "what": EVENTS, "most": "1"}, "at most 1 time in all"),
        (
            {"per": RULE, "what": MONEY, "point_cost": "0.01"},
            "at most 500 in money in all, at 0.01 a point",
        ),
    ],
)
def test_limit_text(data, expected_text):
    assert limit_text(limit(**data)) == expected_text


def test_every_possible_limit_has_a_text():
    text_count = 0
    for per in (MEMBER, RULE):
        for what in (POINTS, EVENTS, MONEY):
            for period in PERIODS:
                try:
                    possible_limit = limit(
                        per=per, what=what, period=period, **({"point_cost": "1"} if what == MONEY else {})
                    )
                except LimitsError:
                    continue
                text_count += 1
                assert "500" in limit_text(possible_limit)

    assert text_count == 12
