"""Pictures: the only code that writes them. What is uploaded is decoded within bounds and made anew, never kept."""

import io
import struct
import warnings
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from PIL import Image, ImageFile, ImageOps

from brands.models import Brand, Picture
from brands.refusals import Invalid

LARGEST_UPLOAD = 5_000_000  # bytes
MOST_PIXELS = 40_000_000
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


def logo(upload: bytes) -> Drawn:
    """A brand's logo, transparent where the upload is. Raises Invalid."""
    image = _opened(upload)
    image.thumbnail((LOGO_SIDE, LOGO_SIDE), Image.Resampling.LANCZOS)
    return Drawn(_png(image), "image/png", image.size, _small(image, SMALL_LOGO, SMALL_LOGO_BYTES))


def photograph(upload: bytes) -> Drawn:
    """A product's picture, on white where the upload is transparent. Raises Invalid."""
    seen = _opened(upload)
    seen.thumbnail((PHOTOGRAPH_SIDE, PHOTOGRAPH_SIDE), Image.Resampling.LANCZOS)
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


def _opened(upload: bytes) -> Any:
    """The image, upright and decoded as RGBA, never larger than MOST_PIXELS. Raises Invalid."""
    if len(upload) > LARGEST_UPLOAD:
        raise Invalid(_("The picture is larger than %(most)d MB.") % {"most": LARGEST_UPLOAD // 1_000_000})
    ImageFile.LOAD_TRUNCATED_IMAGES = False  # WeasyPrint, once loaded, has the whole process take half a file for one
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(upload), formats=FORMATS)
            if image.width * image.height > MOST_PIXELS:
                raise Image.DecompressionBombError
            image.load()
            return ImageOps.exif_transpose(image).convert("RGBA")
    except Image.DecompressionBombError as error:
        raise Invalid(_("The picture has too many pixels; make it smaller.")) from error
    except BROKEN as error:
        raise Invalid(_("This is no picture that can be read. Upload a PNG, JPEG or WebP file.")) from error


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
