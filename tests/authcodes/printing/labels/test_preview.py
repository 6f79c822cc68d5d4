"""Sketches: the picture of page 1 has each code where the PDF has it, and text from people as text."""

import io
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest
import zxingcpp
from PIL import Image

from authcodes.printing.labels import sheet_pdf
from authcodes.printing.labels.design import Design, Label
from authcodes.printing.labels.layout import Placement
from authcodes.printing.labels.presets import PRESETS, Sheet
from authcodes.printing.labels.preview import MAX_DRAWN_LABELS, preview
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import QUIET_ZONE, symbol
from tests.support.print_jobs import pages

SVG = "{http://www.w3.org/2000/svg}"
DPI = 300
MILLIMETRES = 25.4 / DPI


CROWDED = Sheet(*map(Decimal, (500, 500, 0, 0, 25, 25, 25, 25)), columns=10, rows=10)


def design_of(name, **more):
    return Design(PRESETS[name].sheet, PRESETS[name].qr_mm, **more)


def labels(count, **more):
    return [Label(f"https://example.com/s/AB-{number:04d}", f"AB-{number:04d}", **more) for number in range(count)]


@pytest.mark.parametrize("name", list(PRESETS))
@pytest.mark.parametrize("by_column", [False, True])
def test_codes_are_where_the_pdf_has_them(name, by_column, tmp_path):
    design = design_of(name, start=2, by_column=by_column)
    file = io.BytesIO()
    sheet_pdf.write(file, labels(3, title="Green tea", sku="GT-1"), design)
    (page,) = pages(file.getvalue(), tmp_path, DPI)

    found = {it.text: it.position.top_left for it in zxingcpp.read_barcodes(Image.open(page))}

    place = Placement(design)
    for index, label in enumerate(labels(3), 1):
        x, y = map(float, design.sheet.place(index, by_column=by_column))
        quiet = QUIET_ZONE * place.size / images.modules_across(symbol(label.payload))
        corner = found[label.payload]
        assert corner.x * MILLIMETRES == pytest.approx(x + place.left + quiet, abs=0.4)
        assert corner.y * MILLIMETRES == pytest.approx(y + place.height - place.bottom - place.size + quiet, abs=0.4)


def test_offsets_and_scale_move_the_picture_too():
    design = design_of("letter-30", offset_x=Decimal("1.5"), offset_y=Decimal(-2), scale=Decimal("1.01"))

    assert b'transform="translate(1.5 -2) scale(1.01)"' in preview(labels(1), design)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "]]>", "a & b", "\x00\x0b\ufffe", "شاي", '"><image/>'])
def test_text_from_people_is_text(text):
    tree = ET.fromstring(preview(labels(2, title=text, sku=text, note=text), design_of("a4-21")))  # noqa: S314 - ours

    assert {node.tag.rpartition("}")[2] for node in tree.iter()} <= {"svg", "g", "path", "text"}


def test_pages_of_very_many_labels_are_not_drawn_whole():
    tree = ET.fromstring(preview(labels(MAX_DRAWN_LABELS + 5), Design(CROWDED, Decimal(20))))  # noqa: S314 - ours

    assert len(list(tree.iter(f"{SVG}g"))) == MAX_DRAWN_LABELS + 1


def test_cut_marks_and_logo_are_shown():
    file = io.BytesIO()
    Image.new("RGB", (40, 20), "navy").save(file, "PNG")

    plain, full = (
        ET.fromstring(preview(labels(2), design_of("letter-30", **more)))  # noqa: S314 - ours
        for more in ({}, {"cut_marks": True, "logo": file.getvalue()})
    )

    assert len(list(full.iter(f"{SVG}path"))) == len(list(plain.iter(f"{SVG}path"))) + 1
    assert (len(list(full.iter(f"{SVG}image"))), len(list(full.iter(f"{SVG}use")))) == (1, 2)


def test_letters_that_are_pictures_on_paper_are_pictures_here():
    tree = ET.fromstring(preview(labels(1, title="Tea ชา"), design_of("letter-30")))  # noqa: S314 - ours

    [image] = tree.iter(f"{SVG}image")
    assert image.get("href").startswith("data:image/png;base64,")
    assert "Tea " in [node.text for node in tree.iter(f"{SVG}text")]
