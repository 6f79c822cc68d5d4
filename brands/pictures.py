"""Pictures: the only code that writes them. What is uploaded is decoded within bounds and made anew, never kept."""

import io
import struct
import warnings
from dataclasses import dataclass
from threading import Lock
from typing import Any

from django.utils.translation import gettext as _
from PIL import Image, ImageFile, ImageOps

from brands.models import Brand, Picture
from brands.refusals import Invalid, Unavailable

LARGEST_UPLOAD = 5_000_000  # bytes
MOST_PIXELS = 12_000_000
TURN_SECONDS = 10  # that an upload waits while another one is decoded
FORMATS = ("PNG", "JPEG", "WEBP")
LOGO_SIDE, PHOTOGRAPH_SIDE = 660, 1200  # pixels; 660 is what Google Wallet asks of a logo
# What pages load beside everything else: together within 50 kB.
SMALL_LOGO, SMALL_PHOTOGRAPH = (320, 96), (480, 360)
SMALL_LOGO_BYTES, SMALL_PHOTOGRAPH_BYTES = 6_000, 14_000
QUALITIES = (80, 65, 50, 35, 20, 8)
# What Pillow raises where a file is not what it says it is; as its own readers take them, but it reads EXIF without.
BROKEN = (OSError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, EOFError, struct.error)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture made anew: the large one and its type, and the small WebP for pages."""

    content: bytes
    content_type: str
    size: tuple[int, int]
    small: bytes


# Decoding takes memory by the pixel: of a process's threads one decodes at a time.
turn = Lock()


def logo(upload: bytes) -> Drawn:
    """A brand's logo, transparent where the upload is. Raises Invalid and Unavailable."""
    image = _opened(upload, LOGO_SIDE)
    return Drawn(_png(image), "image/png", image.size, _small(image, SMALL_LOGO, SMALL_LOGO_BYTES))


def photograph(upload: bytes) -> Drawn:
    """A product's picture, on white where the upload is transparent. Raises Invalid and Unavailable."""
    seen = _opened(upload, PHOTOGRAPH_SIDE)
    image = Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen).convert("RGB")
    content = io.BytesIO()
    image.save(content, "JPEG", quality=82, optimize=True, progressive=True)
    small = _small(image, SMALL_PHOTOGRAPH, SMALL_PHOTOGRAPH_BYTES)
    return Drawn(content.getvalue(), "image/jpeg", image.size, small)


def store(*, brand: Brand, drawn: Drawn) -> Picture:
    """A new picture of the brand's."""
    width, height = drawn.size
    return Picture.objects.create(
        brand=brand,
        content=drawn.content,
        content_type=drawn.content_type,
        width=width,
        height=height,
        small=drawn.small,
    )


def forget(picture: Picture | None) -> None:
    """Delete a picture that nothing shows any more."""
    if picture:
        picture.delete()


def _opened(upload: bytes, side: int) -> Any:
    """The image, upright, as RGBA and within `side` by `side`. Raises Invalid, before anything is decoded where the
    header says enough; and Unavailable while others are decoded.
    """
    if len(upload) > LARGEST_UPLOAD:
        raise Invalid(_("The picture is larger than %(most)d MB.") % {"most": LARGEST_UPLOAD // 1_000_000})
    ImageFile.LOAD_TRUNCATED_IMAGES = False  # WeasyPrint, once loaded, has the whole process take half a file for one
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            refuse_pixels(*webp_size(upload))
            with Image.open(io.BytesIO(upload), formats=FORMATS) as image:
                refuse_pixels(*image.size)
                if getattr(image, "n_frames", 1) > 1:
                    raise Invalid(_("Animated pictures are not accepted. Upload a still picture."))
                return _decoded(image, side)
    except Image.DecompressionBombError as error:
        words = _("The picture has more than %(most)d million pixels; make it smaller.")
        raise Invalid(words % {"most": MOST_PIXELS // 1_000_000}) from error
    except BROKEN as error:
        raise Invalid(_("This is no picture that can be read. Upload a PNG, JPEG or WebP file.")) from error


def _decoded(image: Any, side: int) -> Any:
    if not turn.acquire(timeout=TURN_SECONDS):
        raise Unavailable(_("Other pictures are being read. Try again in a moment."))
    try:
        image.draft("RGB", (2 * side, 2 * side))  # a JPEG need not be decoded larger than that
        image.load()
        upright = ImageOps.exif_transpose(image).convert("RGBA")
        upright.thumbnail((side, side), Image.Resampling.LANCZOS)
        return upright
    finally:
        turn.release()


def refuse_pixels(width: int, height: int) -> None:
    """Raises DecompressionBombError."""
    if width * height > MOST_PIXELS:
        raise Image.DecompressionBombError


def webp_size(upload: bytes) -> tuple[int, int]:
    """Width and height as a WebP file's header says them; 0 by 0 for another file.

    Pillow sets the memory of the whole canvas aside when it opens one, before it tells how large that is.
    """
    if upload[:4] != b"RIFF" or upload[8:12] != b"WEBP" or len(upload) < 30:
        return 0, 0
    kind = upload[12:16]
    if kind == b"VP8X":
        return int.from_bytes(upload[24:27], "little") + 1, int.from_bytes(upload[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(upload[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return int.from_bytes(upload[26:28], "little") & 0x3FFF, int.from_bytes(upload[28:30], "little") & 0x3FFF


def _png(image: Any) -> bytes:
    content = io.BytesIO()
    image.save(content, "PNG", optimize=True)
    return content.getvalue()


def _small(image: Any, box: tuple[int, int], most: int) -> bytes:
    """As WebP of `most` bytes at most: of less quality first, then of fewer pixels."""
    image = image.copy()
    image.thumbnail(box, Image.Resampling.LANCZOS)
    while True:
        for quality in QUALITIES:
            content = io.BytesIO()
            image.save(content, "WEBP", quality=quality, method=6)
            if content.tell() <= most:
                return content.getvalue()
        image.thumbnail((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)))
