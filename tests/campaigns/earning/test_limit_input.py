"""Limits of rules that cannot be read are rejected with what to fix."""

import pytest

from campaigns.earning import limits
from campaigns.earning.limits import LimitsError


@pytest.mark.parametrize("name", ["per", "what", "period"])
@pytest.mark.parametrize("value", [[], {}, ["member"], None])
def test_value_of_another_type_is_an_error_of_its_field(name, value):
    limit = {"per": "rule", "what": "points", "period": "ever", "most": "5", name: value}

    with pytest.raises(LimitsError) as error:
        limits.read([limit])

    assert list(error.value.problems) == [f"[0].{name}"]


@pytest.mark.parametrize(
    ("limit", "field"),
    [
        ({"what": "points", "most": "0.004"}, "most"),
        ({"what": "money", "most": "1", "point_cost": "1000"}, "point_cost"),
    ],
)
def test_limit_that_never_pays_is_rejected(limit, field):
    with pytest.raises(LimitsError) as error:
        limits.read([{"per": "rule", **limit}])

    assert list(error.value.problems) == [f"[0].{field}"]


def test_limit_of_one_cent_of_a_point_is_accepted():
    [limit] = limits.read([{"per": "rule", "what": "money", "most": "1", "point_cost": "100"}])

    assert str(limit.amount) == "0.01"
