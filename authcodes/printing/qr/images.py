"""QR images: their content, as pixels or vectors."""

import math
import struct
import zlib
from decimal import Decimal
from functools import cache

from authcodes.codes import signed_tags
from authcodes.models.codes import AuthCode
from authcodes.printing.qr.encoder import QUIET_ZONE, Level, Symbol, symbol
from brands.scanned import TAG_SEPARATOR
from brands.tenants.hostnames import scan_address

DPI = 300
MILLIMETRES_PER_INCH = Decimal("25.4")
DEFAULT_SIZE_MM = 2 * MILLIMETRES_PER_INCH
MIN_SIZE_MM = Decimal(20)
MAX_SIZE_MM = Decimal(500)
# Five dots of a 300 DPI printer. With less, phone cameras and rough printing begin to lose modules.
MIN_MODULE_MM = Decimal("0.396")


def payload(*, code: AuthCode, hostname: str) -> str:
    """The address for phone cameras, with the tag that the API requires for a signed batch. A code printed elsewhere
    has its printed payload.
    """
    if code.payload is not None:
        return code.payload
    return scan_address(hostname, printed(code))


def printed(code: AuthCode) -> str:
    """The code for reading and typing: `code`, or `code.tag` in a signed batch."""
    version = code.batch.tag_version
    if version is None:
        return code.code
    return code.code + TAG_SEPARATOR + signed_tags.tag(code=code.code, batch_id=code.batch_id, version=version)


def modules_across(drawn: Symbol) -> int:
    """The modules a side, including the quiet zone, which is part of the image's size."""
    return drawn.side + 2 * QUIET_ZONE


def module_mm(drawn: Symbol, size_mm: Decimal) -> Decimal:
    """The width of a module on paper, in millimetres. Below MIN_MODULE_MM it may not scan."""
    return size_mm / modules_across(drawn)


def png(*, text: str, size_mm: Decimal = DEFAULT_SIZE_MM, level: Level = Level.M) -> bytes:
    """A 1-bit PNG at 300 DPI, at least `size_mm` wide with its quiet zone: whole pixels per module, no smoothing."""
    drawn = symbol(text, level)
    pixels = math.ceil(size_mm * DPI / MILLIMETRES_PER_INCH)
    return _draw_png(drawn, scale=max(1, -(-pixels // modules_across(drawn))))


def _draw_png(drawn: Symbol, *, scale: int) -> bytes:
    """A PNG (ISO/IEC 15948): 1-bit grey, including its resolution. `scale`: pixels per module."""
    side, pixels = drawn.side, modules_across(drawn) * scale
    spare = -pixels % 8
    width = (pixels + 7) // 8
    repeated = (b"\x02" + bytes(width)) * (scale - 1)  # filter "up": as the row above
    white = (1 << pixels) - 1 << spare
    above = b"\x00" + white.to_bytes(width) + repeated + (b"\x02" + bytes(width)) * (QUIET_ZONE - 1) * scale
    edge = QUIET_ZONE * scale + spare  # pixels from the symbol's right side to the row's end
    wide, row_of = _stretched(scale), (1 << side) - 1
    rows = []
    for shift in range(side * (side - 1), -1, -side):
        row, dark, at = drawn.bits >> shift & row_of, 0, edge
        while row:
            dark |= wide[row & 255] << at
            row, at = row >> 8, at + 8 * scale
        rows.append(b"\x00" + (white ^ dark).to_bytes(width) + repeated)
    header = struct.pack(">IIBBBBB", pixels, pixels, 1, 0, 0, 0, 0)
    per_metre = round(DPI / 0.0254)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", header),
            _chunk(b"pHYs", struct.pack(">IIB", per_metre, per_metre, 1)),
            _chunk(b"IDAT", zlib.compress(above + b"".join(rows) + above, 1)),
            _chunk(b"IEND", b""),
        )
    )


@cache
def _stretched(scale: int) -> list[int]:
    """For each value of eight modules, the pixels of a row at `scale` pixels per module."""
    module = (1 << scale) - 1
    return [sum(module << bit * scale for bit in range(8) if modules >> bit & 1) for modules in range(256)]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def svg(*, text: str, size_mm: Decimal = DEFAULT_SIZE_MM, level: Level = Level.M) -> bytes:
    """The symbol as one path of whole modules, exactly `size_mm` wide with its quiet zone."""
    drawn = symbol(text, level)
    across = modules_across(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size_mm}mm" height="{size_mm}mm" '
        f'viewBox="0 0 {across} {across}" shape-rendering="crispEdges">'
        f'<path fill="#fff" d="M0 0h{across}v{across}h-{across}z"/><path d="{outline(drawn)}"/></svg>'
    ).encode()


def outline(drawn: Symbol) -> str:
    """The dark modules as an SVG path, one unit per module."""
    return "".join(f"M{x} {y}h{length}v1h-{length}z" for x, y, length in runs(drawn))


def runs(drawn: Symbol) -> list[tuple[int, int, int]]:
    """Runs of adjacent dark modules: x and y of the first, including the quiet zone, and the length."""
    spans = []
    for y, row in enumerate(drawn.rows(), QUIET_ZONE):
        x = row.find("1")
        while x >= 0:
            end = row.find("0", x)
            end = len(row) if end < 0 else end
            spans.append((x + QUIET_ZONE, y, end - x))
            x = row.find("1", end)
    return spans
