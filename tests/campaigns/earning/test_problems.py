"""What is wrong with conditions and limits is said with its place, and without one where that is all of them."""

import pytest

from campaigns.earning.comparisons import ProblemsError
from campaigns.earning.conditions import ConditionsError
from campaigns.earning.limits import LimitsError


@pytest.mark.parametrize("kind", [ConditionsError, LimitsError])
def test_problems_are_kept_by_their_places_and_put_into_words(kind: type[ProblemsError]) -> None:
    error = kind({"": "Give a list.", "[0].most": "Give a number."})

    assert error.problems == {"": "Give a list.", "[0].most": "Give a number."}
    assert str(error) == "Give a list.; [0].most: Give a number."
