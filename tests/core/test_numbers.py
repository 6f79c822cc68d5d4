"""Numbers are saved as they were written, for each language; ids are digits that a column of ids holds."""

from decimal import Decimal

import pytest
from django.utils import translation

from core.numbers import format_number, is_id, plural_number, rounded


def test_a_number_is_written_as_its_page_s_language_does_also_when_another_wrote_it_before() -> None:
    texts = []
    for language in ("en", "de", "en"):
        with translation.override(language):
            texts.append((rounded(1234.5, 1), format_number(25800)))

    assert texts == [("1,234.5", "25,800"), ("1.234,5", "25.800"), ("1,234.5", "25,800")]


@pytest.mark.parametrize(
    ("number", "form"), [(0, 0), (1, 1), (-1, 1), (Decimal("2.00"), 2), (1204, 1204), (Decimal("1.50"), 100)]
)
def test_a_fraction_takes_a_plural_without_a_word_for_few(number: Decimal | int, form: int) -> None:
    assert plural_number(number) == form


@pytest.mark.parametrize("text", ["0", "7", "007", "9" * 18])
def test_the_digits_0_to_9_are_an_id(text: str) -> None:
    assert is_id(text)
    assert int(text) < 2**63


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "1.0", " 1", "1_000", "x", "\0", "\u0663", "\u00b2", "9" * 19, "9" * 5000]
)
def test_nothing_else_is_an_id(text: str) -> None:
    assert not is_id(text)
