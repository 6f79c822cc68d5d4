"""Each filter of a list has a description in the API's schema."""

import pytest

from core.api import filters
from core.api.filters import Parameter


@pytest.mark.parametrize(
    ("filter_class", "options"),
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
def test_filter_requires_a_description(filter_class: type[Parameter], options: dict[str, object]) -> None:
    list_filter = filter_class(description="What for.", **options)
    list_filter.parameter = "of"

    assert list_filter.described().description == "What for."
    with pytest.raises(TypeError):
        filter_class(**options)
