"""Pictures: the only code that writes them. Uploads are decoded within limits and re-encoded, never stored."""

import json
from dataclasses import dataclass

from django.utils.translation import gettext as _

from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand, Picture
from brands.tenants import picture_drawing, quotas
from core.errors import Invalid
from core.uploads.bounded_program import BoundedProgram

MAX_UPLOAD_BYTES = 5_000_000  # bytes
DRAW_SECONDS = 15  # for the program that decodes; it stops itself after picture_drawing.CPU_SECONDS of work
program = BoundedProgram(picture_drawing, seconds=DRAW_SECONDS)


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """A re-encoded picture: the large one and its type, and the small WebP for pages."""

    content: bytes
    content_type: str
    size: tuple[int, int]
    small: bytes


def logo(upload: bytes) -> EncodedPicture:
    """A brand's logo, transparent where the upload is. Raises Invalid and Unavailable."""
    return _encoded("logo", upload, "image/png")


def photograph(upload: bytes) -> EncodedPicture:
    """A product's picture, on white where the upload is transparent. Raises Invalid and Unavailable."""
    return _encoded("photograph", upload, "image/jpeg")


def store(*, brand: Brand, encoded: EncodedPicture, instead_of: Picture | None = None) -> Picture:
    """Store a new picture of the brand. The caller deletes the picture `instead_of` in the same transaction.

    Raises QuotaReached above the brand's storage.
    """
    require_storage(brand=brand, encoded=encoded, instead_of=instead_of)
    width, height = encoded.size
    return Picture.objects.create(
        brand=brand,
        content=encoded.content,
        content_type=encoded.content_type,
        width=width,
        height=height,
        small=encoded.small,
    )


def require_storage(*, brand: Brand, encoded: EncodedPicture, instead_of: Picture | None) -> None:
    """Check whether `store` would exceed the brand's storage. Raises QuotaReached; the error's field is the form's."""
    freed = len(instead_of.content) + len(instead_of.small) if instead_of else 0
    more = len(encoded.content) + len(encoded.small) - freed
    quotas.require(brand.pk, BrandQuota.Resource.STORAGE, more=more, field="picture_file")


def delete(picture: Picture | None) -> None:
    """Delete a picture that is no longer used."""
    if picture:
        picture.delete()


def _encoded(kind: str, upload: bytes, content_type: str) -> EncodedPicture:
    if len(upload) > MAX_UPLOAD_BYTES:
        raise Invalid(_("The picture is larger than %(most)d MB.") % {"most": MAX_UPLOAD_BYTES // 1_000_000})
    busy = _("Other pictures are being processed. Try again in a moment.")
    head, _end, pictures = program.run(kind, content=upload, busy=busy).partition(b"\n")
    outcome = json.loads(head or b'{"unfit": "memory"}')  # the program was stopped before it answered
    if "unfit" in outcome:
        raise Invalid(_why(outcome["unfit"]))
    width, height = outcome["size"]
    return EncodedPicture(pictures[: outcome["content"]], content_type, (width, height), pictures[outcome["content"] :])


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
