"""Verification of images: the fast PNG reader agrees with Pillow's, and validates everything it reads."""

import io
import struct
import zlib
from decimal import Decimal

import pytest
from PIL import Image

from authcodes.printing.qr import images, verification
from authcodes.printing.qr.encoder import Level

URL = "https://scan.example.com/s/"


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def with_changed_rows(data, change):
    """A PNG whose rows were changed and compressed again."""
    start = data.index(b"IDAT")
    length = int.from_bytes(data[start - 4 : start])
    rows = bytearray(zlib.decompress(data[start + 4 : start + 4 + length]))
    change(rows)
    return data[: start - 4] + chunk(b"IDAT", zlib.compress(bytes(rows))) + data[start + 8 + length :]


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("size", ["20", "33.3", "50.8", "120"])
def test_fast_reader_and_pillow_agree(level, size):
    for text in (f"{URL}ABC0000000001.8K2MZ00011T", "ABC0001", f"{URL}{'x' * 60}"):
        data = images.png(text=text, size_mm=Decimal(size), level=level)

        assert verification._modules_of(data) is not None, "the fast reader did not read it"
        assert verification.read_png(data) == verification.read_png_by_pillow(data) == text


def test_every_image_contains_its_text():
    for number in range(300):
        text = f"{URL}ABC{number:010d}"
        assert verification.read_png(images.png(text=text, size_mm=Decimal(20))) == text


def flip_one_pixel(rows):
    """Makes one pixel of a module wrong."""
    rows[78 * 200 + 40] ^= 1


def lighten_one_row(rows):
    """Makes one row of a module too light at its side."""
    rows[78 * 61 + 30] ^= 0x10


@pytest.mark.parametrize("change", [flip_one_pixel, lighten_one_row])
def test_image_with_a_wrong_pixel_is_read_by_pillow_instead(change):
    data = with_changed_rows(images.png(text=URL), change)

    assert verification._modules_of(data) is None
    assert verification.read_png(data) == verification.read_png_by_pillow(data)


def test_one_wrong_pixel_of_a_large_module_is_not_averaged_away():
    image = Image.open(io.BytesIO(images.png(text=URL, size_mm=Decimal(500)))).convert("L")
    assert verification._smaller(image).width < image.width

    image.putpixel((image.width // 2, image.width // 2), 255 - image.getpixel((image.width // 2, image.width // 2)))

    assert verification._smaller(image) is image


def test_images_of_other_programs_are_read_by_pillow_instead():
    file = io.BytesIO()
    with Image.open(io.BytesIO(images.png(text=URL))) as image:
        image.convert("RGB").rotate(3, expand=True, fillcolor="white").save(file, "PNG")

    assert verification._modules_of(file.getvalue()) is None
    assert verification.read_png(file.getvalue()) == URL


@pytest.mark.parametrize("offset", [0, 20, 45, 100, -20, -5])
def test_fast_reader_does_not_read_a_damaged_file(offset):
    data = bytearray(images.png(text=URL))
    data[offset] ^= 0x40

    assert verification._modules_of(bytes(data)) is None


def test_fast_reader_does_not_read_a_file_with_trailing_data():
    assert verification._modules_of(images.png(text=URL) + b"<script>") is None
    assert verification._modules_of(b"") is None


def test_image_of_another_text_is_rejected():
    with pytest.raises(verification.Unreadable, match="contains something else"):
        verification.check_png(images.png(text=f"{URL}A1"), f"{URL}A2", code="A2")


def test_symbol_with_too_many_wrong_modules_is_rejected():
    def blank_modules(rows):
        for row in range(len(rows) // 78):
            if rows[row * 78] == 0 and 100 < row < 520:
                rows[row * 78 + 20 : row * 78 + 55] = bytes(35)

    with pytest.raises(verification.Unreadable, match="cannot be read"):
        verification.check_png(
            with_changed_rows(images.png(text=f"{URL}ABC0000000001.8K2MZ00011T"), blank_modules), "x"
        )
