"""Placement: the position of QR code, text and logo on a label, for both sheets and their previews.

Lengths are in millimetres, from a label's left and lower edge; for marks on a page, from the page's edges.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from PIL import Image

from authcodes.printing.labels import fonts, presets, text_layout
from authcodes.printing.labels.design import TEXT_MM, Design, Label
from authcodes.printing.labels.fonts import Face

POINTS_PER_MM = 72 / 25.4
PAD = 1.5  # between text and a label's edge
SIDE_GAP_MM = 15.0  # with this much room next to the QR code, product details go there, otherwise below
CODE_PT, TITLE_PT, SMALL_PT, NARROW_PT = 6.5, 7.0, 6.0, 5.0
NARROW_MM = 1.9  # a line of NARROW_PT
ENLARGEMENTS = (2.0, 1.8, 1.6, 1.4, 1.2, 1.0)  # factors for the size of the text next to the QR code
LEADING = 1.25  # line spacing, in sizes of the text
ASCENT = 0.93  # of DejaVu, from the top of a line to its baseline
MAX_TITLE_LINES = 4
MIN_TEXT_WIDTH_MM = 8.0  # for text next to the code
LOGO_MM = 7.0
MARK_SHARE = 0.9  # of a label, for a mark across it
# Light enough for cameras: in a symbol's quiet zone it still counts as white (ISO/IEC 15415 grades contrast).
MARK_GREY = 0.82
CUT_MARK_MM, CUT_GAP_MM = 4.0, 0.5


class Area(NamedTuple):
    """A part of a label."""

    left: float
    right: float
    bottom: float
    top: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.top - self.bottom


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of shaped text: its start, its upper edge, and its size in points."""

    text: str
    face: Face
    left: float
    top: float
    size: float
    width: float
    right_to_left: bool = False

    @property
    def baseline(self) -> float:
        return self.top - self.size * ASCENT / POINTS_PER_MM


