"""Codes over HTTP, for a brand's hub and staff: a code's scans (spec 4.8) and a batch's QR images (4.5)."""

from typing import Any

from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from authcodes import qr
from authcodes.models import AuthCode, BatchRange, Scan
from authcodes.reading import read
from brands import limits
from brands.authentication import SESSION_OR_BEARER, caller_of, staff_role
from brands.models import BrandHostname
from brands.paging import Page, paged
from brands.refusals import AuthenticationRequired, Forbidden, NotFound
from loyalty.accrual import plain
from loyalty.events import iso
from loyalty.views.account import PAGE_PARAMETERS, PaginationOutput

# An image's address is its own permission, so that pages can show it; it lapses after this many seconds.
ADDRESS_LASTS = 7 * 24 * 3600
SALT = "authcodes.qr-image"
STAFF_HEADER = OpenApiParameter("api-key", str, OpenApiParameter.HEADER, description="A hub key, or staff's token.")


class ScanRecordOutput(serializers.Serializer[Any]):
    scan_id = serializers.CharField()
    customer_email = serializers.CharField(allow_null=True)
    timestamp = serializers.DateTimeField()
    location = serializers.CharField(allow_null=True)
    points_awarded = serializers.FloatField()


class CodeScansOutput(serializers.Serializer[Any]):
    code = serializers.CharField()
    product = serializers.CharField(allow_null=True)
    total_scans = serializers.IntegerField()
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

    def may_read(self, brand_id: int) -> bool:
        if self.caller:
            return self.caller.brand_id == brand_id
        return staff_role(self.user, brand_id) is not None


class CodeScans(APIView):
    """4.8: who scanned a code, newest first."""

    authentication_classes = SESSION_OR_BEARER
    permission_classes = (AllowAny,)

    @extend_schema(parameters=[STAFF_HEADER, *PAGE_PARAMETERS], responses=CodeScansOutput)
    def get(self, request: Request, code: str) -> Response:
        reader = BrandReader(request)
        reading = read(code)
        found = AuthCode.objects.select_related("product").filter(code=reading.code if reading else "").first()
        if found is None or not reader.may_read(found.brand_id):
            raise NotFound
        scans = Scan.objects.filter(auth_code=found, outcome=Scan.Outcome.SUCCESS).select_related("user")
        rows, pagination = paged(request, scans, order=("-scanned_at", "-scan_id"), view=self)
        return Response(
            {
                "code": found.code,
                "product": found.product.title if found.product else None,
                "total_scans": found.scan_count,
                "scans": [present_record(scan) for scan in rows],
                "pagination": pagination,
            }
        )


def present_record(scan: Scan) -> dict[str, Any]:
    return {
        "scan_id": str(scan.pk),
        "customer_email": scan.user.email if scan.user else None,
        "timestamp": iso(scan.scanned_at),
        "location": scan.location or None,
        "points_awarded": plain(scan.points_awarded),
    }


class CodesPage(Page):
    """A batch's codes come in larger pages: each is one short address."""

    page_size = 1000
    max_page_size = 1000


class BatchQrCodes(APIView):
    """4.5: the addresses of a batch's QR images, in the order of its codes."""

    authentication_classes = SESSION_OR_BEARER
    permission_classes = (AllowAny,)

    @extend_schema(
        parameters=[STAFF_HEADER, *PAGE_PARAMETERS],
        responses={(200, "application/json"): {"type": "array", "items": {"type": "string", "format": "uri"}}},
    )
    def get(self, request: Request, batch_id: int) -> Response:
        reader = BrandReader(request)
        batch = BatchRange.objects.filter(pk=batch_id).first()
        if batch is None or not reader.may_read(batch.brand_id):
            raise NotFound
        codes = AuthCode.objects.filter(batch=batch)
        page = CodesPage()
        rows, pagination = paged(request, codes, order=("id",), view=self, page=page)
        addresses = [request.build_absolute_uri(image_address(code)) for code in rows]
        headers = {"Link": f'<{page.get_next_link()}>; rel="next"'} if pagination["has_more"] else {}
        return Response(addresses, headers=headers)


def image_address(code: AuthCode) -> str:
    permission = signing.TimestampSigner(salt=SALT).sign(code.code).removeprefix(code.code)
    return reverse("qr-image", args=[code.code]) + f"?permission={permission[1:]}"


def qr_image(request: HttpRequest, code: str) -> HttpResponse:
    """The image that an address of BatchQrCodes names. 404 for any other address, or once it has lapsed."""
    signer = signing.TimestampSigner(salt=SALT)
    try:
        signer.unsign(f"{code}:{request.GET.get('permission', '')}", max_age=ADDRESS_LASTS)
    except signing.BadSignature:
        raise Http404 from None
    found = AuthCode.objects.select_related("batch").filter(code=code).first()
    if found is None:
        raise Http404
    response = HttpResponse(qr.png(text=address_in_print(found)), content_type="image/png")
    response["Cache-Control"] = "private, max-age=86400, immutable"
    return response


def address_in_print(code: AuthCode) -> str:
    hostname = BrandHostname.objects.filter(brand_id=code.brand_id).order_by("-is_primary", "hostname").first()
    return qr.payload(code=code, hostname=hostname.hostname) if hostname else qr.printed(code)
