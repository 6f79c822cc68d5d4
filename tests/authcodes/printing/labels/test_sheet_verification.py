"""Verification of finished sheets: pages are read from their bytes, and damage to them is detected."""

import io
import re
import zlib
from dataclasses import replace
from decimal import Decimal

import pytest
from PIL import Image

from authcodes.printing.labels import pdf_writer, sheet_pdf, sheet_verification
from authcodes.printing.labels.design import Design, Label
from authcodes.printing.labels.presets import PRESETS
from authcodes.printing.labels.sheet_verification import Sample, check
from authcodes.printing.qr.encoder import Level
from authcodes.printing.qr.verification import Unreadable

URL = "https://scan.example.com/s/"
DESIGNS = {name: Design(preset.sheet, preset.qr_mm) for name, preset in PRESETS.items()}


def labels(quantity, **fields):
    return [Label(f"{URL}ABC{number:07d}", f"ABC{number:07d}", **fields) for number in range(quantity)]


def write_sheet(labels_to_print, design):
    """The file, the number of its pages and the codes they should have."""
    file = io.BytesIO()
    sample = Sample(per_page=design.sheet.per_page, start=design.start)
    pages = sheet_pdf.write(file, sample.watched(labels_to_print), design)
    return file, pages, sample.whole()


def logo_image():
    file = io.BytesIO()
    Image.new("RGB", (200, 100), "navy").save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("level", Level)
def test_every_code_of_a_finished_page_is_read(name, level):
    design = replace(DESIGNS[name], cut_marks=True, logo=logo_image(), start=3)
    labels_to_print = labels(
        design.sheet.per_page + 1, title="ชาเขียว (Green tea) سلام", note="Tj ET f re Q", level=level
    )

    file, pages, expected = write_sheet(labels_to_print, design)

    assert check(file, expected, pages=pages) == len(labels_to_print)
    assert [len(codes) for codes in expected.values()] == [design.sheet.per_page - 2, 3]


def test_pages_with_printer_corrections_are_read():
    design = replace(DESIGNS["a4-21"], scale=Decimal("0.93"), offset_x=Decimal(-2), offset_y=Decimal("3.3"))

    file, pages, expected = write_sheet(labels(21), design)

    assert check(file, expected, pages=pages) == 21


def test_sample_has_the_first_pages_every_fourth_and_the_last(monkeypatch):
    monkeypatch.setattr(sheet_verification, "FIRST_PAGES", 2)
    monkeypatch.setattr(sheet_verification, "EVERY_PAGE", 4)

    file, pages, expected = write_sheet(labels(20 * 7 - 3), DESIGNS["grid-20"])

    assert sorted(expected) == [0, 1, 4, 6]
    assert check(file, expected, pages=pages) == 77


def damage(file, change):
    """The file with its first page's content changed, at the same length."""
    data = file.getvalue()
    start = data.index(b"stream\n") + 7
    end = data.index(b"\nendstream", start)
    content = zlib.decompress(data[start:end])
    changed = zlib.compress(change(content), 9)
    padded = changed + b"\0" * max(0, (end - start) - len(changed))
    assert len(padded) == end - start, "the change made it longer"
    return io.BytesIO(data[:start] + padded + data[end:])


def blank_a_code(content):
    """One symbol's boxes become lines of no height."""
    first = content.index(b"1 re\n")
    return content[:first] + content[first:].replace(b" 1 re\n", b" 0 re\n", 40)


def swap_two(content):
    """Two labels change places."""
    places = re.findall(rb"q 1 0 0 1 ([\d.]+ [\d.]+) cm\n", content)[:2]
    parts = re.split(rb"(?=q 1 0 0 1 )", content)
    return b"".join([parts[0], parts[2], parts[1], *parts[3:]]) if len(places) == 2 else content


def shift_modules(content):
    """Every second row of boxes lies a module too far to the right."""

    def moved(match):
        return b"\n%d %s %s 1 re" % (int(match[1]) + int(match[2]) % 2, match[2], match[3])

    return re.sub(rb"\n(\d+) (\d+) (\d+) 1 re", moved, content)


@pytest.mark.parametrize("change", [blank_a_code, swap_two, shift_modules])
def test_damage_to_the_finished_file_is_detected(change):
    file, pages, expected = write_sheet(labels(30), DESIGNS["letter-30"])

    with pytest.raises(Unreadable):
        check(damage(file, change), expected, pages=pages)


def test_missing_page_or_code_is_detected():
    file, pages, expected = write_sheet(labels(31), DESIGNS["letter-30"])

    with pytest.raises(Unreadable, match="Page 2"):
        check(file, expected, pages=pages + 1)
    with pytest.raises(Unreadable):
        check(file, {0: expected[0][:-1]}, pages=pages)


def test_picture_in_a_quiet_zone_is_detected(monkeypatch):
    painter = sheet_pdf._Painter
    monkeypatch.setattr(painter, "_logo", lambda self: _over_the_code(self))

    file, pages, expected = write_sheet(labels(1), replace(DESIGNS["letter-30"], logo=logo_image()))

    with pytest.raises(Unreadable):
        check(file, expected, pages=pages)


def _over_the_code(painter):
    """A logo with a corner at the right edge of the symbol."""
    name = painter.document.image(Image.new("RGB", (20, 20), "navy"))
    right = (painter.placement.left + painter.placement.size) * pdf_writer.POINTS_PER_MM
    return f"q 20 0 0 20 {right - 3:.3f} 30 cm {name} Do Q\n"
