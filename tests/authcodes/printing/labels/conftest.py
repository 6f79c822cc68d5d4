"""Labels, designs of sheets, and a PDF of labels on sheets."""

import io
from decimal import Decimal

import pytest
from PIL import Image

from authcodes.printing.labels import sheet_pdf
from authcodes.printing.labels.design import Design, Label
from authcodes.printing.labels.presets import PRESETS, Sheet

URL = "https://scan.example.com/s/"
CUSTOM = Sheet(*map(Decimal, ("148", "105", "6.5", "4.25", "42.3", "27.1", "45", "33.2")), columns=3, rows=3)
DESIGNS = {name: Design(sheet=preset.sheet, qr_mm=preset.qr_mm) for name, preset in PRESETS.items()}
DESIGNS["custom"] = Design(sheet=CUSTOM, qr_mm=Decimal("22.2"))


def labels(quantity, **fields):
    return [Label(f"{URL}ABC{number:07d}", f"ABC{number:07d}", **fields) for number in range(quantity)]


@pytest.fixture
def pdf(tmp_path):
    def write(labels_to_print, design):
        path = tmp_path / "labels.pdf"
        with path.open("wb") as file:
            write.pages = sheet_pdf.write(file, labels_to_print, design)
        return path

    return write


def lower_left_of(design, index):
    x, y = design.sheet.place(index, by_column=design.by_column)
    return float(x), float(y + design.sheet.label_height)


def label_box(design, index):
    left, bottom = lower_left_of(design, index)
    return (left, bottom - float(design.sheet.label_height), left + float(design.sheet.label_width), bottom)


def logo_image(size=(400, 100), kind="PNG", mode="RGBA"):
    file = io.BytesIO()
    Image.new(mode, size, (200, 30, 30) if mode == "RGB" else (200, 30, 30, 128)).save(file, kind)
    return file.getvalue()
