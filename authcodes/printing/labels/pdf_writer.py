"""PDF files as a stream: each page leaves memory once it is drawn; fpdf2's fonts and images follow at the end."""

import logging
import re
import zlib
from array import array
from typing import BinaryIO, cast

from fpdf import FPDF
from fpdf.fonts import TTFFont
from PIL import Image

from authcodes.printing.labels import fonts
from authcodes.printing.labels.fonts import JOINERS, Face, Picture, Run

# Otherwise each font subset fills the log with its glyphs.
logging.getLogger("fontTools").setLevel(logging.WARNING)

POINTS_PER_MM = 72 / 25.4
_PAGES, _CATALOG = 1, 2  # numbers of objects that are written last
_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")


class Font:
    """A face, with the letters that one document uses."""

    def __init__(self, fpdf: FPDF, face: Face) -> None:
        fpdf.add_font(face.name, fname=face.path)
        self._font = cast("TTFFont", fpdf.fonts[face.name.lower()])

    @property
    def name(self) -> str:
        """Its name in a page's content."""
        return f"/F{self._font.i}"

    def encoded(self, text: str) -> str:
        """`text` as a hexadecimal string of a page's content: no character in it can end the string."""
        return f"<{''.join(self._glyph(it) for it in text if it not in JOINERS)}>"

    def _glyph(self, character: str) -> str:
        return f"{self._font.subset.pick(ord(character)) or 0:04x}"


class Document:
    """A PDF with pages of one size, in millimetres. It is complete once it is closed."""

    def __init__(self, file: BinaryIO, *, width: float, height: float) -> None:
        self.width, self.height = width * POINTS_PER_MM, height * POINTS_PER_MM
        self._file, self._at = file, 0
        self._offsets = array("Q", [0, 0, 0])  # of the objects, by number; there is no object 0
        self._pages = array("L")
        # Its only page stays empty: it is used for its fonts and images.
        self._fpdf = FPDF(unit="pt")
        self._fpdf.single_resources_object = True
        self._fpdf.add_page()
        self._fonts: dict[Face, Font] = {}
        self._pictures: dict[Run, tuple[str, Picture]] = {}
        self._write(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")

    @property
    def pages(self) -> int:
        return len(self._pages)

    def image(self, image: Image.Image) -> str:
        """Its name in pages' contents, where it is one unit wide and high."""
        return f"/I{self._fpdf.image(image, x=0, y=0, w=1, h=1)['i']}"

    def text(self, line: str, face: Face, *, x: float, y: float, size: float) -> str:
        """Content that writes a line, its characters in visual order, at `x` and the baseline `y`, in points."""
        drawn = []
        for run in fonts.runs(line, face):
            drawn.append(self._picture(run, x, y, size) if run.face.is_pictured else self._letters(run, x, y, size))
            x += run.width * size
        return "".join(drawn)

    def _letters(self, run: Run, x: float, y: float, size: float) -> str:
        font = self._fonts.get(run.face)
        if font is None:
            font = self._fonts[run.face] = Font(self._fpdf, run.face)
        return f"BT {font.name} {size:.2f} Tf {x:.3f} {y:.3f} Td {font.encoded(run.text)} Tj ET\n"

    def _picture(self, run: Run, x: float, y: float, size: float) -> str:
        if run not in self._pictures:
            drawn = run.face.picture(run.text)
            self._pictures[run] = self.image(drawn.image), drawn
        name, drawn = self._pictures[run]
        size_and_place = (drawn.width, 0, 0, drawn.height, x / size + drawn.left, y / size + drawn.bottom)
        return f"q {' '.join(f'{it * size:.3f}' for it in size_and_place)} cm {name} Do Q\n"

    def page(self, content: str) -> None:
        """Add a page, drawn by `content` in points from the bottom left."""
        drawn = zlib.compress(content.encode("ascii"), 1)
        length = b"<</Filter /FlateDecode /Length %d>>" % len(drawn)
        stream = self._object(length + b"\nstream\n" + drawn + b"\nendstream\n")
        page = b"<</Type /Page /Parent %d 0 R /Contents %d 0 R>>\n" % (_PAGES, stream)
        self._pages.append(self._object(page))

    def close(self) -> None:
        resources = self._adopt_resources()
        kids = b" ".join(b"%d 0 R" % number for number in self._pages)
        box = f"[0 0 {self.width:.3f} {self.height:.3f}]".encode()
        root = b"<</Type /Pages /Count %d /MediaBox %s /Resources %d 0 R /Kids [%s]>>\n"
        self._object(root % (len(self._pages), box, resources, kids), number=_PAGES)
        # Readers that support this do not shrink the page to the printer's margins.
        catalog = b"<</Type /Catalog /Pages %d 0 R /ViewerPreferences <</PrintScaling /None>>>>\n" % _PAGES
        self._object(catalog, number=_CATALOG)
        start, count = self._at, len(self._offsets)
        self._write(b"xref\n0 %d\n0000000000 65535 f \n" % count)
        for offset in self._offsets[1:]:
            self._write(b"%010d 00000 n \n" % offset)
        self._write(b"trailer\n<</Size %d /Root %d 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (count, _CATALOG, start))

    def _adopt_resources(self) -> int:
        """Copy the resources of pages from fpdf2's own document. Returns the number of their dictionary here."""
        bodies = _objects(bytes(self._fpdf.output()))
        adopted: dict[int, int] = {}

        def adopt(number: int) -> int:
            if number not in adopted:
                head, mark, stream = bodies[number].partition(b"\nstream\n")
                head = _REFERENCE.sub(lambda match: b"%d 0 R" % adopt(int(match[1])), head)
                adopted[number] = self._object(head + mark + stream)
            return adopted[number]

        page = next(body for body in bodies.values() if re.search(rb"/Type /Page\b(?!s)", body))
        result = re.search(rb"/Resources (\d+) 0 R", page)
        assert result is not None  # noqa: S101 - fpdf2's only page has the only dictionary
        return adopt(int(result[1]))

    def _object(self, body: bytes, *, number: int = 0) -> int:
        """Write an object, with a new number if it has none. Returns the number."""
        if number:
            self._offsets[number] = self._at
        else:
            number = len(self._offsets)
            self._offsets.append(self._at)
        self._write(b"%d 0 obj\n" % number + body + b"endobj\n")
        return number

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)


def _objects(pdf: bytes) -> dict[int, bytes]:
    """The bodies of a PDF's objects by number, cut at the offsets of its cross-reference table."""
    start = int(pdf[pdf.rindex(b"startxref") + len(b"startxref") : pdf.rindex(b"%%EOF")])
    offsets = [int(entry) for entry in re.findall(rb"^(\d{10}) 00000 n ", pdf[start:], re.MULTILINE)]
    ends = dict(zip(sorted(offsets), [*sorted(offsets)[1:], start], strict=True))
    bodies = (pdf[offset : ends[offset]] for offset in offsets)
    return {
        number: body.removeprefix(b"%d 0 obj\n" % number).rstrip(b"\n").removesuffix(b"endobj")
        for number, body in enumerate(bodies, 1)
    }
