"""The portal's fonts contain every icon that the portal uses, and the characters that its style sheet declares."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from fontTools.ttLib import TTFont

ROOT = Path(__file__).parents[2]
FONTS = ROOT / "portal/static/portal/fonts"


@pytest.fixture(scope="module")
def font_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("portal_fonts", ROOT / "bin/portal_fonts.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_icon_font_contains_every_icon_in_use(font_tool):
    complete_font = TTFont(font_tool.UNFOLD / "static/unfold/fonts/material-symbols/Material-Symbols-Outlined.woff2")
    glyphs = font_tool.ligatures(TTFont(FONTS / "icons.woff2"))

    missing = font_tool.icons(complete_font) - set(glyphs)

    assert not missing, f"run bin/portal_fonts.py: {sorted(missing)}"
    assert {"home", "qr_code_2", "dock_to_right", "point_of_sale"} <= set(glyphs)


@pytest.mark.parametrize("weight", ["regular", "medium", "semibold", "bold"])
def test_text_fonts_contain_the_characters_of_the_style_sheet(font_tool, weight):
    code_points = set(TTFont(FONTS / f"inter-{weight}.woff2").getBestCmap())

    assert code_points >= declared_code_points(
        (ROOT / "portal/static/portal/portal.css").read_text(encoding="utf-8")
    ) & source_code_points(font_tool, weight)


def declared_code_points(style: str) -> set[int]:
    """The code points of the first `unicode-range`."""
    unicode_range = style.partition("unicode-range:")[2].partition(";")[0]
    code_points: set[int] = set()
    for part in unicode_range.replace("U+", "").split(","):
        first, _dash, last = part.strip().partition("-")
        code_points |= set(range(int(first, 16), int(last or first, 16) + 1))
    return code_points


def source_code_points(font_tool: ModuleType, weight: str) -> set[int]:
    name = {"semibold": "SemiBold"}.get(weight, weight.title())
    return set(TTFont(font_tool.UNFOLD / f"static/unfold/fonts/inter/Inter-{name}.woff2").getBestCmap())
