"""Sheets: draws QR codes and their text as vectors on sheets of labels, page by page into a PDF."""

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import BinaryIO

from django.utils.translation import gettext as _

from authcodes.printing.labels import fonts, presets, text_layout
from authcodes.printing.labels.custom_layout import placement_of
from authcodes.printing.labels.design import Design, Label, check_printer
from authcodes.printing.labels.layout import (
    ASCENT,
    MARK_GREY,
    POINTS_PER_MM,
    SMALL_PT,
    cut_marks,
    edges,
    on_white,
)
from authcodes.printing.labels.pdf_writer import Document
from authcodes.printing.labels.presets import wrong
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import symbol

RULER_MM = 100


def write(
    file: BinaryIO, labels: Iterable[Label], design: Design, *, progress: Callable[[int], None] | None = None
) -> int:
    """Write a PDF of `labels` in their order. Returns the number of pages. Memory does not grow with it.

    Calls `progress` after each page with the number of drawn labels; it may raise. Raises Invalid for a design that
    cannot be printed, or if there are no labels.
    """
    design.check()
    remaining = iter(labels)
    first = next(remaining, None)
    if first is None:
        raise wrong("labels", _("There are no labels to print."))
    document = _document(file, design)
    painter = _Painter(document, design)
    done = 0
    for slot, some in _pages(chain([first], remaining), design):
        document.page(painter.page(slot, some))
        done += len(some)
        if progress is not None:
            progress(done)
    document.close()
    return document.pages


def _document(file: BinaryIO, design: Design) -> Document:
    return Document(file, width=float(design.sheet.page_width), height=float(design.sheet.page_height))


def _pages(labels: Iterator[Label], design: Design) -> Iterator[tuple[int, list[Label]]]:
    """The labels of each page, and the position of the first one on it, counted from 0."""
    slot = design.start - 1
    while some := list(islice(labels, design.sheet.per_page - slot)):
        yield slot, some
        slot = 0


class _Painter:
    """Draws labels as content of a PDF's pages: takes millimetres, writes points."""

    def __init__(self, document: Document, design: Design) -> None:
        self.document, self.design = document, design
        self.placement = placement_of(design)
        self.logo, self.mark = self._logo(), self._mark()

    def page(self, slot: int, some: list[Label]) -> str:
        drawn = [f"q {_matrix(self.design)}"]
        if self.design.cut_marks:
            drawn.append(_cut_marks(self.design.sheet))
        sheet = self.design.sheet
        for index, label in enumerate(some, slot):
            left, top = sheet.place(index, by_column=self.design.by_column)
            x, y = float(left), float(sheet.page_height - top - sheet.label_height)
            drawn += (f"q 1 0 0 1 {_points(x, y)} cm\n", *self.label(label), "Q\n")
        return "".join([*drawn, "Q"])

    def label(self, label: Label) -> Iterator[str]:
        yield self.mark
        yield self._symbol(label)
        for line in self.placement.lines(label):
            seen = text_layout.in_order_of_sight(line.text, right_to_left=line.right_to_left)
            at = {"x": line.left * POINTS_PER_MM, "y": line.baseline * POINTS_PER_MM}
            yield self.document.text(seen, line.face, **at, size=line.size)
        yield self.logo

    def _symbol(self, label: Label) -> str:
        drawn, place = symbol(label.payload, label.level), self.placement
        module = place.size / images.modules_across(drawn)
        boxes = "".join([f"{x} {y} {length} 1 re\n" for x, y, length in images.runs(drawn)])
        # Modules count from the top left of the quiet zone, downwards.
        scale = module * POINTS_PER_MM
        return f"q {scale:.6f} 0 0 {-scale:.6f} {_points(place.left, place.bottom + place.size)} cm\n{boxes}f\nQ\n"

    def _mark(self) -> str:
        line = self.placement.mark
        if line is None:
            return ""
        at = {"x": line.left * POINTS_PER_MM, "y": line.baseline * POINTS_PER_MM}
        return f"q {MARK_GREY} g\n{self.document.text(line.text, line.face, **at, size=line.size)}Q\n"

    def _logo(self) -> str:
        area, logo = self.placement.logo, self.design.logo
        if area is None or logo is None:
            return ""
        name = self.document.image(on_white(logo))
        size = f"{area.width * POINTS_PER_MM:.3f} 0 0 {area.height * POINTS_PER_MM:.3f}"
        return f"q {size} {_points(area.left, area.bottom)} cm {name} Do Q\n"


