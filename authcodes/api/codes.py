"""Codes over HTTP, for a brand's hub and staff: a code's scans (spec 4.8) and a batch's QR images (4.5)."""

import hashlib
import time
from contextlib import AbstractContextManager
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
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from authcodes import qr, tags
from authcodes.exports import CUSTOMER_EMAIL
from authcodes.models import AuthCode, BatchRange, Scan
from authcodes.proofs import Unreadable, proved
from authcodes.symbols import Level
from brands import guard, limits, roles
from brands.api_filters import ChoiceFilter, ListFilters
from brands.authentication import SESSION_OR_BEARER, caller_of, staff_may_read
from brands.hosts import hostname_of
from brands.openapi import ANYBODY, BEARER, KEY, PORTAL, endpoint
from brands.paging import Page, paged
from brands.refusals import AuthenticationRequired, Forbidden, NotFound
from brands.roles import ACT, VIEW
from brands.scanned import read
from brands.tokens import Principal
from loyalty.events import iso
from loyalty.points import plain
from loyalty.views.account import PaginationOutput, page_parameters

KINDS: dict[str, tuple[str, Any]] = {"png": ("image/png", qr.png), "svg": ("image/svg+xml", qr.svg)}
UNCHANGED = OpenApiResponse(description="The caller has it: its `ETag` was sent as `If-None-Match`.")
DAY = 24 * 3600
ADDRESS_LASTS = 7 * DAY  # seconds at least, and less than a day more
NEXT_PAGE = OpenApiParameter(
    "Link", str, OpenApiParameter.HEADER, response=[200], description='The next page: `<address>; rel="next"`.'
)
HUB_OR_STAFF = [KEY, BEARER, PORTAL]
READER_ERRORS = [
    "AUTHENTICATION_REQUIRED",
    "TOKEN_INVALID",
    "API_KEY_INVALID",
    "FORBIDDEN",
    "NOT_FOUND",
    "RATE_LIMITED",
]


class ScanRecordOutput(serializers.Serializer[Any]):
    scan_id = serializers.CharField()
    customer_email = serializers.CharField(allow_null=True)
    timestamp = serializers.DateTimeField()
    location = serializers.CharField(allow_null=True)
    points_awarded = serializers.FloatField(help_text="Whole where whole; 0 until they are credited.")
    outcome = serializers.ChoiceField(choices=Scan.Outcome.values, help_text="success: the scan was accepted.")
    reason = serializers.ChoiceField(choices=Scan.Reason.values, help_text="The true reason of the outcome.")


class CodeScanFilters(ListFilters):
    outcome = ChoiceFilter(parameter="outcome", values=Scan.Outcome.values)


OUTCOME = OpenApiParameter(
    "outcome",
    {"type": "string", "enum": Scan.Outcome.values, "minLength": 1},
    description="List scans of this outcome only.",
)


class CodeScansOutput(serializers.Serializer[Any]):
    code = serializers.CharField()
    product = serializers.CharField(allow_null=True)
    total_scans = serializers.IntegerField(help_text="All recorded attempts to scan the code, whatever the filter.")
    accepted_scans = serializers.IntegerField(help_text="Of these, the accepted ones.")
    scans = ScanRecordOutput(many=True)
    pagination = PaginationOutput()


class BrandReader:
    """A hub key or a member of staff, and the brands whose rows they may read."""

    def __init__(self, request: Request) -> None:
        self.user = request.user
        self.caller = caller_of(request)
        if self.caller is None and not self.user.is_authenticated:
            raise AuthenticationRequired
        if self.caller and not self.caller.is_hub:
            raise Forbidden("An app key is published with the app; this needs a hub key or staff.")
        if self.caller is None and not getattr(self.user, "is_staff", False):
            raise Forbidden("Only the brand's staff or its hub may read this.")
        limits.hit("read", f"reader:{self.caller.prefix if self.caller else self.user.pk}")

        self.token = request.auth if isinstance(request.auth, Principal) else None

    def guard(self) -> AbstractContextManager[None]:
        """The database's guard for what they read."""
        return guard.within([self.caller.brand_id]) if self.caller else roles.guarding(self.user)

    def may_read(self, brand_id: int, label: str, verb: str = VIEW) -> bool:
        """Whether rows of the model `label` of this brand are theirs to read, as in the portal."""
        if self.caller:
            return self.caller.brand_id == brand_id
        return staff_may_read(self.user, self.token, brand_id, label, verb)


