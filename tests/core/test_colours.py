"""Colour contrast as WCAG defines it."""

import pytest

from core import colours


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [("#ffffff", "#000000", 21), ("#777777", "#ffffff", 4.48), ("#0b57d0", "#ffffff", 6.39), ("#abcdef", "#abcdef", 1)],
)
def test_contrast_follows_wcag_and_is_symmetric(one, other, ratio):
    assert colours.contrast(one, other) == pytest.approx(ratio, abs=0.01)
    assert colours.contrast(other, one) == colours.contrast(one, other)


def test_black_or_white_text_is_readable_on_every_colour():
    shades = [
        f"#{red:02x}{green:02x}{blue:02x}"
        for red in range(0, 256, 51)
        for green in range(0, 256, 51)
        for blue in range(0, 256, 51)
    ]

    assert min(colours.contrast(colours.on(shade), shade) for shade in shades) >= colours.READABLE


def test_mixed_colour_lies_between_the_two():
    assert colours.mixed("#000000", "#ffffff", 0) == "#000000"
    assert colours.mixed("#000000", "#ffffff", 1) == "#ffffff"
    assert colours.mixed("#000000", "#ff8000", 0.5) == "#804000"
