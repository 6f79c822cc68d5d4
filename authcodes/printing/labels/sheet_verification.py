"""Verification of sheets: another library reads pages of a finished PDF, and their symbols are decoded.

Nothing here depends on how the file was made: pypdf finds the pages, and only the operators that paint boxes and
pictures are followed. Each symbol is painted at the printer's resolution at its place, and read with its quiet zone.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pypdf
from django.utils.translation import gettext as _
from PIL import Image, ImageDraw

from authcodes.printing.labels.design import Label
from authcodes.printing.qr import verification
from authcodes.printing.qr.images import DPI

FIRST_PAGES = 10  # all of these are read,
EVERY_PAGE = 100  # then one of this many, and the last
POINTS_PER_INCH = 72
SLACK = 0.01  # points, tolerance for rounded numbers

Matrix = tuple[float, float, float, float, float, float]
Box = tuple[float, float, float, float]  # left, bottom, right, top in points
_UPRIGHT: Matrix = (1, 0, 0, 1, 0, 0)
# Text in our pages is hexadecimal, so it cannot contain an operator.
_TEXT = re.compile(rb"BT .*? ET\n")


def is_read(page: int) -> bool:
    """Whether the page is in the sample, counted from 0; the last one always is."""
    return page < FIRST_PAGES or page % EVERY_PAGE == 0


@dataclass(slots=True)
class Page:
    """What a page paints: each filled group of boxes, and the positions of pictures and text."""

    symbols: list[list[Box]] = field(default_factory=list)
    pictures: list[Box] = field(default_factory=list)


def check(file: BinaryIO, expected: dict[int, list[str]], *, pages: int) -> int:
    """Read pages of the finished `file`, by number from 0. Returns how many codes they showed.

    Raises Unreadable unless each shows exactly the `expected` codes, in order, with nothing painted into a quiet zone.
    """
    reader = pypdf.PdfReader(file)
    root: Any = reader.trailer["/Root"]
    kids = root["/Pages"]["/Kids"]
    if len(kids) != pages:
        raise _wrong(len(kids))
    read = 0
    for number, codes in expected.items():
        content = kids[number].get_object()["/Contents"].get_object().get_data()
        page = _painted(content)
        if len(page.symbols) != len(codes):
            raise _wrong(number + 1)
        for boxes, code in zip(page.symbols, codes, strict=True):
            verification.expect(_read(boxes, page.pictures), code)
        read += len(codes)
    return read


def _wrong(page: int) -> verification.Unreadable:
    message = _("Page %(page)d of the finished file does not contain the expected codes.")
    return verification.Unreadable(message % {"page": page})


def _painted(content: bytes) -> Page:
    """Follow the operators of a page."""
    page, matrix, saved = Page(), _UPRIGHT, list[Matrix]()
    boxes, numbers = list[Box](), list[float]()
    for token in _TEXT.sub(b"", content).split():
        if token == b"re":
            boxes.append(_box(matrix, *numbers[-4:]))
        elif token == b"f":
            page.symbols.append(boxes)
            boxes = []
        elif token == b"cm":
            matrix = _times(numbers[-6:], matrix)
        elif token == b"q":
            saved.append(matrix)
        elif token == b"Q":
            matrix = saved.pop()
        elif token == b"Do":
            page.pictures.append(_box(matrix, 0, 0, 1, 1))
        elif token[:1] in b"-0123456789":
            numbers.append(float(token))
            continue
        numbers.clear()
    return page


def _times(one: list[float], other: Matrix) -> Matrix:
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _box(matrix: Matrix, x: float, y: float, width: float, height: float) -> Box:
    a, b, c, d, e, f = matrix
    ends = [(a * at + c * up + e, b * at + d * up + f) for at, up in ((x, y), (x + width, y + height))]
    (left, right), (bottom, top) = (sorted(axis) for axis in zip(*ends, strict=True))
    return left, bottom, right, top


def _read(boxes: list[Box], pictures: list[Box]) -> str | None:
    """The content of the symbol when printed; None if a picture reaches into its quiet zone."""
    left, bottom = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, top = max(box[2] for box in boxes), max(box[3] for box in boxes)
    # The edge of the upper left finder pattern is seven modules long.
    edge = min((box for box in boxes if box[3] > top - SLACK), key=lambda box: box[0])
    quiet = (edge[2] - edge[0]) / 7 * verification.QUIET_ZONE
    around = left - quiet, bottom - quiet, right + quiet, top + quiet
    if any(_meet(around, picture) for picture in pictures):
        return None
    dots = DPI / POINTS_PER_INCH
    size = round((around[2] - around[0]) * dots), round((around[3] - around[1]) * dots)
    image = Image.new("L", size, 255)
    draw = ImageDraw.Draw(image)
    for left, upper, right, lower in (_dots(box, around, dots) for box in boxes):
        if left <= right and upper <= lower:
            draw.rectangle((left, upper, right, lower), fill=0)
    return verification.read_image(image)


def _dots(box: Box, around: Box, dots: float) -> tuple[int, int, int, int]:
    """The pixels with their centre in the box."""
    left, right = round((box[0] - around[0]) * dots), round((box[2] - around[0]) * dots)
    upper, lower = round((around[3] - box[3]) * dots), round((around[3] - box[1]) * dots)
    return left, upper, right - 1, lower - 1


def _meet(one: Box, other: Box) -> bool:
    return all(one[low] < other[low + 2] - SLACK and other[low] < one[low + 2] - SLACK for low in (0, 1))


class Sample:
    """Records the expected content of the sample's pages, while the labels pass through."""

    def __init__(self, *, per_page: int, start: int) -> None:
        self.per_page, self.at = per_page, start - 1
        self.expected: dict[int, list[str]] = {}
        self._last: list[str] = []

    def watched(self, labels: Iterable[Label]) -> Iterator[Label]:
        """Yields the same labels."""
        for label in labels:
            self._note(label.payload)
            yield label

    def _note(self, payload: str) -> None:
        page, place = divmod(self.at, self.per_page)
        if place == 0:
            self._last = []
        self._last.append(payload)
        if is_read(page):
            self.expected[page] = self._last
        self.at += 1

    def whole(self) -> dict[int, list[str]]:
        """The expected codes by page, including the last one."""
        last = (self.at - 1) // self.per_page
        return {**self.expected, last: self._last}