class CodeScans(APIView):
    """4.8: the attempts to scan a code, newest first."""

    authentication_classes = SESSION_OR_BEARER
    permission_classes = (AllowAny,)

    @endpoint(
        "list_code_scans",
        tag="Codes",
        summary="List a code's scans",
        needs=HUB_OR_STAFF,
        errors=[*READER_ERRORS, "VALIDATION_ERROR"],
        parameters=[*page_parameters(), OUTCOME],
        responses=CodeScansOutput,
    )
    @guard.marked(guard.OF_BRAND)
    def get(self, request: Request, code: str) -> Response:
        """List every recorded attempt to scan a code, newest first, with its `outcome` and `reason`.

        For the brand's hub key, or a member of its staff. Attempts that were refused are listed too: of recalled,
        expired and used-up codes, and with a wrong tag. `total_scans` counts all of them, `accepted_scans` the accepted
        ones; `outcome` narrows the list and neither count. `customer_email` is null for guests and for other brands'
        customers.

        A signed code may be given without its tag, as events name it; with a wrong one it is not found.
        """
        reader = BrandReader(request)
        with reader.guard():
            return self.scans_of(request, reader, code)

    def scans_of(self, request: Request, reader: BrandReader, code: str) -> Response:
        reading = read(code)
        codes = AuthCode.objects.select_related("product", "batch")
        found = codes.filter(code=reading.code).first() if reading else None
        if found is None or not reader.may_read(found.brand_id, "authcodes.scan"):
            raise NotFound
        if reading and reading.tag and not tag_fits(found, reading.tag):
            raise NotFound
        attempts = Scan.objects.filter(auth_code=found)
        scans = CodeScanFilters.of(request, attempts).qs.annotate(customer_email=CUSTOMER_EMAIL)
        rows, pagination = paged(request, scans, order=("-scanned_at", "-scan_id"), view=self)
        return Response(
            {
                "code": found.code,
                "product": found.product.title if found.product else None,
                "total_scans": attempts.count(),
                "accepted_scans": found.scan_count,
                "scans": [present_record(scan) for scan in rows],
                "pagination": pagination,
            }
        )


def tag_fits(code: AuthCode, tag: str) -> bool:
    return tags.fits(given=tag, code=code.code, batch_id=code.batch_id, version=code.batch.tag_version)


def present_record(scan: Any) -> dict[str, Any]:
    return {
        "scan_id": str(scan.pk),
        "customer_email": scan.customer_email,
        "timestamp": iso(scan.scanned_at),
        "location": scan.location or None,
        "points_awarded": plain(scan.points_awarded),
        "outcome": scan.outcome,
        "reason": scan.reason,
    }


class ImageQuery(serializers.Serializer[Any]):
    """How an image is to be drawn."""

    size_mm = serializers.DecimalField(
        max_digits=6,
        decimal_places=2,
        min_value=int(qr.SMALLEST_SIZE_MM),
        max_value=int(qr.LARGEST_SIZE_MM),
        required=False,
        help_text="How wide it is printed, with its white edge: 2 inches unless told.",
    )
    level = serializers.ChoiceField(
        choices=[level.name for level in Level], required=False, help_text="Error correction: the batch's unless told."
    )

    @classmethod
    def read(cls, request: Request) -> dict[str, Any]:
        """Raises DRF's ValidationError."""
        query = cls(data=request.query_params.dict())  # as a form, it would take an empty value for none
        query.is_valid(raise_exception=True)
        return {"size_mm": qr.DEFAULT_SIZE_MM, **query.validated_data}


class ListQuery(ImageQuery):
    """How images are to be drawn, and as what."""

    image = serializers.ChoiceField(
        choices=list(KINDS), default="png", help_text="PNG of 300 DPI, or SVG, which is lines and of any resolution."
    )


class CodesPage(Page):
    """A batch's codes come in larger pages: each is one short address."""

    page_size = 1000
    max_page_size = 1000


class BatchQrCodes(APIView):
    """4.5: the addresses of a batch's QR images, in the order of its codes."""

    authentication_classes = SESSION_OR_BEARER
    permission_classes = (AllowAny,)

    @endpoint(
        "list_qr_codes",
        tag="Codes",
        summary="List a batch's QR images",
        needs=HUB_OR_STAFF,
        errors=[*READER_ERRORS, "VALIDATION_ERROR"],
        parameters=[*page_parameters(CodesPage), ListQuery, NEXT_PAGE],
        responses={(200, "application/json"): {"type": "array", "items": {"type": "string", "format": "uri"}}},
    )
    @guard.marked(guard.OF_BRAND)
    def get(self, request: Request, batch_id: int) -> Response:
        """The addresses of a batch's QR images, in the order of its codes.

        For the brand's hub key, or a member of its staff who prints: owner, manager or printer. Each address can be
        fetched without either, for 7 days at least, and gives an image of the size and kind that were asked for here.
        It is the same all day (UTC), so images can be kept by their addresses. The `Link` header has the address of the
        next page (`rel="next"`); the last page has none.
        """
        reader = BrandReader(request)
        with reader.guard():
            return self.images_of(request, reader, batch_id)

    def images_of(self, request: Request, reader: BrandReader, batch_id: int) -> Response:
        batch = BatchRange.objects.filter(pk=batch_id).first()
        if batch is None or not reader.may_read(batch.brand_id, "authcodes.authcode"):
            raise NotFound
        if not reader.may_read(batch.brand_id, "authcodes.printrun", ACT):
            raise Forbidden("QR images hold the codes' secret tags; this needs a hub key or staff who print.")
        kind = ListQuery.read(request)["image"]
        query = request.query_params
        asked = {name: str(query[name]) for name in ImageQuery().get_fields() if name in query}
        codes = AuthCode.objects.filter(batch=batch)
        page = CodesPage()
        rows, pagination = paged(request, codes, order=("id",), view=self, page=page)
        addresses = [request.build_absolute_uri(image_address(code, asked, kind)) for code in rows]
        headers = {"Link": f'<{page.get_next_link()}>; rel="next"'} if pagination["has_more"] else {}
        return Response(addresses, headers=headers)


