"""The portal's fonts have every icon that the portal names, and the letters that its style sheet says they have."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from fontTools.ttLib import TTFont

ROOT = Path(__file__).parents[2]
FONTS = ROOT / "portal/static/portal/fonts"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("portal_fonts", ROOT / "bin/portal_fonts.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_icon_that_a_source_names_is_in_the_font(maker):
    whole = TTFont(maker.UNFOLD / "static/unfold/fonts/material-symbols/Material-Symbols-Outlined.woff2")
    drawn = maker.ligatures(TTFont(FONTS / "icons.woff2"))

    missing = maker.icons(whole) - set(drawn)

    assert not missing, f"run bin/portal_fonts.py: {sorted(missing)}"
    assert {"home", "qr_code_2", "dock_to_right", "point_of_sale"} <= set(drawn)


@pytest.mark.parametrize("weight", ["regular", "medium", "semibold", "bold"])
def test_the_letters_are_those_that_the_style_sheet_promises(maker, weight):
    codes = set(TTFont(FONTS / f"inter-{weight}.woff2").getBestCmap())

    assert codes >= ranges((ROOT / "portal/static/portal/portal.css").read_text(encoding="utf-8")) & whole(
        maker, weight
    )


def ranges(style: str) -> set[int]:
    """What the first `unicode-range` names."""
    listed = style.partition("unicode-range:")[2].partition(";")[0]
    found: set[int] = set()
    for part in listed.replace("U+", "").split(","):
        first, _dash, last = part.strip().partition("-")
        found |= set(range(int(first, 16), int(last or first, 16) + 1))
    return found


def whole(maker: ModuleType, weight: str) -> set[int]:
    name = {"semibold": "SemiBold"}.get(weight, weight.title())
    return set(TTFont(maker.UNFOLD / f"static/unfold/fonts/inter/Inter-{name}.woff2").getBestCmap())
