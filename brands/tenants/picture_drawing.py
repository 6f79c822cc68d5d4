"""Reads an uploaded picture and re-encodes it: a program that brands.tenants.pictures starts for each upload.

It imports only Pillow, reads the upload from standard input, and limits its own memory and time. It never uses the
web process's memory, and releases its own when it ends.
"""

import io
import json
import resource
import struct
import sys
import warnings
from typing import Any, BinaryIO

from PIL import Image, ImageOps

MAX_PIXELS = 12_000_000
MEMORY_BYTES = 512 * 1024 * 1024  # of address space
CPU_SECONDS = 4
FORMATS = ("PNG", "JPEG", "WEBP")
LOGO_SIDE, PHOTOGRAPH_SIDE = 660, 1200  # pixels; 660 is Google Wallet's size for a logo
# Pages load these in addition to everything else: together within 50 kB.
SMALL_LOGO, SMALL_PHOTOGRAPH = (320, 96), (480, 360)
SMALL_LOGO_BYTES, SMALL_PHOTOGRAPH_BYTES = 6_000, 14_000
QUALITIES = (80, 65, 50, 35, 20, 8)
# What Pillow raises for a file that is not what it claims to be. Pillow's readers catch these, except for EXIF.
BROKEN = (OSError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, EOFError, struct.error)


class Unfit(Exception):
    """Why a picture is rejected: `pixels`, `animated`, `broken` or `memory`."""


def main(kind: str, source: BinaryIO, target: BinaryIO) -> None:
    """Answer with a line of JSON, followed by the large picture and the small one."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        content, size, small = {"logo": logo, "photograph": photograph}[kind](source.read())
    except Unfit as unfit:
        outcome, content, small = {"unfit": str(unfit)}, b"", b""
    except MemoryError:
        outcome, content, small = {"unfit": "memory"}, b"", b""
    else:
        outcome = {"size": size, "content": len(content), "small": len(small)}  # type: ignore[dict-item]
    target.write(json.dumps(outcome).encode() + b"\n" + content + small)


def logo(upload: bytes) -> tuple[bytes, tuple[int, int], bytes]:
    """A PNG, transparent where the upload is, its size in pixels, and a small WebP."""
    image = _opened(upload, LOGO_SIDE)
    return _png(image), image.size, _small(image, SMALL_LOGO, SMALL_LOGO_BYTES)


def photograph(upload: bytes) -> tuple[bytes, tuple[int, int], bytes]:
    """A JPEG, on white where the upload is transparent, its size in pixels, and a small WebP."""
    seen = _opened(upload, PHOTOGRAPH_SIDE)
    image = Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen).convert("RGB")
    content = io.BytesIO()
    image.save(content, "JPEG", quality=82, optimize=True, progressive=True)
    return content.getvalue(), image.size, _small(image, SMALL_PHOTOGRAPH, SMALL_PHOTOGRAPH_BYTES)


def _opened(upload: bytes, side: int) -> Any:
    """The image, upright, as RGBA and within `side` by `side`. Raises Unfit, without decoding if the header is
    sufficient.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            check_pixels(*webp_size(upload))
            with Image.open(io.BytesIO(upload), formats=FORMATS) as image:
                check_pixels(*image.size)
                if getattr(image, "n_frames", 1) > 1:
                    raise Unfit("animated")
                image.draft("RGB", (2 * side, 2 * side))  # a JPEG need not be decoded larger than this
                image.load()
                upright = ImageOps.exif_transpose(image).convert("RGBA")
                upright.thumbnail((side, side), Image.Resampling.LANCZOS)
                return upright
    except Image.DecompressionBombError as error:
        raise Unfit("pixels") from error
    except BROKEN as error:
        raise Unfit("broken") from error


def check_pixels(width: int, height: int) -> None:
    """Raises DecompressionBombError."""
    if width * height > MAX_PIXELS:
        raise Image.DecompressionBombError


def webp_size(upload: bytes) -> tuple[int, int]:
    """Width and height from a WebP file's header; 0 by 0 for another file.

    Pillow allocates the memory of the whole canvas on opening, before it reports the size.
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
    """As WebP of `most` bytes at most: reduces the quality first, then the size."""
    image = image.copy()
    image.thumbnail(box, Image.Resampling.LANCZOS)
    while True:
        for quality in QUALITIES:
            content = io.BytesIO()
            image.save(content, "WEBP", quality=quality, method=6)
            if content.tell() <= most:
                return content.getvalue()
        image.thumbnail((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)))


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)
