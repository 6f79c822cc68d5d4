"""Formatted numbers are cached for each language; ids are digits that fit a column of ids."""

from decimal import Decimal

import pytest
from django.utils import translation

from core.numbers import format_number, is_id, plural_number, rounded


def test_number_is_formatted_in_the_active_language_after_use_in_another() -> None:
    texts = []
    for language in ("en", "de", "en"):
        with translation.override(language):
            texts.append((rounded(1234.5, 1), format_number(25800)))

    assert texts == [("1,234.5", "25,800"), ("1.234,5", "25.800"), ("1,234.5", "25,800")]


@pytest.mark.parametrize(
    ("number", "form"), [(0, 0), (1, 1), (-1, 1), (Decimal("2.00"), 2), (1204, 1204), (Decimal("1.50"), 100)]
)
def test_fraction_takes_the_general_plural_form(number: Decimal | int, form: int) -> None:
    assert plural_number(number) == form


@pytest.mark.parametrize("text", ["0", "7", "007", "9" * 18])
def test_up_to_18_ascii_digits_are_an_id(text: str) -> None:
    assert is_id(text)
    assert int(text) < 2**63


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "1.0", " 1", "1_000", "x", "\0", "\u0663", "\u00b2", "9" * 19, "9" * 5000]
)
def test_other_text_is_not_an_id(text: str) -> None:
    assert not is_id(text)