def _matrix(design: Design) -> str:
    """The printer's correction, relative to the top left corner of the page."""
    scale, height = float(design.scale), float(design.sheet.page_height)
    x, y = float(design.offset_x), height * (1 - scale) - float(design.offset_y)
    return f"{scale:.5f} 0 0 {scale:.5f} {x * POINTS_PER_MM:.3f} {y * POINTS_PER_MM:.3f} cm\n"


def _points(x: float, y: float) -> str:
    return f"{x * POINTS_PER_MM:.3f} {y * POINTS_PER_MM:.3f}"


def _text(document: Document, text: str, *, x: float, top: float, size: float) -> str:
    """A line of plain text with its upper edge at `top`."""
    seen = text_layout.in_order_of_sight(text, right_to_left=text_layout.right_to_left(text))
    return document.text(seen, fonts.sans(), x=x * POINTS_PER_MM, y=top * POINTS_PER_MM - size * ASCENT, size=size)


def _stroke(x: float, y: float, to_x: float, to_y: float) -> str:
    return f"{_points(x, y)} m {_points(to_x, to_y)} l S\n"


def _cut_marks(sheet: presets.Sheet) -> str:
    return "".join(["0.3 w\n", *(_stroke(*mark) for mark in cut_marks(sheet))])


def calibration(design: Design) -> bytes:
    """A page with a 1 mm cross on each corner of each label, and rulers: shows a printer's offset and scale.

    It uses the design's own offsets and scale, so it also shows whether they are correct. Raises Invalid for those and
    for a sheet that cannot be printed; the size of the QR code does not matter.
    """
    design.sheet.check()
    check_printer(offset_x=design.offset_x, offset_y=design.offset_y, scale=design.scale)
    file = io.BytesIO()
    document = _document(file, design)
    width, height = float(design.sheet.page_width), float(design.sheet.page_height)
    across, up = edges(design.sheet)
    drawn = [f"q {_matrix(design)}0.3 w\n"]
    for x in across:
        for y in up:
            drawn += (_stroke(x - 0.5, y, x + 0.5, y), _stroke(x, y - 0.5, x, y + 0.5))
    lengths = [min(RULER_MM, int((side - 20) / 10) * 10) for side in (width, height)]
    drawn += _ruler(document, lengths[0], lambda at, off: ((width - lengths[0]) / 2 + at, height / 2 - off))
    drawn += _ruler(document, lengths[1], lambda at, off: (width / 4 - off, (height - lengths[1]) / 2 + at))
    captions = [
        _("Print this page at 100 %, without fitting it to the paper."),
        _("Hold it against a sheet of labels. Each cross should lie on a label's corner; if not, measure the offset."),
        _("The rulers are %(across)s mm and %(up)s mm long.") % {"across": lengths[0], "up": lengths[1]},
    ]
    left = width / 4 + 5  # clear of the vertical ruler
    for number, line in enumerate(captions):
        shaped = text_layout.shaped(line)
        size = min(8, (width - left - 10) * POINTS_PER_MM / fonts.measured(shaped, fonts.sans()))
        drawn.append(_text(document, shaped, x=left, top=height / 2 + 25 - number * 4, size=size))
    document.page("".join([*drawn, "Q"]))
    document.close()
    return file.getvalue()


def _ruler(document: Document, length: int, place: Callable[[float, float], tuple[float, float]]) -> Iterator[str]:
    """Ticks at each millimetre, longer at each fifth and tenth. `place` maps `at` along and `off` to a position."""
    yield _stroke(*place(0, 0), *place(length, 0))
    for tick in range(length + 1):
        long = 4.0 if tick % 10 == 0 else 3.0 if tick % 5 == 0 else 2.0
        yield _stroke(*place(tick, 0), *place(tick, long))
        if tick % 10 == 0:
            x, y = place(tick, 7)
            yield _text(document, str(tick), x=x - 1, top=y + 1, size=SMALL_PT)
