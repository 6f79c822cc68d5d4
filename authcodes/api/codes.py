"""Codes over HTTP, for a brand's hub and staff: the scans of a code (spec 4.8) and lists of QR images (4.5)."""

from contextlib import AbstractContextManager

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from authcodes.api.qr_images import KINDS, ImageQuery, image_address
from authcodes.api.scan_serializers import LocationField
from authcodes.codes import signed_tags
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.reports.columns import CUSTOMER_EMAIL
from brands.identity import roles
from brands.identity.authentication import SESSION_OR_BEARER, caller_of, staff_may_read
from brands.identity.roles import ACT, VIEW
from brands.identity.tokens import Principal
from brands.models.credentials import ApiKey
from brands.scanned import read
from core.api.filters import ChoiceFilter, TenantFilterSet
from core.api.lists import ListView
from core.api.openapi.endpoint import BEARER, KEY, PORTAL, endpoint
from core.api.openapi.examples import answer_example
from core.api.openapi.shared_examples import LAST_PAGE, SCAN_ID, WHEN
from core.api.outputs import Output, PointsField, TimestampField
from core.api.pagination import Page, PaginationOutput, page_parameters, paged
from core.db import row_guard
from core.errors import AuthenticationRequired, Forbidden, NotFound
from core.redis import rate_limits

NEXT_PAGE = OpenApiParameter(
    "Link", str, OpenApiParameter.HEADER, response=[200], description='The next page: `<address>; rel="next"`.'
)
HUB_OR_STAFF = [KEY, BEARER, PORTAL]


IMAGES = "https://alpine.example.com/api/v1/qr-codes"


class ScanRecordOutput(Output):
    scan_id = serializers.CharField()
    customer_email = serializers.CharField(allow_null=True)
    timestamp = TimestampField(source="scanned_at")
    location = LocationField(allow_null=True)
    points_awarded = PointsField(help_text="Without a fraction if whole; 0 until they are credited.")
    outcome = serializers.ChoiceField(choices=Scan.Outcome.values, help_text="success: the scan was accepted.")
    reason = serializers.ChoiceField(choices=Scan.Reason.values, help_text="The actual reason for the outcome.")


class CodeScanFilter(TenantFilterSet):
    outcome = ChoiceFilter(values=Scan.Outcome.values, description="Only scans with this outcome.")


class CodeScansOutput(Output):
    code = serializers.CharField()
    product = serializers.CharField(allow_null=True)
    total_scans = serializers.IntegerField(help_text="All recorded attempts to scan the code, whatever the filter.")
    accepted_scans = serializers.IntegerField(help_text="How many of these were accepted.")
    scans = ScanRecordOutput(many=True, source="rows")
    pagination = PaginationOutput()


class BrandReader:
    """A hub key or a member of staff, and the brands whose rows they may read."""

    def __init__(self, request: Request, scope: ApiKey.Scope) -> None:
        self.user = request.user
        self.caller = caller_of(request)
        if self.caller is None and not self.user.is_authenticated:
            raise AuthenticationRequired
        if self.caller:
            self.caller.require(scope)
        if self.caller is None and not getattr(self.user, "is_staff", False):
            raise Forbidden("Only the brand's staff or its hub may read this.")
        rate_limits.hit("read", f"reader:{self.caller.prefix if self.caller else self.user.pk}")

        self.token = request.auth if isinstance(request.auth, Principal) else None

    def guard(self) -> AbstractContextManager[None]:
        """The row-level guard for the rows that they may read."""
        return row_guard.within([self.caller.brand_id]) if self.caller else roles.guarding(self.user)

    def may_read(self, brand_id: int, label: str, verb: str = VIEW) -> bool:
        """Whether they may read the brand's rows of the model `label`, as in the portal."""
        if self.caller:
            return self.caller.brand_id == brand_id
        return staff_may_read(self.user, self.token, brand_id, label, verb)


LIST_CODE_SCANS_EXAMPLES = [
    answer_example(
        "The only page",
        {
            "code": "ALP0000004711",
            "product": "Alpine Jacket",
            "total_scans": 1,
            "accepted_scans": 1,
            "scans": [
                {
                    "scan_id": SCAN_ID,
                    "customer_email": "ada@example.com",
                    "timestamp": WHEN,
                    "location": "Bern, Canton of Bern",
                    "points_awarded": 50,
                    "outcome": "success",
                    "reason": "accepted",
                }
            ],
            "pagination": LAST_PAGE,
        },
    ),
]


