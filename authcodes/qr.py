"""QR images: what is printed, and as which pixels."""

import io
from decimal import Decimal

import qrcode
from qrcode.constants import ERROR_CORRECT_M
from qrcode.image.pil import PilImage

from authcodes import tags
from authcodes.models import AuthCode

DPI = 300
QUIET_ZONE_MODULES = 4
MILLIMETRES_PER_INCH = Decimal("25.4")
DEFAULT_SIZE_MM = 2 * MILLIMETRES_PER_INCH


def payload(*, code: AuthCode, hostname: str) -> str:
    """The address a phone camera opens; for a signed batch with the tag that the API asks for."""
    return f"https://{hostname}/s/{printed(code)}"


def printed(code: AuthCode) -> str:
    """The code as people read and type it: `code`, or `code.tag` in a signed batch."""
    version = code.batch.tag_version
    if version is None:
        return code.code
    return code.code + tags.SEPARATOR + tags.tag(code=code.code, batch_id=code.batch_id, version=version)


def png(*, text: str, size_mm: Decimal = DEFAULT_SIZE_MM) -> bytes:
    """A 1-bit PNG at 300 DPI, at least `size_mm` wide with its quiet zone: whole pixels to a module, no smoothing."""
    symbol = qrcode.QRCode(error_correction=ERROR_CORRECT_M, border=QUIET_ZONE_MODULES, box_size=1)
    symbol.add_data(text)
    symbol.make(fit=True)
    modules = symbol.modules_count + 2 * QUIET_ZONE_MODULES
    wanted = int(size_mm * DPI / MILLIMETRES_PER_INCH)
    symbol.box_size = -(-wanted // modules)
    image = symbol.make_image(image_factory=PilImage).get_image().convert("1")
    file = io.BytesIO()
    image.save(file, "PNG", dpi=(DPI, DPI), optimize=True)
    return file.getvalue()
