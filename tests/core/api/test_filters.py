"""Each filter of a list says in the API's description what it is for."""

import pytest

from core.api import filters
from core.api.filters import Parameter


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (filters.ChoiceFilter, {"values": ["a", "b"]}),
        (filters.DayFilter, {}),
        (filters.IdFilter, {}),
        (filters.IdsFilter, {}),
        (filters.UuidFilter, {}),
        (filters.TextFilter, {"max_length": 20}),
        (filters.SwitchFilter, {}),
        (filters.SinceFilter, {}),
    ],
)
def test_a_filter_has_a_description_of_its_own(kind: type[Parameter], options: dict[str, object]) -> None:
    made = kind(description="What for.", **options)
    made.parameter = "of"

    assert made.described().description == "What for."
    with pytest.raises(TypeError):
        kind(**options)
