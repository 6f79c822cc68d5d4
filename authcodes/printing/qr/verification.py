"""Verification of QR images by zxing-cpp, which shares no code with the encoder."""

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
PIXELS = 2  # per module are enough to read it
_BOX = re.compile(rb'viewBox="0 0 (\d+) (\d+)"')
_DARK = re.compile(rb'<path d="([^"]*)"/>')
_RUN = re.compile(rb"M(\d+) (\d+)h(\d+)v1h-(\d+)z")


class Unreadable(Invalid):
    """An image does not have the expected content. Nothing of its print run may be offered."""


def read_png(data: bytes) -> str | None:
    """The content of the QR code in a PNG; None if none can be read."""
    modules = _modules_of(data)
    return _decoded(modules) if modules else read_png_by_pillow(data)


def read_png_by_pillow(data: bytes) -> str | None:
    """The same for any PNG."""
    with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
        return read_image(image.convert("L"))


def read_svg(data: bytes) -> str | None:
    """The content of an SVG from images.svg: its runs of dark modules are painted as pixels."""
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
    """Raises Unreadable, naming `code`, unless the PNG contains `expected`."""
    expect(read_png(data), expected, code)


def check_svg(data: bytes, expected: str, *, code: str = "") -> None:
    """Raises Unreadable, naming `code`, unless the SVG contains `expected`."""
    expect(read_svg(data), expected, code)


def verify(data: bytes, expected: str, *, kind: str, code: str = "") -> bytes:
    """Return the image (`png` or `svg`) unchanged. Raises Unreadable unless it contains `expected`."""
    check = check_svg if kind == "svg" else check_png
    check(data, expected, code=code)
    return data


def expect(read: str | None, expected: str, code: str = "") -> None:
    """Raises Unreadable, naming `code`, unless `read` is `expected`."""
    if read == expected:
        return
    # Only the code: the printed text may contain a tag, and this message is logged.
    named = code or (result.code if (result := scanned.read(expected)) else "")
    message = (
        _("The image of code %(code)s cannot be read.")
        if read is None
        else _("The image of code %(code)s contains something else.")
    )
    raise Unreadable(message % {"code": named}, details={"code": named})


def _modules_of(data: bytes) -> Image.Image | None:
    """One pixel for each module of a 1-bit PNG, if each of its modules is a square of one colour; otherwise None.

    Takes a fifth of Pillow's time, because rows that repeat the one above are not read pixel by pixel. Every byte of
    the file is accounted for: anything not exactly as expected is left to Pillow.
    """
    chunks = _chunks(data)
    if chunks is None or [kind for kind, _data in chunks] != [b"IHDR", b"pHYs", b"IDAT", b"IEND"]:
        return None
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[0][1])
    stride = (width + 7) // 8 + 1  # a filter byte before each row
    rows = _inflated(chunks[2][1], most=stride * height)
    if kind != [1, 0, 0, 0, 0] or rows is None or width != height or len(rows) != stride * height:
        return None
    # For each row that is given, how many of the following rows repeat it.
    heights = [1 + len(same) for same in rows[::stride].split(b"\0")[1:]]
    starts = [stride * above for above in accumulate(heights[:-1], initial=0)]
    content = [rows[at : at + stride] for at in starts]
    same = bytes([2, *bytes(stride - 1)])
    if b"".join([row + same * (height - 1) for row, height in zip(content, heights, strict=True)]) != rows:
        return None
    lines = Image.frombytes("1", (width, len(content)), b"".join([row[1:] for row in content]))
    return _squared(lines.convert("L"), heights)


def _squared(lines: Image.Image, heights: list[int]) -> Image.Image | None:
    """Rows of pixels with their heights, as rows of modules; None unless all are whole squares."""
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
    """A PNG's chunks; None unless all are complete and their checksums correct."""
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
    """The content of modules, given as one pixel each: no search for the symbol is needed."""
    large = modules.resize((modules.width * PIXELS, modules.height * PIXELS), Image.Resampling.NEAREST)
    result = zxingcpp.read_barcode(
        large, formats=QR_CODE, is_pure=True, try_rotate=False, try_downscale=False, try_invert=False
    )
    return result.bytes.decode(errors="replace") if result and result.valid else None


def read_image(image: Image.Image) -> str | None:
    """The content of the QR code in a grey picture; None if none can be read."""
    result = zxingcpp.read_barcode(_smaller(image), formats=QR_CODE)
    # As bytes, because the encoding of bytes beyond ASCII is a guess in a QR code.
    return result.bytes.decode(errors="replace") if result and result.valid else None


def _smaller(image: Image.Image) -> Image.Image:
    """The same modules in fewer pixels, read ten times faster, if each is a square of one colour.

    The quiet zone gives their size. Averages reveal any pixel that differs from its neighbours: then all are read. Rows
    and columns are averaged one after the other, because one pixel of a large square would vanish in its average.
    """
    dark = ImageChops.invert(image).getbbox()
    scale = dark[0] // QUIET_ZONE if dark else 0
    if scale <= PIXELS or image.width % scale or image.height % scale:
        return image
    modules = image
    for pixels in ((scale, 1), (1, scale)):
        modules = modules.reduce(pixels)
        if modules.getcolors(2) is None or modules.getextrema() != (0, 255):
            return image
    return modules.resize((modules.width * PIXELS, modules.height * PIXELS), Image.Resampling.NEAREST)