class CodeScans(ListView):
    """4.8: the attempts to scan a code, newest first."""

    filterset_class = CodeScanFilter
    ordering = ("-scanned_at", "-scan_id")

    authentication_classes = SESSION_OR_BEARER
    permission_classes = (AllowAny,)

    @endpoint(
        "list_code_scans",
        tag="Codes",
        summary="List a code's scans",
        needs=HUB_OR_STAFF,
        raises=[Forbidden],
        parameters=[*page_parameters(), *CodeScanFilter.parameters()],
        responses=CodeScansOutput,
        examples=LIST_CODE_SCANS_EXAMPLES,
    )
    @row_guard.marked(row_guard.OF_BRAND)
    def get(self, request: Request, code: str) -> Response:
        """List every recorded attempt to scan a code, newest first, with its `outcome` and `reason`.

        For the brand's hub key, or a member of its staff. Rejected attempts are included: those of recalled, expired
        and used-up codes, and those with a wrong tag. `total_scans` counts all attempts, `accepted_scans` the accepted
        ones; the filter `outcome` affects neither count. `customer_email` is null for guests and for other brands'
        customers.

        A signed code may be sent without its tag, as events name it; with a wrong tag, it is not found.
        """
        reader = BrandReader(request, ApiKey.Scope.READ)
        with reader.guard():
            return self.scans_of(reader, code)

    def scans_of(self, reader: BrandReader, code: str) -> Response:
        reading = read(code)
        codes = AuthCode.objects.select_related("product", "batch")
        row = codes.filter(code=reading.code).first() if reading else None
        if row is None or not reader.may_read(row.brand_id, "authcodes.scan"):
            raise NotFound
        if reading and reading.tag and not tag_fits(row, reading.tag):
            raise NotFound
        attempts = Scan.objects.filter(auth_code=row)
        page = self.page_of(attempts.annotate(customer_email=CUSTOMER_EMAIL))
        answer = {
            "code": row.code,
            "product": row.product.title if row.product else None,
            "total_scans": attempts.count(),
            "accepted_scans": row.scan_count,
            **page,
        }
        return Response(CodeScansOutput.serialize(answer))


def tag_fits(code: AuthCode, tag: str) -> bool:
    return signed_tags.fits(candidate=tag, code=code.code, batch_id=code.batch_id, version=code.batch.tag_version)


class ListQuery(ImageQuery):
    """How images are drawn, and in which format."""

    image = serializers.ChoiceField(
        choices=list(KINDS), default="png", help_text="PNG at 300 DPI, or SVG, which scales to any resolution."
    )


class CodesPage(Page):
    """Larger pages than usual: each code is one short address."""

    page_size = 1000
    max_page_size = 1000


LIST_QR_CODES_EXAMPLES = [
    answer_example(
        "A batch of two",
        [
            f"{IMAGES}/ALP0000004711.png?permission=1w1K0v:c2lnbmF0dXJl",
            f"{IMAGES}/ALP0000004712.png?permission=1w1K0v:c2lnbmF0dXJm",
        ],
    ),
]


class BatchQrCodes(APIView):
    """4.5: the addresses of a batch's QR images, in the order of its codes."""

    authentication_classes = SESSION_OR_BEARER
    permission_classes = (AllowAny,)

    @endpoint(
        "list_qr_codes",
        tag="Codes",
        summary="List a batch's QR images",
        needs=HUB_OR_STAFF,
        raises=[Forbidden],
        parameters=[*page_parameters(CodesPage), ListQuery, NEXT_PAGE],
        responses={(200, "application/json"): {"type": "array", "items": {"type": "string", "format": "uri"}}},
        examples=LIST_QR_CODES_EXAMPLES,
    )
    @row_guard.marked(row_guard.OF_BRAND)
    def get(self, request: Request, batch_id: int) -> Response:
        """List the addresses of a batch's QR images, in the order of its codes.

        For the brand's hub key, or a member of its staff who prints: owner, manager or printer. Each address works
        without credentials for at least 7 days, and returns an image of the size and kind requested here. It stays the
        same all day (UTC), so images can be cached by their addresses. The `Link` header has the address of the next
        page (`rel="next"`); the last page has none.
        """
        reader = BrandReader(request, ApiKey.Scope.CODES)
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
        image_options = {name: str(query[name]) for name in ImageQuery().get_fields() if name in query}
        codes = AuthCode.objects.filter(batch=batch)
        page = CodesPage()
        rows, pagination = paged(request, codes, order=("id",), view=self, page=page)
        addresses = [request.build_absolute_uri(image_address(code, image_options, kind)) for code in rows]
        headers = {"Link": f'<{page.get_next_link()}>; rel="next"'} if pagination["has_more"] else {}
        return Response(addresses, headers=headers)