class Permission(signing.TimestampSigner):
    """An image's address is its own permission, so that pages can show it.

    It tells the day, not the second: who lists a batch again finds what is kept of its images under its address.
    """

    def __init__(self) -> None:
        super().__init__(salt="authcodes.qr-image")

    def timestamp(self) -> str:
        return signing.b62_encode(int(time.time()) // DAY * DAY)


def image_address(code: AuthCode, asked: dict[str, str] | None = None, kind: str = "png") -> str:
    permission = Permission().sign(code.code).removeprefix(code.code)
    query = urlencode({"permission": permission[1:], **(asked or {})}, safe=":")
    return reverse(f"qr-image-{kind}", args=[code.code]) + f"?{query}"


PERMISSION = OpenApiParameter("permission", str, required=True, description="As the address came with it.")


class Image(APIView):
    """An image that an address of BatchQrCodes names."""

    authentication_classes = ()
    permission_classes = ()
    kind: str

    def perform_content_negotiation(self, request: Request, force: bool = True) -> Any:  # noqa: ARG002, FBT001, FBT002
        """Errors are JSON, whatever a page asks for that shows images."""
        return super().perform_content_negotiation(request, force=True)

    def answer(self, request: Request, code: str) -> HttpResponseBase:
        """The image, or 304 for who has it already. Raises NotFound, RateLimited."""
        limits.hit("read", "image", limits.client_address(request))
        given = f"{code}:{request.query_params.get('permission', '')}"
        try:
            Permission().unsign(given, max_age=ADDRESS_LASTS + DAY)
        except signing.BadSignature:
            raise NotFound from None
        found = AuthCode.objects.select_related("batch").filter(code=code).first()
        if found is None:
            raise NotFound
        how = ImageQuery.read(request)
        content_type, draw = KINDS[self.kind]
        level = Level[how.get("level", found.batch.error_correction)]
        text = address_in_print(found)
        image = draw(text=text, size_mm=how["size_mm"], level=level)
        try:
            proved(image, text, kind=self.kind, code=code)
        except Unreadable as error:  # nothing the caller sent is wrong: a bug, answered and logged as one
            raise AssertionError(error.message) from error
        # Another hostname of the brand makes another image, so browsers ask again after a day.
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
        needs=[ANYBODY],
        errors=["NOT_FOUND", "RATE_LIMITED", "VALIDATION_ERROR"],
        parameters=[PERMISSION, ImageQuery],
        responses={(200, "image/png"): OpenApiTypes.BINARY, 304: UNCHANGED},
    )
    def get(self, request: Request, code: str) -> HttpResponseBase:
        """A PNG of 300 DPI as it is printed, at least 2 by 2 inches unless told otherwise.

        Take the address from `list_qr_codes`: it is its own permission, and lasts 7 days at least. Send the `ETag` back
        as `If-None-Match`, and an image that has not changed is not sent again.
        """
        return self.answer(request, code)


class SvgImage(Image):
    kind = "svg"

    @endpoint(
        "read_qr_image_svg",
        tag="Codes",
        summary="Fetch a QR image (SVG)",
        needs=[ANYBODY],
        errors=["NOT_FOUND", "RATE_LIMITED", "VALIDATION_ERROR"],
        parameters=[PERMISSION, ImageQuery],
        responses={(200, "image/svg+xml"): OpenApiTypes.BINARY, 304: UNCHANGED},
    )
    def get(self, request: Request, code: str) -> HttpResponseBase:
        """The same image as lines, exactly 2 by 2 inches unless told otherwise.

        Take the address from `list_qr_codes` with `image=svg`.
        """
        return self.answer(request, code)


def address_in_print(code: AuthCode) -> str:
    hostname = hostname_of(code.brand_id)
    return qr.payload(code=code, hostname=hostname) if hostname else qr.printed(code)
