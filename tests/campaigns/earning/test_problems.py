"""Problems of conditions and limits are listed by position; a problem of the whole has none."""

import pytest

from campaigns.earning.comparisons import ProblemsError
from campaigns.earning.conditions import ConditionsError
from campaigns.earning.limits import LimitsError


@pytest.mark.parametrize("kind", [ConditionsError, LimitsError])
def test_problems_are_listed_by_position_and_joined_into_one_message(kind: type[ProblemsError]) -> None:
    error = kind({"": "Give a list.", "[0].most": "Give a number."})

    assert error.problems == {"": "Give a list.", "[0].most": "Give a number."}
    assert str(error) == "Give a list.; [0].most: Give a number."
