"""What a PDF of labels holds: its coordinates in millimetres, and its pages as a printer would see them."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import zxingcpp
from PIL import Image, ImageFilter
from pypdf import PdfReader
from pypdf.generic import ContentStream

MM = 25.4 / 72
IDENTITY = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass
class Drawn:
    """Boxes are left, top, right, bottom in millimetres from the page's top left corner."""

    width: float
    height: float
    places: list = field(default_factory=list)  # lower left corners that labels move to
    codes: list = field(default_factory=list)  # the dark modules' box, and a module's width
    lines: list = field(default_factory=list)
    images: list = field(default_factory=list)


def pages(file):
    reader = PdfReader(file)
    return [drawn(page, reader) for page in reader.pages]


def drawn(page, reader):  # noqa: C901 - one operator after the other
    """Follows the matrices of a page's content stream."""
    width, height = float(page.mediabox.width), float(page.mediabox.height)
    found = Drawn(width * MM, height * MM)
    matrix, saved, boxes, start = IDENTITY, [], [], None

    def at(x, y):
        a, b, c, d, e, f = matrix
        return ((a * x + c * y + e) * MM, (height - (b * x + d * y + f)) * MM)

    for operands, operator in ContentStream(page.get_contents(), reader).operations:
        values = [float(it) for it in operands if isinstance(it, int | float)] if operator != b"Tj" else []
        if operator == b"q":
            saved.append(matrix)
        elif operator == b"Q":
            matrix = saved.pop()
        elif operator == b"cm":
            matrix = times(values, matrix)
            if values[:4] == [1, 0, 0, 1] and len(saved) == 2:
                found.places.append(at(0, 0))
        elif operator == b"re":
            x, y, w, h = values
            boxes.append((*at(x, y), *at(x + w, y + h)))
        elif operator == b"f":
            found.codes.append((around(boxes), abs(matrix[0]) * MM))
            boxes = []
        elif operator == b"m":
            start = at(*values)
        elif operator == b"l":
            found.lines.append((*start, *at(*values)))
        elif operator == b"Do":
            found.images.append(around([(*at(0, 0), *at(1, 1))]))
    assert saved == []
    return found


def times(one, other):
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)


def around(boxes):
    return (
        min(min(box[0], box[2]) for box in boxes),
        min(min(box[1], box[3]) for box in boxes),
        max(max(box[0], box[2]) for box in boxes),
        max(max(box[1], box[3]) for box in boxes),
    )


def rasterised(file, *, dpi, first=1, last=1):
    """Pages as grey images, by poppler."""
    target = Path(file).with_suffix("")
    command = ["pdftoppm", "-gray", "-r", str(dpi), "-f", str(first), "-l", str(last), str(file), str(target)]
    subprocess.run(command, check=True)
    return [Image.open(it) for it in sorted(target.parent.glob(f"{target.name}-*.pgm"))]


def read(image, box, *, dpi, worn=False):
    """What the one code in a box of a page says; `worn`: turned a little and out of focus."""
    part = image.crop([round(edge / 25.4 * dpi) for edge in box])
    if worn:
        part = part.rotate(4, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
        part = part.filter(ImageFilter.GaussianBlur(0.9))
    found = zxingcpp.read_barcodes(part, formats=zxingcpp.BarcodeFormat.QRCode)
    return [it.bytes.decode() for it in found]


def words(file):
    """Each word of a PDF with its page, counted from 0, and its box."""
    told = subprocess.run(["pdftotext", "-bbox", str(file), "-"], check=True, capture_output=True, text=True).stdout
    found = []
    for number, page in enumerate(told.split("<page ")[1:]):
        for *box, word in re.findall(
            r'<word xMin="([^"]+)" yMin="([^"]+)" xMax="([^"]+)" yMax="([^"]+)">([^<]*)</word>', page
        ):
            found.append((number, tuple(float(edge) * MM for edge in box), word))
    return found
