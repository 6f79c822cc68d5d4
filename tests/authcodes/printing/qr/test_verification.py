"""Proofs of images: the quick way of reading a PNG says what Pillow's says, and takes nothing on trust."""

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


def with_rows(data, change):
    """A PNG whose rows are changed before they are packed again."""
    start = data.index(b"IDAT")
    length = int.from_bytes(data[start - 4 : start])
    rows = bytearray(zlib.decompress(data[start + 4 : start + 4 + length]))
    change(rows)
    return data[: start - 4] + chunk(b"IDAT", zlib.compress(bytes(rows))) + data[start + 8 + length :]


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("size", ["20", "33.3", "50.8", "120"])
def test_both_ways_read_the_same(level, size):
    for text in (f"{URL}ABC0000000001.8K2MZ00011T", "ABC0001", f"{URL}{'x' * 60}"):
        data = images.png(text=text, size_mm=Decimal(size), level=level)

        assert verification._modules_of(data) is not None, "the quick way did not understand it"
        assert verification.read_png(data) == verification.read_png_by_pillow(data) == text


def test_every_code_says_what_it_was_made_of():
    for number in range(300):
        text = f"{URL}ABC{number:010d}"
        assert verification.read_png(images.png(text=text, size_mm=Decimal(20))) == text


def dot(rows):
    """One pixel of a module is wrong."""
    rows[78 * 200 + 40] ^= 1


def first_row(rows):
    """A row of modules is not dark enough to the side."""
    rows[78 * 61 + 30] ^= 0x10


@pytest.mark.parametrize("change", [dot, first_row])
def test_picture_with_a_single_wrong_pixel_is_left_to_pillow(change):
    data = with_rows(images.png(text=URL), change)

    assert verification._modules_of(data) is None
    assert verification.read_png(data) == verification.read_png_by_pillow(data)


def test_pictures_of_other_programs_are_left_to_pillow():
    file = io.BytesIO()
    with Image.open(io.BytesIO(images.png(text=URL))) as image:
        image.convert("RGB").rotate(3, expand=True, fillcolor="white").save(file, "PNG")

    assert verification._modules_of(file.getvalue()) is None
    assert verification.read_png(file.getvalue()) == URL


@pytest.mark.parametrize("place", [0, 20, 45, 100, -20, -5])
def test_damaged_file_is_not_understood(place):
    data = bytearray(images.png(text=URL))
    data[place] ^= 0x40

    assert verification._modules_of(bytes(data)) is None


def test_file_with_more_behind_it_is_not_understood():
    assert verification._modules_of(images.png(text=URL) + b"<script>") is None
    assert verification._modules_of(b"") is None


def test_image_of_another_text_is_refused():
    with pytest.raises(verification.Unreadable, match="contains something else"):
        verification.check_png(images.png(text=f"{URL}A1"), f"{URL}A2", code="A2")


def test_symbol_with_too_many_wrong_modules_is_refused():
    def smear(rows):
        for row in range(len(rows) // 78):
            if rows[row * 78] == 0 and 100 < row < 520:
                rows[row * 78 + 20 : row * 78 + 55] = bytes(35)

    with pytest.raises(verification.Unreadable, match="cannot be read"):
        verification.check_png(with_rows(images.png(text=f"{URL}ABC0000000001.8K2MZ00011T"), smear), "x")