class Placement:
    """The automatic placement of all labels of a design."""

    def __init__(self, design: Design) -> None:
        sheet = design.sheet
        self.width, self.height, self.size = map(float, (sheet.label_width, sheet.label_height, design.qr_mm))
        self.at_the_side = self.width - self.size >= SIDE_GAP_MM + PAD
        spare = self.height - self.size - float(TEXT_MM)
        # Lines that fit below the code, each as wide as the label.
        self.lines_below = 0 if self.at_the_side else int(round(spare / NARROW_MM, 3))
        self.below = float(TEXT_MM) + self.lines_below * NARROW_MM
        self.left = PAD if self.at_the_side else (self.width - self.size) / 2
        self.bottom = self.below + (spare - self.lines_below * NARROW_MM) / 2  # of the QR code
        self.logo = self._logo_area(*on_white(design.logo).size) if design.logo else None
        self.mark = mark_of(design.mark, self.width, self.height) if design.mark else None
        self.details = lru_cache(maxsize=1024)(self._details)

    def lines(self, label: Label) -> Iterator[TextLine]:
        """The text lines: the code first, then the details of the product."""
        code = self.code_line(label)
        yield code
        small = tuple(filter(None, (label.sku, label.expiry, label.note)))
        yield from self.details(label.title, small, round(code.left + code.width, 1))

    def code_line(self, label: Label) -> TextLine:
        """Never truncated: an incomplete code is useless."""
        (text, face, ems), strip = code_text(label), self.strip
        size = min(CODE_PT, strip.width * POINTS_PER_MM / ems) if ems else CODE_PT
        width = ems * size / POINTS_PER_MM
        middle = self.left + self.size / 2
        shares_its_line = bool(not self.at_the_side and not self.lines_below and label.details)
        left = strip.left if shares_its_line else min(max(middle - width / 2, strip.left), strip.right - width)
        return TextLine(text, face, left, self.bottom, size, width)

    @property
    def strip(self) -> Area:
        """The area below the QR code."""
        left = PAD if self.at_the_side or not self.logo else max(PAD, self.logo.right + PAD)
        return Area(left, self.width - PAD, self.bottom - self.below, self.bottom)

    @property
    def box(self) -> Area:
        """The area next to the QR code, below the logo."""
        top = self.logo.bottom if self.logo else self.height
        return Area(self.left + self.size + PAD, self.width - PAD, self.bottom, top - PAD)

    def _details(self, title: str, small: tuple[str, ...], code_ends: float) -> list[TextLine]:
        title, small = text_layout.clean(title), tuple(filter(None, map(text_layout.clean, small)))
        if self.at_the_side:
            return self._at_the_side(title, small)
        strip = self.strip
        if self.lines_below:
            several = [title, *small] if title else list(small)
            if len(several) > self.lines_below:
                several = [self._one_line(title, small, strip.width)]
            tops = (strip.top - float(TEXT_MM) - number * NARROW_MM for number in range(len(several)))
            return [self._centred(texts, strip, top) for texts, top in zip(several, tops, strict=True)]
        room = strip._replace(left=code_ends + PAD)
        if room.width < MIN_TEXT_WIDTH_MM:
            return []
        line = self._one_line(title, small, room.width)
        return list(_paragraph(line, room, top=strip.top - 0.3, size=NARROW_PT, most_lines=1))

    def _at_the_side(self, title: str, small: tuple[str, ...]) -> list[TextLine]:
        """As large as fits the box completely, centred; truncated if it does not fit at the usual size."""
        for larger in ENLARGEMENTS:
            result = self._filled(title, small, larger)
            if result and self._is_whole(title, small, larger, result):
                return self._in_the_middle(result)
        return self._filled(title, small, 1.0)

    def _filled(self, title: str, small: tuple[str, ...], larger: float) -> list[TextLine]:
        box, title_pt, small_pt = self.box, TITLE_PT * larger, SMALL_PT * larger
        line = small_pt * LEADING / POINTS_PER_MM
        fitting = int((box.height - len(small) * line) / (title_pt * LEADING / POINTS_PER_MM))
        rows = list(_paragraph(title, box, top=box.top, size=title_pt, most_lines=min(fitting, MAX_TITLE_LINES)))
        for texts in small:
            top = rows[-1].top - rows[-1].size * LEADING / POINTS_PER_MM if rows else box.top
            if top - line < box.bottom:
                break
            rows += _paragraph(texts, box, top=top, size=small_pt, most_lines=1)
        return rows

    def _is_whole(self, title: str, small: tuple[str, ...], larger: float, placed: list[TextLine]) -> bool:
        """Whether nothing is truncated and no word is broken."""
        room = self.box.width * POINTS_PER_MM / larger
        texts = [text_layout.shaped(word) for word in title.split()]
        if any(measure(word) * TITLE_PT > room for word in texts):
            return False
        if any(measure(text_layout.shaped(line)) * SMALL_PT > room for line in small):
            return False
        lines = list(
            text_layout.wrapped(text_layout.shaped(title), width=room / TITLE_PT, most_lines=99, measure=measure)
        )
        return len(placed) == len(lines) + len(small)

    def _in_the_middle(self, placed: list[TextLine]) -> list[TextLine]:
        last = placed[-1]
        ends = last.top - last.size * LEADING / POINTS_PER_MM
        down = max(ends - self.box.bottom, 0) / 2
        return [replace(line, top=line.top - down) for line in placed]

    def _one_line(self, title: str, small: tuple[str, ...], width: float) -> str:
        """All text on one line; if that is too long, the title is truncated first."""
        remaining = " · ".join(small)
        if not title:
            return remaining
        room = width * POINTS_PER_MM / NARROW_PT - measure(f" · {remaining}" if remaining else "")
        return " · ".join(filter(None, (text_layout.cut(title, width=room, measure=measure), remaining)))

    def _centred(self, content: str, area: Area, top: float) -> TextLine:
        text = text_layout.shaped(content)
        line = text_layout.cut(text, width=area.width * POINTS_PER_MM / NARROW_PT, measure=measure)
        width = measure(line) * NARROW_PT / POINTS_PER_MM
        left = (area.left + area.right - width) / 2
        return TextLine(line, fonts.sans(), left, top, NARROW_PT, width, text_layout.right_to_left(text))

    def _logo_area(self, width: int, height: int) -> Area:
        """Above the text next to the QR code, or at the left of the strip below it."""
        if self.at_the_side:
            left, top = self.left + self.size + PAD, self.height - PAD
            most_width, most_height = self.width - PAD - left, LOGO_MM
        else:
            left, top = PAD, self.bottom
            most_width, most_height = self.width / 4, self.below - 0.5
        ratio = min(most_width / width, most_height / height)
        return Area(left, left + width * ratio, top - height * ratio, top)


