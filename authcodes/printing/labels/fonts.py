"""Faces: the fonts of labels, the width of text in them, and the characters that none of them has.

Latin, Greek, Cyrillic, Hebrew, Arabic and more are DejaVu letters in the PDF. Scripts of India and South-East Asia,
whose letters change with their neighbours, are shaped by HarfBuzz (in Pillow) and drawn as pictures in Noto Sans. The
same applies to any font in settings.LABEL_FONTS, such as Chinese, Japanese and Korean.
"""

import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock

from django.conf import settings
from fontTools.ttLib import TTCollection, TTFont  # type: ignore[import-untyped]
from PIL import Image, ImageChops, ImageDraw, ImageFont

FONTS = Path(__file__).parent / "font_files"
UNKNOWN = "\ufffd"
JOINERS = "\u200c\u200d"  # invisible, but they decide which letters join
# DejaVu has their letters, but not without shaping: Lao and N'Ko.
UNSHAPED = frozenset(map(chr, (*range(0x0E80, 0x0F00), *range(0x07C0, 0x0800))))
EM = 100  # pixels per em of a picture: at 7 points, about 1000 per inch
MARGIN = 50  # pixels around it while it is drawn, for parts beyond a letter's own width
MIDDLE = 127  # between black and white


class Face:
    """A font. A pictured face draws its text as pictures; any other face is written as letters of the PDF."""

    def __init__(self, path: Path, *, is_pictured: bool) -> None:
        self.path, self.is_pictured = path, is_pictured
        font = TTCollection(path, lazy=True).fonts[0] if path.suffix == ".ttc" else TTFont(path, lazy=True)
        widths, units = font["hmtx"].metrics, font["head"].unitsPerEm
        self.widths = {number: widths[glyph][0] / units for number, glyph in font.getBestCmap().items()}
        if not is_pictured:
            self.widths = {number: width for number, width in self.widths.items() if chr(number) not in UNSHAPED}
        self.widths.update(dict.fromkeys(map(ord, JOINERS), 0.0))

    @property
    def name(self) -> str:
        return self.path.stem

    def has(self, text: str) -> bool:
        return all(ord(character) in self.widths for character in text)

    def width(self, text: str) -> float:
        """In ems."""
        if self.is_pictured:
            return float(_pen(self.path).getlength(text)) / EM
        return float(sum(self.widths[ord(character)] for character in text))

    def picture(self, text: str) -> "Picture":
        pen = _pen(self.path)
        above, below = pen.getmetrics()
        size = (int(pen.getlength(text)) + 1 + 2 * MARGIN, above + below + 2 * MARGIN)
        image = Image.new("L", size, 255)
        ImageDraw.Draw(image).text((MARGIN, MARGIN + above), text, font=pen, fill=0, anchor="ls")
        box = ImageChops.invert(image).getbbox() or (MARGIN, MARGIN, MARGIN + 1, MARGIN + 1)
        ink = image.crop(box).point(lambda grey: 255 if grey > MIDDLE else 0).convert("1")
        return Picture(ink, left=(box[0] - MARGIN) / EM, bottom=(MARGIN + above - box[3]) / EM)


@dataclass(frozen=True, slots=True)
class Picture:
    """Letters in black on white without a margin, and their position in ems from the pen and the baseline."""

    image: Image.Image
    left: float
    bottom: float

    @property
    def width(self) -> float:
        return self.image.width / EM

    @property
    def height(self) -> float:
        return self.image.height / EM


@cache
def _pen(path: Path) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, EM, layout_engine=ImageFont.Layout.RAQM)


_read: dict[tuple[Path, bool], Face] = {}
_reading = Lock()


def _face_of_file(path: Path, *, is_pictured: bool) -> Face:
    """The only Face of a font: two of them would draw connected letters separately."""
    with _reading:
        if (path, is_pictured) not in _read:
            _read[path, is_pictured] = Face(path, is_pictured=is_pictured)
        return _read[path, is_pictured]


@cache
def face(name: str) -> Face:
    return _face_of_file(FONTS / f"{name}.ttf", is_pictured=name.startswith("Noto"))


@cache
def other_fonts() -> tuple[Face, ...]:
    """The fonts for characters that DejaVu lacks."""
    ours = tuple(face(path.stem) for path in sorted(FONTS.glob("Noto*.ttf")))
    return (*ours, *(_face_of_file(Path(path), is_pictured=True) for path in settings.LABEL_FONTS))


def sans() -> Face:
    return face("DejaVuSans")


def mono() -> Face:
    return face("DejaVuSansMono")


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of text that one face can show."""

    face: Face
    text: str

    @property
    def width(self) -> float:
        return self.face.width(self.text)


def runs(text: str, first: Face) -> list[Run]:
    """`text` split into pieces of one face each, `first` wherever possible; U+FFFD for characters that no face has."""
    if first.has(text):
        return [Run(first, text)] if text else []
    result: list[tuple[Face, list[str]]] = []
    for character in text:
        chosen = _chosen(character, result[-1][0] if result else first, first)
        if not result or result[-1][0] is not chosen:
            result.append((chosen, []))
        result[-1][1].append(character if chosen.has(character) else UNKNOWN)
    return [Run(chosen, "".join(characters)) for chosen, characters in result]


def _chosen(character: str, before: Face, first: Face) -> Face:
    """Marks and joiners stay with the letter before them, and so do spaces and signs that its face has."""
    if not character.isalnum() and before.has(character):
        return before
    return _face_of(character, first) or first


@cache
def _face_of(character: str, first: Face) -> Face | None:
    return next((it for it in (first, sans(), *other_fonts()) if it.has(character)), None)


def measured(text: str, first: Face) -> float:
    """The width of the text in ems."""
    return sum(run.width for run in runs(text, first))


def unknown(text: str) -> str:
    """The characters of a clean text that no face has, without duplicates."""
    return "".join(dict.fromkeys(it for it in text if _face_of(it, sans()) is None))


def next_to_dejavu(text: str) -> list[Face]:
    """The faces that a text needs besides DejaVu's."""
    needed = (_face_of(it, sans()) for it in dict.fromkeys(text) if not it.isascii())
    return [it for it in dict.fromkeys(needed) if it is not None and it.is_pictured]


def is_mark(character: str) -> bool:
    """Whether it belongs to the preceding letter."""
    return character in JOINERS or unicodedata.category(character) in {"Mn", "Mc", "Me"}
