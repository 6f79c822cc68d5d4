"""QR images: sharp, of the requested size, with their quiet zone, and readable by an independent program."""

import io
import re
import struct
import subprocess
from decimal import Decimal

import pytest
import weasyprint
import zxingcpp
from PIL import Image

from authcodes.printing.qr import images, verification
from authcodes.printing.qr.encoder import QUIET_ZONE, Level, symbol

TEXTS = [
    "ABC0001234567",
    "https://scan.example.com/s/ABC0001234567",
    "https://scan.example.com/s/ABC0001234567.8K2MZ0Q9X1T",
    "https://example.com/01/09506000134352/21/ABC0001234567",
    f"https://{'a' * 60}.example.com/s/{'P' * 50}00000001",
    "prefix/with?odd=characters&%20#ÄÖ",
]
SIZES = [Decimal(20), Decimal("24.6"), Decimal("25.4"), Decimal(40), Decimal("50.8"), Decimal("123.4")]


def open_image(data):
    return Image.open(io.BytesIO(data))


def read(image):
    codes = zxingcpp.read_barcodes(image)
    assert len(codes) == 1
    return codes[0].bytes.decode()


@pytest.mark.parametrize("size_mm", SIZES)
@pytest.mark.parametrize("text", TEXTS)
def test_a_png_can_be_read(text, size_mm):
    assert read(open_image(images.png(text=text, size_mm=size_mm))) == text


@pytest.mark.parametrize("level", Level)
def test_an_image_has_the_requested_level(level):
    code = zxingcpp.read_barcode(open_image(images.png(text=TEXTS[1], level=level)))

    assert (code.text, code.ec_level) == (TEXTS[1], level.name)


@pytest.mark.parametrize("size_mm", SIZES)
def test_a_png_has_one_bit_per_pixel_and_300_dpi(size_mm):
    data = images.png(text=TEXTS[1], size_mm=size_mm)

    bit_depth, colour = struct.unpack(">BB", data[24:26])
    per_metre = struct.unpack(">IIB", data[data.index(b"pHYs") + 4 :][:9])
    assert (bit_depth, colour) == (1, 0)
    assert per_metre == (11811, 11811, 1)
    assert open_image(data).info["dpi"] == pytest.approx((300, 300), abs=0.01)


@pytest.mark.parametrize("size_mm", SIZES)
@pytest.mark.parametrize("text", TEXTS)
def test_each_module_is_a_square_of_whole_pixels(text, size_mm):
    qr_symbol = symbol(text)
    image = open_image(images.png(text=text, size_mm=size_mm))
    modules = images.modules_across(qr_symbol)
    scale = image.width // modules

    assert image.size == (modules * scale, modules * scale)
    white = "0" * QUIET_ZONE
    blank = ["0" * modules] * QUIET_ZONE
    expected = [*blank, *(f"{white}{row}{white}" for row in qr_symbol.rows()), *blank]
    reduced = image.convert("L").resize((modules, modules), Image.Resampling.BOX)
    assert [
        "".join({0: "1", 255: "0"}[reduced.getpixel((x, y))] for x in range(modules)) for y in range(modules)
    ] == expected


@pytest.mark.parametrize("size_mm", SIZES)
@pytest.mark.parametrize("text", TEXTS)
def test_a_png_exceeds_its_requested_size_by_less_than_a_pixel_per_module(text, size_mm):
    image = open_image(images.png(text=text, size_mm=size_mm))

    exact_width = size_mm * 300 / Decimal("25.4")
    assert exact_width <= image.width < exact_width + images.modules_across(symbol(text))


def test_the_same_code_gives_the_same_file():
    assert images.png(text=TEXTS[1]) == images.png(text=TEXTS[1])
    assert images.svg(text=TEXTS[1]) == images.svg(text=TEXTS[1])


@pytest.mark.parametrize("text", TEXTS[:4])
def test_an_svg_drawn_by_another_program_can_be_read(text, tmp_path):
    size_mm = Decimal("50.8")
    svg = images.svg(text=text, size_mm=size_mm).decode()
    page = f"<style>@page {{ size: 60mm 60mm; margin: 4mm }} svg {{ display: block }}</style>{svg}"
    weasyprint.HTML(string=page).write_pdf(tmp_path / "page.pdf")
    subprocess.run(["pdftoppm", "-r", "300", "-png", "-singlefile", "page.pdf", "page"], cwd=tmp_path, check=True)

    image = Image.open(tmp_path / "page.png")
    assert read(image) == text
    left, top, right, bottom = image.convert("L").point(lambda grey: 255 if grey < 128 else 0).getbbox()
    dark_mm = size_mm * (1 - Decimal(2 * QUIET_ZONE) / images.modules_across(symbol(text)))
    assert [(right - left) / 300 * 25.4, (bottom - top) / 300 * 25.4] == pytest.approx([float(dark_mm)] * 2, abs=0.1)


def test_an_svg_has_its_size_in_millimetres_and_units_of_modules():
    svg = images.svg(text=TEXTS[0], size_mm=Decimal("25.4")).decode()

    assert re.findall(r' (?:width|height|viewBox)="([^"]+)"', svg) == ["25.4mm", "25.4mm", "0 0 29 29"]
    assert set(re.sub(r'[^d]d="([^"]*)"|.', r"\1", svg)) <= set("Mhvz-0123456789 ")


@pytest.mark.parametrize(("size_mm", "is_small"), [(Decimal("11.48"), True), (Decimal("11.49"), False)])
def test_modules_below_five_printer_dots_are_detected(size_mm, is_small):
    assert (images.module_mm(symbol(TEXTS[0]), size_mm) < images.MIN_MODULE_MM) is is_small


@pytest.mark.parametrize(
    ("make", "check"), [(images.png, verification.check_png), (images.svg, verification.check_svg)]
)
def test_verification_rejects_an_image_of_another_code(make, check):
    check(make(text=TEXTS[1]), TEXTS[1], code="A1")

    with pytest.raises(verification.Unreadable, match="A1 contains something else") as rejected:
        check(make(text=TEXTS[1]), TEXTS[2], code="A1")
    assert rejected.value.details == {"code": "A1"}


def test_verification_rejects_an_unreadable_image():
    image = open_image(images.png(text=TEXTS[1])).convert("1")
    image.paste(255, (0, 0, image.width // 2, image.height))
    damaged = io.BytesIO()
    image.save(damaged, "PNG")

    with pytest.raises(verification.Unreadable, match="A1 cannot be read"):
        verification.check_png(damaged.getvalue(), TEXTS[1], code="A1")


@pytest.mark.parametrize("damage", [(b"v1h-", b"v2h-"), (b'<path d="', b'<path e="'), (b"viewBox", b"viewbox")])
def test_verification_rejects_an_svg_that_is_not_made_of_modules(damage):
    with pytest.raises(verification.Unreadable, match="cannot be read"):
        verification.check_svg(images.svg(text=TEXTS[1]).replace(*damage), TEXTS[1])
