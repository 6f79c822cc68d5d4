"""Pictures: the only code that writes them. What is uploaded is decoded within bounds and made anew, never kept."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from django.utils.translation import gettext as _

from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand, Picture
from brands.tenants import picture_drawing, quotas
from core.errors import Invalid, Unavailable

MAX_UPLOAD_BYTES = 5_000_000  # bytes
TURN_SECONDS = 10  # that an upload waits while another one is decoded
DRAW_SECONDS = 15  # for the program that decodes; it stops itself after drawing.CPU_SECONDS of work
PROGRAM = Path(picture_drawing.__file__)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture made anew: the large one and its type, and the small WebP for pages."""

    content: bytes
    content_type: str
    size: tuple[int, int]
    small: bytes


# Each decoding takes a process of its own: of a web process's threads one has one at a time.
turn = Lock()


def logo(upload: bytes) -> Drawn:
    """A brand's logo, transparent where the upload is. Raises Invalid and Unavailable."""
    return _drawn("logo", upload, "image/png")


def photograph(upload: bytes) -> Drawn:
    """A product's picture, on white where the upload is transparent. Raises Invalid and Unavailable."""
    return _drawn("photograph", upload, "image/jpeg")


def store(*, brand: Brand, drawn: Drawn, instead_of: Picture | None = None) -> Picture:
    """A new picture of the brand's; the caller forgets the one that it stands instead of, in the same transaction.

    Raises QuotaReached above the brand's storage.
    """
    freed = len(instead_of.content) + len(instead_of.small) if instead_of else 0
    more = len(drawn.content) + len(drawn.small) - freed
    quotas.require(brand.pk, BrandQuota.Resource.STORAGE, more=more, field="picture_file")
    width, height = drawn.size
    return Picture.objects.create(
        brand=brand,
        content=drawn.content,
        content_type=drawn.content_type,
        width=width,
        height=height,
        small=drawn.small,
    )


def delete(picture: Picture | None) -> None:
    """Delete a picture that nothing shows any more."""
    if picture:
        picture.delete()


def _drawn(kind: str, upload: bytes, content_type: str) -> Drawn:
    if len(upload) > MAX_UPLOAD_BYTES:
        raise Invalid(_("The picture is larger than %(most)d MB.") % {"most": MAX_UPLOAD_BYTES // 1_000_000})
    head, _end, pictures = _drawn_by_worker(kind, upload).partition(b"\n")
    said = json.loads(head or b'{"unfit": "memory"}')  # it was stopped before it answered
    if "unfit" in said:
        raise Invalid(_why(said["unfit"]))
    width, height = said["size"]
    return Drawn(pictures[: said["content"]], content_type, (width, height), pictures[said["content"] :])


def _drawn_by_worker(kind: str, upload: bytes) -> bytes:
    """What the program that decodes answers; nothing where it was stopped."""
    if not turn.acquire(timeout=TURN_SECONDS):
        raise Unavailable(_("Other pictures are being processed. Try again in a moment."))
    command = [sys.executable, "-I", str(PROGRAM), kind]  # -I: nothing from the environment or the current directory
    try:
        return subprocess.run(
            command, input=upload, capture_output=True, timeout=DRAW_SECONDS, check=False, env={}
        ).stdout
    except subprocess.TimeoutExpired:
        return b""
    finally:
        turn.release()


def _why(unfit: str) -> str:
    if unfit == "pixels":
        message = _("The picture has more than %(most)d million pixels. Make it smaller.")
        return message % {"most": picture_drawing.MAX_PIXELS // 1_000_000}
    if unfit == "animated":
        return _("Animated pictures are not accepted. Upload a still picture.")
    if unfit == "memory":
        return _(
            "This picture takes too long or too much memory to read. Save it in another format or make it smaller."
        )
    return _("This picture cannot be read. Upload a PNG, JPEG or WebP file.")
