"""Makes the portal's fonts: the Material Symbols icons that the portal uses, and the Inter letters of most pages.

    .venv/bin/python bin/portal_fonts.py

django-unfold ships both complete, 750 kB for a page. These subsets are loaded instead; a letter that is missing is
drawn in a system font. tests/portal/test_fonts.py reports a missing icon: run this again then.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import unfold
from fontTools import subset
from fontTools.ttLib import TTFont

ROOT = Path(__file__).parent.parent
UNFOLD = Path(unfold.__file__).parent
FONTS = ROOT / "portal/static/portal/fonts"
APPS = ("authcodes", "brands", "campaigns", "jobs", "loyalty", "portal", "events", "config", "templates", "core")
WORD = re.compile(r"[a-z0-9_]{3,}")
LATIN = (*range(0x20, 0x7F), *range(0xA0, 0x180), 0x2013, 0x2014, *range(0x2018, 0x201F), 0x2022, 0x2026, 0x20AC)
LATIN = (*LATIN, 0x2190, 0x2192, 0x2212, 0x2215, 0x2713, 0x00D7)
WEIGHTS = ("Regular", "Medium", "SemiBold", "Bold")


def sources() -> Iterator[Path]:
    """All files that may name an icon."""
    for folder in (*(ROOT / app for app in APPS), UNFOLD):
        for path in folder.rglob("*"):
            if path.suffix in {".css", ".html", ".js", ".py"} and "migrations" not in path.parts:
                yield path


def ligatures(font: TTFont) -> dict[str, str]:
    """The text that stands for an icon, and its glyph."""
    letters = {glyph: chr(code) for code, glyph in font.getBestCmap().items() if code < 128}
    return {
        "".join(letters.get(part, "") for part in (first, *ligature.Component)): ligature.LigGlyph
        for lookup in font["GSUB"].table.LookupList.Lookup
        for table in lookup.SubTable
        for first, entries in getattr(getattr(table, "ExtSubTable", table), "ligatures", {}).items()
        for ligature in entries
    }


def icons(font: TTFont) -> set[str]:
    """Every word of the sources that is the name of an icon; false matches add few bytes."""
    candidates = {word for path in sources() for word in WORD.findall(path.read_text(encoding="utf-8"))}
    return candidates & set(ligatures(font))


def write(font: TTFont, subsetter: subset.Subsetter, name: str) -> None:
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(FONTS / name)
    print(f"{name}: {(FONTS / name).stat().st_size / 1000:.0f} kB")


def options() -> subset.Options:
    result = subset.Options()
    result.layout_features = ["*"]
    result.recalc_timestamp = False
    return result


def make_icons() -> None:
    font = TTFont(UNFOLD / "static/unfold/fonts/material-symbols/Material-Symbols-Outlined.woff2")
    names = ligatures(font)
    used = icons(font)
    drop_other_ligatures(font, used)
    subsetter = subset.Subsetter(options())
    subsetter.populate(glyphs=[names[icon] for icon in used], text="abcdefghijklmnopqrstuvwxyz0123456789_")
    write(font, subsetter, "icons.woff2")
    print(f"{len(used)} icons")


def drop_other_ligatures(font: TTFont, used: set[str]) -> None:
    """A subsetter keeps every icon whose letters it keeps, so unused ones must be removed first."""
    names = ligatures(font)
    drawn = {names[icon] for icon in used}
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in lookup.SubTable:
            inner = getattr(table, "ExtSubTable", table)
            if hasattr(inner, "ligatures"):
                remaining = {key: [it for it in each if it.LigGlyph in drawn] for key, each in inner.ligatures.items()}
                inner.ligatures = {key: each for key, each in remaining.items() if each}


def make_letters() -> None:
    for weight in WEIGHTS:
        font = TTFont(UNFOLD / f"static/unfold/fonts/inter/Inter-{weight}.woff2")
        subsetter = subset.Subsetter(letter_options())
        subsetter.populate(unicodes=LATIN)
        write(font, subsetter, f"inter-{weight.lower()}.woff2")


def letter_options() -> subset.Options:
    result = options()
    result.layout_features = ["kern", "liga", "calt", "ccmp", "locl", "mark", "mkmk", "tnum"]
    return result


if __name__ == "__main__":
    FONTS.mkdir(exist_ok=True)
    make_icons()
    make_letters()
