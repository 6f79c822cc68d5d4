"""Previews: the first page of a label sheet, or one label, as a picture for the portal that matches the PDF."""

import base64
import io
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from django.utils.html import escape

from authcodes.printing.labels import presets
from authcodes.printing.labels.custom_layout import Arrangement, placement_of
from authcodes.printing.labels.design import Design, Label
from authcodes.printing.labels.fonts import Run, runs
from authcodes.printing.labels.layout import MARK_GREY, POINTS_PER_MM, Area, Placement, TextLine, cut_marks
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import symbol

MAX_DRAWN_LABELS = 60  # the other labels of a page are frames
RULER = "#999"
Places = Placement | Arrangement


def preview(labels: list[Label], design: Design) -> bytes:
    """Page 1 as an SVG with the page's proportions, one unit per millimetre, with rulers at its upper and left edge."""
    sheet = design.sheet
    frame = f"h{sheet.label_width}v{sheet.label_height}h-{sheet.label_width}z"
    corner = f"translate({design.offset_x} {design.offset_y}) scale({design.scale})"
    box = f"0 0 {sheet.page_width} {sheet.page_height}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">',
        f'<path fill="#fff" d="M0 0h{sheet.page_width}v{sheet.page_height}H0z"/>',
        *_rulers(sheet),
        f'<g transform="{corner}">',
        *(f'<path d="M{x} {y}{frame}" fill="none" stroke="#ccc" stroke-width=".2"/>' for x, y in sheet.places()),
    ]
    if design.cut_marks:
        height = float(sheet.page_height)
        lines = (f"M{x:.2f} {height - y:.2f}L{to_x:.2f} {height - to_y:.2f}" for x, y, to_x, to_y in cut_marks(sheet))
        parts.append(f'<path d="{"".join(lines)}" stroke="#000" stroke-width=".15"/>')
    place = placement_of(design)
    if place.logo and design.logo:
        parts.append(f"<defs>{_logo(place, place.logo, design.logo)}</defs>")
    for index, label in enumerate(labels[:MAX_DRAWN_LABELS], design.start - 1):
        x, y = sheet.place(index, by_column=design.by_column)
        parts += [f'<g transform="translate({x} {y})">', *_label(label, place), "</g>"]
    return "".join([*parts, "</g></svg>"]).encode()


def one_label(label: Label, design: Design) -> str:
    """The inner elements of an SVG in millimetres: the content of a label, on white."""
    place = placement_of(design)
    logo = _logo(place, place.logo, design.logo) if place.logo and design.logo else ""
    white = f'<path fill="#fff" d="M0 0h{place.width:.3f}v{place.height:.3f}H0z"/>'
    return "".join([white, f"<defs>{logo}</defs>" if logo else "", *_label(label, place)])


def _label(label: Label, place: Places) -> Iterator[str]:
    drawn = symbol(label.payload, label.level)
    module = place.size / images.modules_across(drawn)
    top = place.height - place.bottom - place.size
    if place.mark:
        yield f'<g fill-opacity="{1 - MARK_GREY:.2f}">{_written(place.mark, place)}</g>'
    yield f'<path transform="translate({place.left:.3f} {top:.3f}) scale({module:.5f})" d="{images.outline(drawn)}"/>'
    for line in place.lines(label):
        yield _text(line, place)
    if place.logo:
        yield '<use href="#logo"/>'


def _text(line: TextLine, place: Places) -> str:
    """As wide as on paper, whatever font the browser has."""
    pieces = runs(line.text, line.face)
    if any(run.face.is_pictured for run in pieces) and not line.right_to_left:
        return "".join(_pieces(line, pieces, place))
    return _written(line, place)


def _pieces(line: TextLine, pieces: list[Run], place: Places) -> Iterator[str]:
    """Text that the PDF shows as pictures, since most browsers lack its font, uses the same pictures here."""
    left, millimetres = line.left, line.size / POINTS_PER_MM
    for run in pieces:
        width = run.width * millimetres
        if run.face.is_pictured:
            drawn, file = run.face.picture(run.text), io.BytesIO()
            drawn.image.save(file, "PNG")
            top = place.height - line.baseline - (drawn.bottom + drawn.height) * millimetres
            box = Area(left + drawn.left * millimetres, 0, 0, drawn.height * millimetres)
            yield _image(box._replace(right=box.left + drawn.width * millimetres), top, file.getvalue())
        else:
            yield _written(replace(line, text=run.text, left=left, width=width), place)
        left += width


def _written(line: TextLine, place: Places) -> str:
    font = "DejaVu Sans Mono,monospace" if line.face.name.endswith("Mono") else "DejaVu Sans,sans-serif"
    x = line.left + line.width if line.right_to_left else line.left
    way = ' direction="rtl"' if line.right_to_left else ""
    return (
        f'<text x="{x:.3f}" y="{place.height - line.baseline:.3f}" font-family="{font}" '
        f'font-size="{line.size / POINTS_PER_MM:.3f}" textLength="{line.width:.3f}" lengthAdjust="spacingAndGlyphs"'
        f"{way}>{escape(line.text)}</text>"
    )


def _logo(place: Places, area: Area, logo: bytes) -> str:
    """Defined once, however many labels show it."""
    return _image(area, place.height - area.top, logo, more=' id="logo"')


def _image(area: Area, y: float, png: bytes, more: str = "") -> str:
    """A picture as large as the area, with its upper edge `y` below the label's."""
    return (
        f'<image{more} x="{area.left:.3f}" y="{y:.3f}" width="{area.width:.3f}" height="{area.height:.3f}" '
        f'href="data:image/png;base64,{base64.b64encode(png).decode()}"/>'
    )


def _rulers(sheet: presets.Sheet) -> Iterator[str]:
    """A tick at each centimetre, with its number."""
    for along, is_across in ((sheet.page_width, True), (sheet.page_height, False)):
        for tick in range(10, int(along), 10):
            line = f"M{tick} 0v2.5" if is_across else f"M0 {tick}h2.5"
            x, y = (tick, Decimal("4.6")) if is_across else (Decimal("2.8"), tick)
            yield f'<path d="{line}" stroke="{RULER}" stroke-width=".2"/>'
            yield f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="2" fill="{RULER}">{tick // 10}</text>'
