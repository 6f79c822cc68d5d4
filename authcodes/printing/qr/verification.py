"""Proofs: QR images read again by zxing-cpp, which shares no code with what drew them."""

import io
import re
import struct
import zlib
from itertools import accumulate

import zxingcpp
from django.utils.translation import gettext as _
from PIL import Image, ImageChops, ImageDraw

from brands import scanned
from core.errors import Invalid

QR_CODE = zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode)
QUIET_ZONE = 4  # modules, by the standard
PIXELS = 2  # to a module are enough to read it
_BOX = re.compile(rb'viewBox="0 0 (\d+) (\d+)"')
_DARK = re.compile(rb'<path d="([^"]*)"/>')
_RUN = re.compile(rb"M(\d+) (\d+)h(\d+)v1h-(\d+)z")


class Unreadable(Invalid):
    """An image does not say what it should. Nothing of its print run may be offered."""


def read_png(data: bytes) -> str | None:
    """What the QR code in a PNG says; None where none can be read."""
    modules = _modules_of(data)
    return _decoded(modules) if modules else read_png_by_pillow(data)


def read_png_by_pillow(data: bytes) -> str | None:
    """The same, whatever the PNG is like."""
    with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
        return read_image(image.convert("L"))


def read_svg(data: bytes) -> str | None:
    """What an SVG of qr.svg says: its runs of dark modules are painted as pixels."""
    box, dark = _BOX.search(data), _DARK.search(data)
    if not box or not dark or _RUN.sub(b"", dark[1]):
        return None
    image = Image.new("L", (int(box[1]) * PIXELS, int(box[2]) * PIXELS), 255)
    draw = ImageDraw.Draw(image)
    for run in _RUN.findall(dark[1]):
        x, y, length, back = map(int, run)
        if length != back:
            return None
        left, top = x * PIXELS, y * PIXELS
        draw.rectangle((left, top, left + length * PIXELS - 1, top + PIXELS - 1), fill=0)
    return read_image(image)


def check_png(data: bytes, expected: str, *, code: str = "") -> None:
    """Raises Unreadable, naming `code`, unless the PNG says `expected`."""
    expect(read_png(data), expected, code)


def check_svg(data: bytes, expected: str, *, code: str = "") -> None:
    """Raises Unreadable, naming `code`, unless the SVG says `expected`."""
    expect(read_svg(data), expected, code)


def verify(data: bytes, expected: str, *, kind: str, code: str = "") -> bytes:
    """The same image, `png` or `svg`, for whoever is to see it. Raises Unreadable unless it says `expected`."""
    check = check_svg if kind == "svg" else check_png
    check(data, expected, code=code)
    return data


def expect(read: str | None, expected: str, code: str = "") -> None:
    """Raises Unreadable, naming `code`, unless what was read is what is expected."""
    if read == expected:
        return
    # By its code alone: what is printed may hold a tag, and this is read in logs.
    named = code or (result.code if (result := scanned.read(expected)) else "")
    message = (
        _("The image of code %(code)s cannot be read.")
        if read is None
        else _("The image of code %(code)s contains something else.")
    )
    raise Unreadable(message % {"code": named}, details={"code": named})


def _modules_of(data: bytes) -> Image.Image | None:
    """A pixel for each module of a 1-bit PNG, if each of its modules is a square of one colour; else None.

    It takes a fifth of Pillow's time, because rows that repeat the one above need not be looked at pixel by pixel.
    Every byte of the file is accounted for: what is not exactly as expected here is left to Pillow.
    """
    chunks = _chunks(data)
    if chunks is None or [kind for kind, _ in chunks] != [b"IHDR", b"pHYs", b"IDAT", b"IEND"]:
        return None
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[0][1])
    stride = (width + 7) // 8 + 1  # a filter's number before each row
    rows = _inflated(chunks[2][1], most=stride * height)
    if kind != [1, 0, 0, 0, 0] or rows is None or width != height or len(rows) != stride * height:
        return None
    # Of a row that is told, how many follow that are told to be the same.
    heights = [1 + len(same) for same in rows[::stride].split(b"\0")[1:]]
    starts = [stride * above for above in accumulate(heights[:-1], initial=0)]
    content = [rows[at : at + stride] for at in starts]
    same = bytes([2, *bytes(stride - 1)])
    if b"".join([row + same * (height - 1) for row, height in zip(content, heights, strict=True)]) != rows:
        return None
    lines = Image.frombytes("1", (width, len(content)), b"".join([row[1:] for row in content]))
    return _squared(lines.convert("L"), heights)


def _squared(lines: Image.Image, heights: list[int]) -> Image.Image | None:
    """Rows of pixels, each so high, as rows of modules; None unless all are whole squares."""
    dark = ImageChops.invert(lines).getbbox()
    scale = dark[0] // QUIET_ZONE if dark else 0
    if not scale or lines.width % scale or any(height % scale for height in heights):
        return None
    modules = lines.reduce((scale, 1))
    if modules.getcolors(2) is None or modules.getextrema() != (0, 255):
        return None
    side, line = modules.width, modules.tobytes()
    pixels = b"".join(
        line[number * side : (number + 1) * side] * (height // scale) for number, height in enumerate(heights)
    )
    return Image.frombytes("L", (side, side), pixels) if len(pixels) == side * side else None


def _chunks(data: bytes) -> list[tuple[bytes, bytes]] | None:
    """A PNG's chunks; None unless all are whole and their checksums right."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        return None
    result, at = [], 8
    while at < len(data):
        length = int.from_bytes(data[at : at + 4])
        kind, body, content = (
            data[at + 4 : at + 8],
            data[at + 8 : at + 8 + length],
            data[at + 8 + length : at + 12 + length],
        )
        if len(content) != 4 or zlib.crc32(kind + body) != int.from_bytes(content):
            return None
        result.append((kind, body))
        at += 12 + length
    return result


def _inflated(data: bytes, *, most: int) -> bytes | None:
    inflater = zlib.decompressobj()
    try:
        rows = inflater.decompress(data, most + 1)
    except zlib.error:
        return None
    return rows if inflater.eof and not inflater.unused_data else None


def _decoded(modules: Image.Image) -> str | None:
    """What modules say, each a pixel here; nothing has to be searched for."""
    large = modules.resize((modules.width * PIXELS, modules.height * PIXELS), Image.Resampling.NEAREST)
    result = zxingcpp.read_barcode(
        large, formats=QR_CODE, is_pure=True, try_rotate=False, try_downscale=False, try_invert=False
    )
    return result.bytes.decode(errors="replace") if result and result.valid else None


def read_image(image: Image.Image) -> str | None:
    """What the QR code in a grey picture says; None where none can be read."""
    result = zxingcpp.read_barcode(_smaller(image), formats=QR_CODE)
    # Its bytes, because which characters bytes beyond ASCII are is a guess in a QR code.
    return result.bytes.decode(errors="replace") if result and result.valid else None


def _smaller(image: Image.Image) -> Image.Image:
    """The same modules in fewer pixels, which are read ten times faster, if each is a square of one colour throughout.

    How large they are, the quiet zone tells. Averages show any pixel that is not as its neighbours: then all are read.
    """
    dark = ImageChops.invert(image).getbbox()
    scale = dark[0] // QUIET_ZONE if dark else 0
    if scale <= PIXELS or image.width % scale or image.height % scale:
        return image
    modules = image.reduce(scale)
    if modules.getcolors(2) is None or modules.getextrema() != (0, 255):
        return image
    return modules.resize((modules.width * PIXELS, modules.height * PIXELS), Image.Resampling.NEAREST)