def code_text(label: Label) -> tuple[str, Face, float]:
    """The shaped code, its face, and its width in ems."""
    text = text_layout.shaped(text_layout.clean(label.text))
    face = fonts.mono() if fonts.mono().has(text) else fonts.sans()
    return text, face, fonts.measured(text, face)


def mark_of(text: str, width: float, height: float) -> TextLine:
    """As large as the label allows, centred."""
    ems = fonts.measured(text, fonts.sans())
    size = min(width * MARK_SHARE * POINTS_PER_MM / ems, height * MARK_SHARE * POINTS_PER_MM)
    long = ems * size / POINTS_PER_MM
    top = (height + size / POINTS_PER_MM) / 2
    return TextLine(text, fonts.sans(), (width - long) / 2, top, size, long)


def edges(sheet: presets.Sheet) -> tuple[list[float], list[float]]:
    """The edges of labels: from the left, and from the bottom of the page."""
    across = {
        float(sheet.left + column * sheet.pitch_x + more)
        for column in range(sheet.columns)
        for more in (Decimal(0), sheet.label_width)
    }
    up = {
        float(sheet.page_height - sheet.top - row * sheet.pitch_y - more)
        for row in range(sheet.rows)
        for more in (Decimal(0), sheet.label_height)
    }
    return sorted(across), sorted(up)


def cut_marks(sheet: presets.Sheet) -> Iterator[tuple[float, float, float, float]]:
    """Short lines in the page's margins, aligned with the labels' edges: start and end of each."""
    across, up = edges(sheet)
    width, height = float(sheet.page_width), float(sheet.page_height)
    yield from ((x, begin, x, end) for begin, end in _at_the_side(up, height) for x in across)
    yield from ((begin, y, end, y) for begin, end in _at_the_side(across, width) for y in up)


def _at_the_side(edges: list[float], side: float) -> Iterator[tuple[float, float]]:
    """Start and end of marks outside the first and the last edge, if the paper has room for them."""
    for edge, room, way in ((edges[0], edges[0], -1), (edges[-1], side - edges[-1], 1)):
        length = min(room - CUT_GAP_MM, CUT_MARK_MM)
        if length >= 1:
            yield edge + way * CUT_GAP_MM, edge + way * (CUT_GAP_MM + length)


def on_white(logo: bytes) -> Image.Image:
    """A design's logo on white, as it is printed."""
    with Image.open(io.BytesIO(logo), formats=["PNG"]) as image:
        picture = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")


def measure(text: str) -> float:
    return fonts.measured(text, fonts.sans())


def _paragraph(content: str, area: Area, *, top: float, size: float, most_lines: int) -> Iterator[TextLine]:
    """`content` in `area` from `top` down; right-to-left text is aligned right."""
    text = text_layout.shaped(content)
    backwards = text_layout.right_to_left(text)
    ems = area.width * POINTS_PER_MM / size
    for line in text_layout.wrapped(text, width=ems, most_lines=most_lines, measure=measure):
        width = measure(line) * size / POINTS_PER_MM
        yield TextLine(line, fonts.sans(), area.right - width if backwards else area.left, top, size, width, backwards)
        top -= size * LEADING / POINTS_PER_MM
