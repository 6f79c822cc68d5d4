"""Reads PDFs of labels: coordinates in millimetres, pages as images, and the codes and texts on them."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import zxingcpp
from PIL import Image, ImageFilter
from pypdf import PageObject, PdfReader
from pypdf.generic import ContentStream

MM = 25.4 / 72
GTIN = "4006381333931"
IDENTITY = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


Point = tuple[float, float]
Box = tuple[float, float, float, float]
Matrix = tuple[float, float, float, float, float, float]


@dataclass
class DrawnPage:
    """Boxes are left, top, right, bottom in millimetres from the page's top left corner."""

    width: float
    height: float
    positions: list[Point] = field(default_factory=list)  # lower left corners that labels move to
    codes: list[tuple[Box, float]] = field(default_factory=list)  # the dark modules' box, and a module's width
    lines: list[Box] = field(default_factory=list)
    images: list[Box] = field(default_factory=list)


def pages(file: Path) -> list[DrawnPage]:
    reader = PdfReader(file)
    return [drawn_page(page, reader) for page in reader.pages]


def drawn_page(page: PageObject, reader: PdfReader) -> DrawnPage:  # noqa: C901 - one operator after the other
    """Interprets the content stream of a page, following its matrices."""
    width, height = float(page.mediabox.width), float(page.mediabox.height)
    page_content = DrawnPage(width * MM, height * MM)
    matrix: Matrix = IDENTITY
    saved: list[Matrix] = []
    boxes: list[Box] = []
    start = (0.0, 0.0)

    def at(x: float, y: float) -> Point:
        a, b, c, d, e, f = matrix
        return ((a * x + c * y + e) * MM, (height - (b * x + d * y + f)) * MM)

    for operands, operator in ContentStream(page.get_contents(), reader).operations:
        values = [float(it) for it in operands if isinstance(it, int | float)] if operator != b"Tj" else []
        if operator == b"q":
            saved.append(matrix)
        elif operator == b"Q":
            matrix = saved.pop()
        elif operator == b"cm":
            matrix = multiplied(values, matrix)
            if values[:4] == [1, 0, 0, 1] and len(saved) == 2:
                page_content.positions.append(at(0, 0))
        elif operator == b"re":
            x, y, w, h = values
            boxes.append((*at(x, y), *at(x + w, y + h)))
        elif operator == b"f":
            page_content.codes.append((enclosing_box(boxes), abs(matrix[0]) * MM))
            boxes = []
        elif operator == b"m":
            start = at(*values)
        elif operator == b"l":
            page_content.lines.append((*start, *at(*values)))
        elif operator == b"Do":
            page_content.images.append(enclosing_box([(*at(0, 0), *at(1, 1))]))
    assert saved == []
    return page_content


def multiplied(first: Sequence[float], second: Matrix) -> Matrix:
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)


def enclosing_box(boxes: Sequence[Box]) -> Box:
    return (
        min(min(box[0], box[2]) for box in boxes),
        min(min(box[1], box[3]) for box in boxes),
        max(max(box[0], box[2]) for box in boxes),
        max(max(box[1], box[3]) for box in boxes),
    )


def rasterised(file: Path, *, dpi: int, first: int = 1, last: int = 1) -> list[Image.Image]:
    """Pages as grey images, by poppler."""
    target = Path(file).with_suffix("")
    command = ["pdftoppm", "-gray", "-r", str(dpi), "-f", str(first), "-l", str(last), str(file), str(target)]
    subprocess.run(command, check=True)
    return [Image.open(it) for it in sorted(target.parent.glob(f"{target.name}-*.pgm"))]


def read_codes(image: Image.Image, box: Box, *, dpi: int, worn: bool = False) -> list[str]:
    """The contents of the codes in a box of a page; `worn`: turned a little and out of focus."""
    left, top, right, bottom = (round(edge / 25.4 * dpi) for edge in box)
    part = image.crop((left, top, right, bottom))
    if worn:
        part = part.rotate(4, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
        part = part.filter(ImageFilter.GaussianBlur(0.9))
    symbols = zxingcpp.read_barcodes(part, formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode))
    return [it.bytes.decode() for it in symbols]


def text_boxes(file: Path) -> list[tuple[int, Box, str]]:
    """Each word of a PDF with its page number, counted from 0, and its box."""
    output = subprocess.run(["pdftotext", "-bbox", str(file), "-"], check=True, capture_output=True, text=True).stdout
    boxes = []
    for number, page in enumerate(output.split("<page ")[1:]):
        for *edges, text in re.findall(
            r'<word xMin="([^"]+)" yMin="([^"]+)" xMax="([^"]+)" yMax="([^"]+)">([^<]*)</word>', page
        ):
            left, top, right, bottom = (float(edge) * MM for edge in edges)
            boxes.append((number, (left, top, right, bottom), text))
    return boxes
