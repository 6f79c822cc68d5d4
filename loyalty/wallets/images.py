"""Images of passes: a brand's logo in the sizes of the wallets, or its initial without a logo."""

import hashlib
import io
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from brands.models.tenants import Picture
from core import colours
from loyalty.wallets.cards import PassDesign

ICON = 29  # Apple's points: pixels at @1x
LOGO = (160, 50)
GOOGLE_SIDE = 660
# Google shows a circle, so the whole image must fit into this share of the side.
INSCRIBED = 0.66


@dataclass(frozen=True, slots=True)
class File:
    """A file of an Apple pass, with the digest for the manifest."""

    name: str
    content: bytes
    sha1: str


@lru_cache(maxsize=64)
def apple_files(design: PassDesign) -> tuple[File, ...]:
    """The icon and logo at @1x, @2x and @3x. All passes of a brand share them."""
    drawn = _logo(design)
    result = []
    for scale in (1, 2, 3):
        suffix = "" if scale == 1 else f"@{scale}x"
        result.append(_file(f"icon{suffix}.png", _square(design, drawn, ICON * scale, share=0.8)))
        result.append(_file(f"logo{suffix}.png", _banner(design, drawn, scale)))
    return tuple(result)


@lru_cache(maxsize=16)
def google_logo(design: PassDesign) -> bytes:
    """A square PNG whose centre fits Google's round mask."""
    return _png(_square(design, _logo(design), GOOGLE_SIDE, share=INSCRIBED))


def name_of(design: PassDesign) -> str:
    """Changes with the image, so that caches do not show an old one."""
    parts = (design.logo_id, design.background, design.accent, design.name[:1])
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _logo(design: PassDesign) -> Any:
    """The brand's logo, or None."""
    if design.logo_id is None:
        return None
    content = Picture.objects.filter(pk=design.logo_id).values_list("content", flat=True).first()
    return Image.open(io.BytesIO(bytes(content))).convert("RGBA") if content else None


def _square(design: PassDesign, drawn: Any, side: int, *, share: float) -> Any:
    """The logo on the brand's background, or the initial on its accent colour."""
    if drawn is None:
        return _initial(design, side)
    image = Image.new("RGBA", (side, side), design.background)
    _paste(image, drawn, (round(side * share), round(side * share)), centred=True)
    return image


def _banner(design: PassDesign, drawn: Any, scale: int) -> Any:
    """The image in the corner of the card, on the card's background."""
    width, height = (side * scale for side in LOGO)
    if drawn is None:
        return _initial(design, height)
    fitted = drawn.copy()
    fitted.thumbnail((width, height), Image.Resampling.LANCZOS)
    return fitted


def _paste(image: Any, drawn: Any, box: tuple[int, int], *, centred: bool) -> None:
    fitted = drawn.copy()
    fitted.thumbnail(box, Image.Resampling.LANCZOS)
    place = ((image.width - fitted.width) // 2, (image.height - fitted.height) // 2) if centred else (0, 0)
    image.alpha_composite(fitted, place)


def _initial(design: PassDesign, side: int) -> Any:
    """The first letter on the accent colour, or a ring if Pillow's font lacks the letter."""
    image = Image.new("RGBA", (side, side), design.accent)
    pen, ink = ImageDraw.Draw(image), colours.on(design.accent)
    letter = design.name[:1].upper()
    if letter.isascii() and letter.isalnum():
        font = ImageFont.load_default(size=side * 0.62)
        pen.text((side / 2, side / 2), letter, fill=ink, font=font, anchor="mm")
    else:
        edge = side * 0.25
        pen.ellipse((edge, edge, side - edge, side - edge), outline=ink, width=max(2, side // 10))
    return image


def _file(name: str, image: Any) -> File:
    content = _png(image)
    return File(name, content, hashlib.sha1(content, usedforsecurity=False).hexdigest())


def _png(image: Any) -> bytes:
    content = io.BytesIO()
    image.save(content, "PNG", optimize=True)
    return content.getvalue()
