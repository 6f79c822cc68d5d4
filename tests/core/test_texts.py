"""Shortened lists."""

import pytest

from core.texts import shortened


@pytest.mark.parametrize(
    ("names", "expected"), [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c"], "a, b …")]
)
def test_shortened_list_ends_in_an_ellipsis(names, expected):
    assert shortened(names, most=2) == expected
