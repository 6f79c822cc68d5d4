"""Lists that are cut."""

import pytest

from core.texts import shortened


@pytest.mark.parametrize(
    ("names", "expected"), [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c"], "a, b …")]
)
def test_a_list_ends_in_an_ellipsis_where_it_goes_on(names, expected):
    assert shortened(names, most=2) == expected
