"""Scanning over HTTP: verify (spec 4.2), scan (4.7), validate (4.6), and the state of one scan."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from authcodes.api import scan_examples, scan_responses
from authcodes.api.scan_caller import ScanCaller
from authcodes.api.scan_responses import SCAN_ANSWER
from authcodes.api.scan_serializers import (
    WHAT_IS_A_CODE,
    AdoptInput,
    PlaceInput,
    ScanInput,
    ScanStateOutput,
    ValidateInput,
    ValidateOutput,
)
from authcodes.errors import AuthCodeInvalid, ScanLimitReached, ScanNotAdoptable
from authcodes.models.scans import Scan
from authcodes.scanning import guest_scans, guest_tokens, lookups, scan
from authcodes.scanning.types import CodePreview, ScanContext
from brands.identity.authentication import UnseenBearer, staff_may_read
from brands.models.credentials import ApiKey
from brands.tenants import request_brands
from campaigns.intake.payloads import LocationInput
from core import languages
from core.api.idempotency import IDEMPOTENCY_HEADER
from core.api.openapi.endpoint import BEARER, KEY, KEY_AND_BEARER, PUBLIC, endpoint
from core.errors import AuthenticationRequired, IdempotencyKeyReused, NotFound, TokenInvalid, raises
from core.redis import rate_limits

EVERYBODY = [PUBLIC, BEARER, KEY, KEY_AND_BEARER]
STATES = Scan.objects.select_related("batch__recall")  # with what a response about a scan needs


@raises(AuthCodeInvalid, ScanLimitReached, IdempotencyKeyReused, TokenInvalid)
def record_scan(request: Request, caller: ScanCaller, scanned: str, context: ScanContext) -> HttpResponse:
    result = scan.scan(scanned=scanned, context=context, scan_id=caller.scan_id(request))
    caller.note(result.reason)
    return scan_responses.answer(result, brand_id=caller.brand_id, to_guest=caller.user_id is None)


class VerifyProduct(APIView):
    """4.2: a customer scans a product."""

    authentication_classes = (UnseenBearer,)

    @endpoint(
        "verify_product",
        tag="Scanning",
        summary="Scan a product as a customer",
        needs=[BEARER, KEY_AND_BEARER],
        calls=[record_scan],
        parameters=[
            OpenApiParameter(
                "auth_code",
                {"type": "string", "minLength": 1, "maxLength": 600},
                OpenApiParameter.PATH,
                description=WHAT_IS_A_CODE,
            ),
            IDEMPOTENCY_HEADER,
        ],
        request=LocationInput,
        responses=SCAN_ANSWER,
        examples=scan_examples.VERIFY_PRODUCT,
        error_examples=scan_examples.INVALID,
    )
    def post(self, request: Request, auth_code: str) -> HttpResponse:
        """Check whether a product is genuine, record the customer's scan, and credit its points.

        The answer comes at once, the points a moment later; `GET /api/v1/scans/{scan_id}` returns their state. Every
        accepted scan counts, including a customer's second one, which earns nothing more. If a daily or monthly point
        limit withheld the points of a used-up code, its customer can scan it again. The answer then has the `scan_id`
        of their accepted scan, and the points are retried. Only POST records a scan. The body may be left out.
        """
        caller = ScanCaller(request)
        caller.check_limits(auth_code)
        place = caller.place(LocationInput.parse(request.data))
        context = ScanContext(
            at=timezone.now(), user_id=caller.user_id, brand_id=caller.brand_id, place=place, token=caller.token
        )
        return record_scan(request, caller, auth_code, context)


class ScanCode(APIView):
    """4.7: a scan by a customer, by a guest, or reported by a hub."""

    authentication_classes = (UnseenBearer,)
    permission_classes = (AllowAny,)

    @endpoint(
        "scan_code",
        tag="Scanning",
        summary="Scan a code",
        needs=EVERYBODY,
        calls=[ScanCaller.scanning_for, record_scan],
        parameters=[IDEMPOTENCY_HEADER],
        request=ScanInput,
        responses=SCAN_ANSWER,
        examples=scan_examples.SCAN_CODE,
        error_examples=scan_examples.INVALID,
    )
    def post(self, request: Request) -> HttpResponse:
        """Scan a code as `verify_product` does, for guests and hubs too.

        With a token, the customer is its user. Without one, it is a guest's scan: it earns nothing, and
        `points_available` is what it would earn. `customer_id` is accepted from a hub key, or if it is the token's own
        user.
        """
        data = ScanInput.parse(request.data)
        caller = ScanCaller(request)
        caller.scanning_for(data.get("customer_id", ""))
        caller.check_limits(data["code"])
        context = ScanContext(
            at=timezone.now(),
            user_id=caller.user_id,
            brand_id=caller.brand_id,
            place=caller.place(data.get("location")),
            device=data.get("device", ""),
            app_version=data.get("app_version", ""),
            token=caller.token,
        )
        return record_scan(request, caller, data["code"], context)


class ValidateCode(APIView):
    """4.6: what a scan would return; the code does not change."""

    authentication_classes = (UnseenBearer,)
    permission_classes = (AllowAny,)

    @endpoint(
        "validate_code",
        tag="Scanning",
        summary="Look up a code",
        needs=EVERYBODY,
        calls=[ScanCaller.scanning_for],
        request=ValidateInput,
        responses=ValidateOutput,
        examples=scan_examples.VALIDATE_CODE,
    )
    def post(self, request: Request) -> Response:
        """Return what a scan would return now. The code and its scan count do not change.

        The call is recorded as a lookup, and counts towards the same limits as a scan, because codes can be guessed by
        either. The answer for an invalid code reveals no more than that for one that does not exist.
        """
        data = ValidateInput.parse(request.data)
        caller = ScanCaller(request, scope=ApiKey.Scope.READ)
        caller.scanning_for(data.get("customer_id", ""))
        caller.check_limits(data["code"])
        context = ScanContext(at=timezone.now(), user_id=caller.user_id, brand_id=caller.brand_id, token=caller.token)
        result = scan.preview(scanned=data["code"], context=context)
        lookups.note(result=result, scanned=data["code"], context=context)
        caller.note(result.reason)
        preview = CodePreview(result)
        if preview.snapshot:
            languages.use(preview.snapshot.language or "")
        return Response(ValidateOutput.serialize(preview))


class ScanState(APIView):
    """The final state of a scan, for its customer, the brand's hub and staff, and anyone who has a guest scan's id."""

    permission_classes = (AllowAny,)

    @endpoint(
        "read_scan",
        tag="Scanning",
        summary="Read the state of a scan",
        needs=EVERYBODY,
        responses=ScanStateOutput,
        examples=scan_examples.READ_SCAN,
    )
    def get(self, request: Request, scan_id: UUID) -> Response:
        """Return the state of a scan: whether its points were credited, how many, and whether its code is recalled now.

        For the customer who scanned, and for the brand's hub and staff. Anyone who has the id of a guest's scan can
        read it.
        """
        caller = ScanCaller(request, rate_limit="", scope=ApiKey.Scope.READ)
        rate_limits.hit("read", caller.identity)
        scan = scan_or_404(STATES.filter(pk=scan_id), lambda scan: may_read(request, caller, scan))
        return Response(ScanStateOutput.serialize(scan))


def scan_or_404(scans: QuerySet[Scan], may_see: Callable[[Scan], bool] = lambda _scan: True) -> Scan:
    """The single row of `scans`. Raises NotFound if there is none, or if the caller may not see it."""
    scan = scans.first()
    if scan is None or not may_see(scan):
        raise NotFound
    if scan.brand_id is not None:
        request_brands.note(request_brands.ANSWER, (scan.brand_id,))
    return scan


def may_read(request: Request, caller: ScanCaller, scan: Scan) -> bool:
    if scan.user_id is None or scan.user_id == caller.user_id:
        return True
    if scan.brand_id is None:
        return False
    if caller.caller and caller.caller.is_hub:
        return caller.caller.brand_id == scan.brand_id
    return staff_may_read(request.user, caller.principal, scan.brand_id, "authcodes.scan")


class AdoptScan(APIView):
    """A guest has logged in and takes over the scan."""

    @endpoint(
        "adopt_scan",
        tag="Scanning",
        summary="Take over a guest's scan",
        needs=[BEARER, KEY_AND_BEARER],
        calls=[guest_scans.adopt],
        raises=[ScanNotAdoptable],
        request=AdoptInput,
        responses=ScanStateOutput,
        examples=scan_examples.ADOPT_SCAN,
    )
    def post(self, request: Request, scan_id: UUID) -> Response:
        """Assign a guest's scan to the token's user, after the guest has logged in or registered.

        A guest's scan earns nothing, and reserves the code for the guest for 30 minutes. Within that time, send the
        `scan_token` from its answer. The scan then belongs to the customer as if they had been logged in, and its
        points follow a moment later. A scan can be taken over once; the same customer may repeat the call. If it is not
        claimed in time, the code is free for the next scan.
        """
        caller = ScanCaller(request)
        caller.check_limits()
        data = AdoptInput.parse(request.data)
        if caller.principal is None:
            raise AuthenticationRequired
        scan = scan_or_404(Scan.objects.filter(pk=scan_id, brand_id=caller.principal.brand_id))
        if not guest_tokens.proves(data["scan_token"], scan_id=scan_id):
            raise ScanNotAdoptable
        guest_scans.adopt(scan=scan, user_id=caller.principal.user_id, at=timezone.now())
        return Response(ScanStateOutput.serialize(STATES.get(pk=scan_id)))


class PlaceScan(APIView):
    """The place of a scan, added afterwards by its customer or guest."""

    permission_classes = (AllowAny,)

    @endpoint(
        "place_scan",
        tag="Scanning",
        summary="Add the place of a scan",
        needs=EVERYBODY,
        request=PlaceInput,
        responses=ScanStateOutput,
        examples=scan_examples.PLACE_SCAN,
    )
    def post(self, request: Request, scan_id: UUID) -> Response:
        """Add a place to a scan that has none, at most 30 minutes after the scan.

        For the customer who scanned; a guest's scan needs its `scan_token`. An app can thus request the place after it
        has shown what it is for. A place that the scan already has is not changed. City and region are derived from the
        coordinates.
        """
        caller = ScanCaller(request)
        caller.check_limits()
        data = PlaceInput.parse(request.data)
        since = timezone.now() - timedelta(minutes=settings.GUEST_SCAN_MINUTES)
        recent = Scan.objects.filter(pk=scan_id, scanned_at__gte=since)
        scan = scan_or_404(recent, lambda scan: self.is_own_scan(scan, caller, data.get("scan_token", "")))
        guest_scans.place(scan=scan, latitude=data["latitude"], longitude=data["longitude"])
        return Response(ScanStateOutput.serialize(STATES.get(pk=scan_id)))

    def is_own_scan(self, scan: Scan, caller: ScanCaller, token: str) -> bool:
        if scan.user_id is None:
            return guest_tokens.proves(token, scan_id=scan.pk)
        return scan.user_id == caller.user_id
