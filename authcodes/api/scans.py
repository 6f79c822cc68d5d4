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


@raises(AuthCodeInvalid, ScanLimitReached, IdempotencyKeyReused, TokenInvalid)
def record_scan(request: Request, caller: ScanCaller, scanned: str, about: ScanContext) -> HttpResponse:
    result = scan.scan(scanned=scanned, about=about, scan_id=caller.scan_id(request))
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
        """Tell a customer whether a product is genuine, record the scan, and let its points follow.

        The answer comes at once; the points a moment later. `GET /api/v1/scans/{scan_id}` tells when they are there.
        Every accepted scan counts, also a customer's own second one, which earns nothing more. A used-up code whose
        points a daily or monthly limit held back stays its customer's: scanned again it is answered with the
        `scan_id` of their accepted scan, and the points are tried again. Only POST records a scan. The body may be
        left out.
        """
        scanner = ScanCaller(request)
        scanner.check_limits(auth_code)
        place = scanner.place(LocationInput.parse(request.data))
        about = ScanContext(
            at=timezone.now(), user_id=scanner.user_id, brand_id=scanner.brand_id, place=place, token=scanner.token
        )
        return record_scan(request, scanner, auth_code, about)


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
        """The same as verify, for guests and hubs too.

        With a token the customer is its user; without one a guest scans, who earns nothing and is told what there
        would be to earn. `customer_id` is believed from a hub key, or when it is the token's own user.
        """
        given = ScanInput.parse(request.data)
        scanner = ScanCaller(request)
        scanner.scanning_for(given.get("customer_id", ""))
        scanner.check_limits(given["code"])
        about = ScanContext(
            at=timezone.now(),
            user_id=scanner.user_id,
            brand_id=scanner.brand_id,
            place=scanner.place(given.get("location")),
            device=given.get("device", ""),
            app_version=given.get("app_version", ""),
            token=scanner.token,
        )
        return record_scan(request, scanner, given["code"], about)


class ValidateCode(APIView):
    """4.6: what a scan would say. The code stays as it is."""

    authentication_classes = (UnseenBearer,)
    permission_classes = (AllowAny,)

    @endpoint(
        "validate_code",
        tag="Scanning",
        summary="Look a code up",
        needs=EVERYBODY,
        calls=[ScanCaller.scanning_for],
        request=ValidateInput,
        responses=ValidateOutput,
        examples=scan_examples.VALIDATE_CODE,
    )
    def post(self, request: Request) -> Response:
        """Tell what a scan would say now. The code and its scan count stay as they are.

        It is recorded as a lookup, and counts against the same limits as a scan: codes can be guessed by either.
        Of a code that is not valid no more is told than of one that does not exist.
        """
        given = ValidateInput.parse(request.data)
        scanner = ScanCaller(request, scope=ApiKey.Scope.READ)
        scanner.scanning_for(given.get("customer_id", ""))
        scanner.check_limits(given["code"])
        about = ScanContext(at=timezone.now(), user_id=scanner.user_id, brand_id=scanner.brand_id, token=scanner.token)
        result = scan.preview(scanned=given["code"], about=about)
        lookups.note(result=result, scanned=given["code"], about=about)
        scanner.note(result.reason)
        found = CodePreview(result)
        if found.snapshot:
            languages.use(found.snapshot.language or "")
        return Response(ValidateOutput.serialize(found))


class ScanState(APIView):
    """What became of a scan: for its customer, for the brand's hub and staff, and for whoever holds a guest's id."""

    permission_classes = (AllowAny,)

    @endpoint(
        "read_scan",
        tag="Scanning",
        summary="Read what became of a scan",
        needs=EVERYBODY,
        responses=ScanStateOutput,
        examples=scan_examples.READ_SCAN,
    )
    def get(self, request: Request, scan_id: UUID) -> Response:
        """The final state of a scan: whether its points were credited, and how many.

        For the customer who scanned, for the brand's hub and staff, and of a guest's scan for whoever has its id.
        """
        scanner = ScanCaller(request, counted_as="", scope=ApiKey.Scope.READ)
        rate_limits.hit("read", scanner.identity)
        scan = scan_or_404(Scan.objects.filter(pk=scan_id), lambda scan: may_read(request, scanner, scan))
        return Response(ScanStateOutput.serialize(scan))


def scan_or_404(scans: QuerySet[Scan], may_see: Callable[[Scan], bool] = lambda _scan: True) -> Scan:
    """The only one of `scans`. Raises NotFound, also where the caller may not see it."""
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
    """A guest has logged in: the scan becomes theirs."""

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
        """Make the scan of a guest, who has logged in or registered since, the scan of the token's user.

        A guest's scan earns nothing and keeps the code for the guest for some minutes. With the `scan_token` that came
        with its answer, and within that time, the guest gets the points after all: the scan is then their own, as if
        they had been logged in, and its points follow a moment later. A scan can be taken over once; the same customer
        may repeat the call. Not claimed in time the code is free for the next scan.
        """
        scanner = ScanCaller(request)
        scanner.check_limits()
        given = AdoptInput.parse(request.data)
        if scanner.principal is None:
            raise AuthenticationRequired
        scan = scan_or_404(Scan.objects.filter(pk=scan_id, brand_id=scanner.principal.brand_id))
        if not guest_tokens.proves(given["scan_token"], scan_id=scan_id):
            raise ScanNotAdoptable
        guest_scans.adopt(scan=scan, user_id=scanner.principal.user_id, at=timezone.now())
        return Response(ScanStateOutput.serialize(Scan.objects.get(pk=scan_id)))


class PlaceScan(APIView):
    """Where a scan happened, told after it by whoever scanned."""

    permission_classes = (AllowAny,)

    @endpoint(
        "place_scan",
        tag="Scanning",
        summary="Say where a scan happened",
        needs=EVERYBODY,
        request=PlaceInput,
        responses=ScanStateOutput,
        examples=scan_examples.PLACE_SCAN,
    )
    def post(self, request: Request, scan_id: UUID) -> Response:
        """Add a place to a scan that has none, some minutes after it at most.

        For the customer who scanned; of a guest's scan for whoever has its `scan_token`. People can be asked for their
        place when they have seen what it is for. A scan that has a place keeps it. City and region are found from it.
        """
        scanner = ScanCaller(request)
        scanner.check_limits()
        given = PlaceInput.parse(request.data)
        since = timezone.now() - timedelta(minutes=settings.GUEST_SCAN_MINUTES)
        recent = Scan.objects.filter(pk=scan_id, scanned_at__gte=since)
        scan = scan_or_404(recent, lambda scan: self.is_own_scan(scan, scanner, given.get("scan_token", "")))
        guest_scans.place(scan=scan, latitude=given["latitude"], longitude=given["longitude"])
        return Response(ScanStateOutput.serialize(Scan.objects.get(pk=scan_id)))

    def is_own_scan(self, scan: Scan, caller: ScanCaller, token: str) -> bool:
        if scan.user_id is None:
            return guest_tokens.proves(token, scan_id=scan.pk)
        return scan.user_id == caller.user_id
