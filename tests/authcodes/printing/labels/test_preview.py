"""Previews: the picture of page 1 has each code where the PDF has it, and escapes user texts."""

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


def design_of(name, **options):
    return Design(PRESETS[name].sheet, PRESETS[name].qr_mm, **options)


def labels(count, **fields):
    return [Label(f"https://example.com/s/AB-{number:04d}", f"AB-{number:04d}", **fields) for number in range(count)]


@pytest.mark.parametrize("name", list(PRESETS))
@pytest.mark.parametrize("by_column", [False, True])
def test_codes_of_the_pdf_are_where_the_preview_places_them(name, by_column, tmp_path):
    design = design_of(name, start=2, by_column=by_column)
    file = io.BytesIO()
    sheet_pdf.write(file, labels(3, title="Green tea", sku="GT-1"), design)
    (page,) = pages(file.getvalue(), tmp_path, DPI)

    codes = {it.text: it.position.top_left for it in zxingcpp.read_barcodes(Image.open(page))}

    placement = Placement(design)
    for index, label in enumerate(labels(3), 1):
        x, y = map(float, design.sheet.place(index, by_column=by_column))
        quiet = QUIET_ZONE * placement.size / images.modules_across(symbol(label.payload))
        corner = codes[label.payload]
        assert corner.x * MILLIMETRES == pytest.approx(x + placement.left + quiet, abs=0.4)
        assert corner.y * MILLIMETRES == pytest.approx(
            y + placement.height - placement.bottom - placement.size + quiet, abs=0.4
        )


def test_offsets_and_scale_transform_the_preview():
    design = design_of("letter-30", offset_x=Decimal("1.5"), offset_y=Decimal(-2), scale=Decimal("1.01"))

    assert b'transform="translate(1.5 -2) scale(1.01)"' in preview(labels(1), design)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "]]>", "a & b", "\x00\x0b\ufffe", "شاي", '"><image/>'])
def test_user_texts_are_escaped(text):
    tree = ET.fromstring(preview(labels(2, title=text, sku=text, note=text), design_of("a4-21")))  # noqa: S314 - ours

    assert {node.tag.rpartition("}")[2] for node in tree.iter()} <= {"svg", "g", "path", "text"}


def test_preview_draws_a_limited_number_of_labels():
    tree = ET.fromstring(preview(labels(MAX_DRAWN_LABELS + 5), Design(CROWDED, Decimal(20))))  # noqa: S314 - ours

    assert len(list(tree.iter(f"{SVG}g"))) == MAX_DRAWN_LABELS + 1


def test_cut_marks_and_logo_are_drawn():
    file = io.BytesIO()
    Image.new("RGB", (40, 20), "navy").save(file, "PNG")

    plain, marked = (
        ET.fromstring(preview(labels(2), design_of("letter-30", **options)))  # noqa: S314 - ours
        for options in ({}, {"cut_marks": True, "logo": file.getvalue()})
    )

    assert len(list(marked.iter(f"{SVG}path"))) == len(list(plain.iter(f"{SVG}path"))) + 1
    assert (len(list(marked.iter(f"{SVG}image"))), len(list(marked.iter(f"{SVG}use")))) == (1, 2)


def test_letters_printed_as_pictures_are_pictures_in_the_preview():
    tree = ET.fromstring(preview(labels(1, title="Tea ชา"), design_of("letter-30")))  # noqa: S314 - ours

    [image] = tree.iter(f"{SVG}image")
    assert image.get("href").startswith("data:image/png;base64,")
    assert "Tea " in [node.text for node in tree.iter(f"{SVG}text")]
