"""Colours: their contrast, by the formula of WCAG 2.2."""

import re
from collections.abc import Sequence

SHAPE = re.compile(r"#[0-9a-f]{6}")
READABLE = 4.5  # to 1, for text; WCAG 2.2, 1.4.3
VISIBLE = 3.0  # to 1, for anything other than text; WCAG 2.2, 1.4.11
MIDDLE = 0.18  # luminance of a background on which white and black have the same contrast
STEPS = 50  # shades between a colour and white or black


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours `#rrggbb`, from 1 (the same) to 21 (black and white)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """The relative luminance of `#rrggbb`, from 0 (black) to 1 (white)."""
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def on(colour: str) -> str:
    """Black or white, whichever has more contrast on `colour`: always at least 4.5 to 1."""
    return max("#ffffff", "#000000", key=lambda text: contrast(text, colour))


def mixed(one: str, other: str, share: float) -> str:
    """`one` with a `share` (0 to 1) of `other` in it."""
    parts = [(int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)


def corrected(colour: str, *, grounds: Sequence[str], least: float) -> str:
    """`colour`, mixed with as much white or black as it takes for a contrast of `least` on each of the `grounds`.

    The first ground decides: black on a light one, white on a dark one.
    """
    towards = "#000000" if luminance(grounds[0]) > MIDDLE else "#ffffff"
    shades = (mixed(colour, towards, step / STEPS) for step in range(STEPS + 1))
    return next(shade for shade in shades if all(contrast(shade, ground) >= least for ground in grounds))
