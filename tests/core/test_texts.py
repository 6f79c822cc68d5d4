"""Shortened lists, and masked addresses."""

import pytest

from core.texts import masked_mail, shortened


@pytest.mark.parametrize(
    ("names", "expected"), [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c"], "a, b …")]
)
def test_shortened_list_ends_in_an_ellipsis(names, expected):
    assert shortened(names, most=2) == expected


def test_masked_address_has_its_first_letter_and_its_host():
    assert masked_mail("ada@example.com") == "a•••@example.com"
