"""QR images over HTTP, at addresses that contain their own permission."""

import hashlib
import time
from typing import Any
from urllib.parse import urlencode

from django.core import signing
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request

from authcodes.models.codes import AuthCode
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import Level
from authcodes.printing.qr.verification import Unreadable, verify
from brands.tenants.hostnames import hostname_of
from core.api.file_views import FileView
from core.api.openapi.endpoint import PUBLIC, endpoint
from core.api.tokenless_views import TokenlessView
from core.errors import NotFound
from core.redis import rate_limits
from core.web import client_address

KINDS: dict[str, tuple[str, Any]] = {"png": ("image/png", images.png), "svg": ("image/svg+xml", images.svg)}
UNCHANGED = OpenApiResponse(description="Not modified: `If-None-Match` has the current `ETag`.")
DAY = 24 * 3600
ADDRESS_LASTS = 7 * DAY  # seconds at least: an address has the beginning of its day, and is valid up to a day longer


class ImageQuery(serializers.Serializer[Any]):
    """How an image is drawn."""

    size_mm = serializers.DecimalField(
        max_digits=6,
        decimal_places=2,
        min_value=int(images.MIN_SIZE_MM),
        max_value=int(images.MAX_SIZE_MM),
        required=False,
        help_text="The printed width, including the white margin; 2 inches by default.",
    )
    level = serializers.ChoiceField(
        choices=[level.name for level in Level],
        required=False,
        help_text="The error correction level; the batch's by default.",
    )

    @classmethod
    def read(cls, request: Request) -> dict[str, Any]:
        """Raises DRF's ValidationError."""
        query = cls(data=request.query_params.dict())  # as a plain dict, since a form would accept an empty value
        query.is_valid(raise_exception=True)
        return {"size_mm": images.DEFAULT_SIZE_MM, **query.validated_data}


class Permission(signing.TimestampSigner):
    """An image's address is its own permission, so that pages can show the image.

    The timestamp is a day, so the address stays the same all day and caches can keep the image.
    """

    def __init__(self) -> None:
        # Another salt would end every address that has been handed out, so it did not move with the module.
        super().__init__(salt="authcodes.printing.qr.images-image")

    def timestamp(self) -> str:
        return signing.b62_encode(int(time.time()) // DAY * DAY)


def image_address(code: AuthCode, parameters: dict[str, str] | None = None, kind: str = "png") -> str:
    permission = Permission().sign(code.code).removeprefix(code.code)
    query = urlencode({"permission": permission[1:], **(parameters or {})}, safe=":")
    return reverse(f"qr-image-{kind}", args=[code.code]) + f"?{query}"


PERMISSION = OpenApiParameter(
    "permission", str, required=True, description="The permission in the address from `list_qr_codes`."
)


class Image(TokenlessView, FileView):
    """An image at an address from `list_qr_codes`."""

    kind: str

    def answer(self, request: Request, code: str) -> HttpResponseBase:
        """The image, or 304 if the client has it already. Raises NotFound, RateLimited and TooLong, and DRF's
        ValidationError.
        """
        rate_limits.hit("read", "image", client_address.client_address(request))
        permission = f"{code}:{request.query_params.get('permission', '')}"
        try:
            Permission().unsign(permission, max_age=ADDRESS_LASTS + DAY)
        except signing.BadSignature:
            raise NotFound from None
        row = AuthCode.objects.select_related("batch").filter(code=code).first()
        if row is None:
            raise NotFound
        how = ImageQuery.read(request)
        content_type, draw = KINDS[self.kind]
        level = Level[how.get("level", row.batch.error_correction)]
        text = printed_text(row)
        image = draw(text=text, size_mm=how["size_mm"], level=level)
        try:
            verify(image, text, kind=self.kind, code=code)
        except Unreadable as error:  # not the caller's fault, so it is answered and logged as a bug
            raise AssertionError(error.message) from error
        # Another hostname of the brand gives another image, so browsers ask again after a day.
        headers = {"Cache-Control": "private, max-age=86400"}
        response = HttpResponse(image, content_type=content_type, headers=headers)
        tag = quote_etag(hashlib.sha256(image).hexdigest()[:32])
        response.headers["ETag"] = tag
        return get_conditional_response(request._request, etag=tag, response=response) or response  # noqa: SLF001


class PngImage(Image):
    kind = "png"

    @endpoint(
        "read_qr_image",
        tag="Codes",
        summary="Fetch a QR image (PNG)",
        needs=[PUBLIC],
        parameters=[PERMISSION, ImageQuery],
        responses={(200, "image/png"): OpenApiTypes.BINARY, 304: UNCHANGED},
    )
    def get(self, request: Request, code: str) -> HttpResponseBase:
        """Return a QR image as a PNG at 300 DPI, as it is printed; at least 2 by 2 inches unless `size_mm` is sent.

        Take the address from `list_qr_codes`: it contains its own permission, and is valid for at least 7 days. Send
        the `ETag` back as `If-None-Match`, and an image that has not changed is not sent again.
        """
        return self.answer(request, code)


class SvgImage(Image):
    kind = "svg"

    @endpoint(
        "read_qr_image_svg",
        tag="Codes",
        summary="Fetch a QR image (SVG)",
        needs=[PUBLIC],
        parameters=[PERMISSION, ImageQuery],
        responses={(200, "image/svg+xml"): OpenApiTypes.BINARY, 304: UNCHANGED},
    )
    def get(self, request: Request, code: str) -> HttpResponseBase:
        """Return the same image as an SVG, exactly 2 by 2 inches unless `size_mm` is sent.

        Take the address from `list_qr_codes` with `image=svg`.
        """
        return self.answer(request, code)


def printed_text(code: AuthCode) -> str:
    """What the code's symbol says; without a hostname, the code alone unless it was printed elsewhere."""
    hostname = hostname_of(code.brand_id)
    if hostname or code.payload is not None:
        return images.payload(code=code, hostname=hostname)
    return images.printed(code)
