"""Scanning over HTTP: verify (spec 4.2), scan (4.7), validate (4.6), and the state of one scan."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from authcodes import answers, guessing_exemptions, lookups, scan_tokens, scanning
from authcodes.answers import SCAN_ANSWER, ProductOutput, RecallOutput
from authcodes.models import Scan
from authcodes.refusals import ScanNotAdoptable
from authcodes.scanning import Circumstances, Place, ScanResult
from brands import guessing, limits
from brands.authentication import UnseenBearer, active_user, caller_of, staff_may_read
from brands.guessing import Guesser
from brands.inputs import Input
from brands.keys import Caller
from brands.models import Brand
from brands.openapi import ANYBODY, BEARER, KEY, KEY_AND_BEARER, endpoint
from brands.refusals import (
    AuthenticationRequired,
    BrandMismatch,
    Forbidden,
    Invalid,
    NotFound,
    TokenInvalid,
    UserNotFound,
)
from brands.scanned import LONGEST_INPUT, read
from brands.tokens import Principal
from loyalty import members
from loyalty.doors import keyed_id
from loyalty.events import iso
from loyalty.payloads import LocationInput
from loyalty.points import plain
from loyalty.views.events import IDEMPOTENCY_HEADER, idempotency_key

EVERYBODY = [ANYBODY, BEARER, KEY, KEY_AND_BEARER]


WHAT_IS_A_CODE = "The code, `code.tag` of a signed batch, or the whole address that was scanned."


class ScanInput(Input):
    code = serializers.CharField(max_length=LONGEST_INPUT, help_text=WHAT_IS_A_CODE)
    customer_id = serializers.CharField(
        required=False, max_length=20, allow_blank=True, help_text="The user_id of the customer who scans."
    )
    location = LocationInput(required=False, allow_null=True)
    device = serializers.CharField(required=False, max_length=120, allow_blank=True)
    app_version = serializers.CharField(required=False, max_length=40, allow_blank=True)


class ValidateInput(Input):
    code = serializers.CharField(max_length=LONGEST_INPUT, help_text=WHAT_IS_A_CODE)
    customer_id = serializers.CharField(
        required=False, max_length=20, allow_blank=True, help_text="The user_id of the customer who asks."
    )


class ValidateOutput(serializers.Serializer[Any]):
    valid = serializers.BooleanField()
    product = ProductOutput(allow_null=True)
    points_awarded = serializers.FloatField(help_text="What a scan now would earn whoever asks; 0 for a guest.")
    scan_count = serializers.IntegerField()
    first_scan = serializers.BooleanField(help_text="Nobody has scanned this code before.")
    status = serializers.ChoiceField(choices=Scan.Outcome.values, help_text="What a scan now would answer.")
    reason = serializers.ChoiceField(
        choices=[reason.value for reason in scanning.OUTCOMES],
        allow_null=True,
        help_text="Why; null for a code that is not valid.",
    )
    points_status = serializers.ChoiceField(
        choices=["pending", "guest", "already_claimed", "not_eligible"], help_text="What would become of the points."
    )
    waits_for = serializers.ChoiceField(choices=["confirmed_email"], required=False, help_text=answers.WAITS)
    points_available = serializers.FloatField(required=False, help_text="What a guest would earn by logging in.")
    recall = RecallOutput(required=False, help_text="Only when the product is recalled.")


class ScanStateOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    scan_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=Scan.Outcome.choices)
    points_status = serializers.ChoiceField(choices=scanning.PUBLIC_STATUSES)
    waits_for = serializers.ChoiceField(choices=["confirmed_email"], required=False, help_text=answers.WAITS)
    points_awarded = serializers.FloatField()
    timestamp = serializers.DateTimeField()
    location = serializers.CharField(allow_null=True)


class AdoptInput(Input):
    scan_token = serializers.CharField(max_length=scan_tokens.LONGEST, help_text="As it came with the guest's scan.")


class PlaceInput(Input):
    latitude = serializers.FloatField(min_value=-90, max_value=90)
    longitude = serializers.FloatField(min_value=-180, max_value=180)
    scan_token = serializers.CharField(
        required=False, max_length=scan_tokens.LONGEST, help_text="As it came with a guest's scan."
    )


class Scanner:
    """Who is scanning, as the request's token and key tell: a customer, or a guest at an address."""

    def __init__(self, request: Request, *, customer_id: str = "", counted_as: str = "ingest") -> None:
        self.caller: Caller | None = caller_of(request, counted_as=counted_as)
        self.principal: Principal | None = request.auth if isinstance(request.auth, Principal) else None
        if self.caller and self.principal and self.caller.brand_id != self.principal.brand_id:
            raise BrandMismatch
        self.address = limits.client_address(request)
        self.user_id = self._user_id(customer_id)
        # The scan's own statement looks at its customer alone.
        if self.principal and self.token is None and not active_user(self.principal.user_id, self.principal):
            raise TokenInvalid

    @property
    def token(self) -> Principal | None:
        """The scanning customer's own."""
        return self.principal if self.principal and self.principal.user_id == self.user_id else None

    @property
    def brand_id(self) -> int | None:
        """The brand whose app or key asks; None for anybody."""
        known = self.caller or self.principal
        return known.brand_id if known else None

    @property
    def identity(self) -> str:
        """Whom limits count: the customer, else a hub's brand, else the address."""
        if self.user_id is not None:
            return f"user:{self.user_id}"
        return f"hub:{self.brand_id}" if self.caller and self.caller.is_hub else f"address:{self.address}"

    def _user_id(self, customer_id: str) -> int | None:
        """A stated customer is believed from a hub key, or when it is the bearer; else a bearer is the customer."""
        own = self.principal.user_id if self.principal else None
        if not customer_id or customer_id == str(own):
            return own
        if self.caller is None or not self.caller.is_hub:
            if own is None:
                return None
            raise Forbidden("customer_id is not the user of the access token.")
        return self._customer_of_hub(self.caller, customer_id)

    def _customer_of_hub(self, caller: Caller, customer_id: str) -> int:
        if not (customer_id.isascii() and customer_id.isdigit()) or int(customer_id) >= 2**63:
            raise Invalid("customer_id must be the number of a customer.", details={"field": "customer_id"})
        if members.find(brand=Brand.objects.get(pk=caller.brand_id), user_id=int(customer_id)) is None:
            raise UserNotFound
        return int(customer_id)

    def place(self, location: dict[str, Any] | None) -> Place:
        """Where the scan is. City and region are shown to others, so they are believed from a hub alone."""
        place = Place.of(location)
        return place if self.caller and self.caller.is_hub else replace(place, city="", region="")

    @property
    def guesser(self) -> Guesser:
        return Guesser(self.identity, self.address, self.brand_id)

    def check_limits(self, scanned: str = "") -> None:
        """Raises RateLimited: too many scans, too many different plain codes, or locked after too many unknown ones."""
        if self.caller and self.caller.is_hub:  # counted with its key
            return
        reading = read(scanned)
        exemptions = guessing_exemptions.exemptions(reading=reading, user_id=self.user_id, brand_id=self.brand_id)
        guessing.check(self.guesser, reading=reading, exemptions=exemptions, calls="scan")

    def note(self, reason: Scan.Reason) -> None:
        """Count a code that is not valid against whoever tried it: sequential codes can be guessed."""
        if scanning.OUTCOMES.get(reason) is None and not (self.caller and self.caller.is_hub):
            guessing.count_unknown(self.guesser)

    def scan_id(self, request: Request) -> UUID | None:
        """The scan that this Idempotency-Key stands for."""
        key = idempotency_key(request)
        caller = (self.identity, self.brand_id, self.caller and self.caller.kind)
        return keyed_id("scan", request.path, *caller, key) if key else None


def scan_and_present(request: Request, scanner: Scanner, scanned: str, about: Circumstances) -> HttpResponse:
    result = scanning.scan(scanned=scanned, about=about, scan_id=scanner.scan_id(request))
    scanner.note(result.reason)
    return answers.present(result, brand_id=scanner.brand_id, to_guest=scanner.user_id is None)


class VerifyProduct(APIView):
    """4.2: a customer scans a product."""

    authentication_classes = (UnseenBearer,)

    @endpoint(
        "verify_product",
        tag="Scanning",
        summary="Scan a product as a customer",
        needs=[BEARER, KEY_AND_BEARER],
        errors=[
            "AUTH_CODE_INVALID",
            "AUTHENTICATION_REQUIRED",
            "TOKEN_INVALID",
            "API_KEY_INVALID",
            "BRAND_MISMATCH",
            "SCAN_LIMIT_REACHED",
            "IDEMPOTENCY_KEY_REUSED",
            "RATE_LIMITED",
        ],
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
    )
    def post(self, request: Request, auth_code: str) -> HttpResponse:
        """Tell a customer whether a product is genuine, record the scan, and let its points follow.

        The answer comes at once; the points a moment later. `GET /api/v1/scans/{scan_id}` tells when they are there.
        Every accepted scan counts, also a customer's own second one, which earns nothing more. A used-up code whose
        points a daily or monthly limit held back stays its customer's: scanned again it is answered with the
        `scan_id` of their accepted scan, and the points are tried again. Only POST records a scan. The body may be
        left out.
        """
        scanner = Scanner(request)
        scanner.check_limits(auth_code)
        place = scanner.place(LocationInput.parse(request.data))
        about = Circumstances(
            at=timezone.now(), user_id=scanner.user_id, brand_id=scanner.brand_id, place=place, token=scanner.token
        )
        return scan_and_present(request, scanner, auth_code, about)


class ScanCode(APIView):
    """4.7: a scan by a customer, by a guest, or reported by a hub."""

    authentication_classes = (UnseenBearer,)
    permission_classes = (AllowAny,)

    @endpoint(
        "scan_code",
        tag="Scanning",
        summary="Scan a code",
        needs=EVERYBODY,
        errors=[
            "AUTH_CODE_INVALID",
            "TOKEN_INVALID",
            "API_KEY_INVALID",
            "FORBIDDEN",
            "BRAND_MISMATCH",
            "USER_NOT_FOUND",
            "SCAN_LIMIT_REACHED",
            "IDEMPOTENCY_KEY_REUSED",
            "RATE_LIMITED",
        ],
        parameters=[IDEMPOTENCY_HEADER],
        request=ScanInput,
        responses=SCAN_ANSWER,
    )
    def post(self, request: Request) -> HttpResponse:
        """The same as verify, for guests and hubs too.

        With a token the customer is its user; without one a guest scans, who earns nothing and is told what there
        would be to earn. `customer_id` is believed from a hub key, or when it is the token's own user.
        """
        given = ScanInput.parse(request.data)
        scanner = Scanner(request, customer_id=given.get("customer_id", ""))
        scanner.check_limits(given["code"])
        about = Circumstances(
            at=timezone.now(),
            user_id=scanner.user_id,
            brand_id=scanner.brand_id,
            place=scanner.place(given.get("location")),
            device=given.get("device", ""),
            app_version=given.get("app_version", ""),
            token=scanner.token,
        )
        return scan_and_present(request, scanner, given["code"], about)


class ValidateCode(APIView):
    """4.6: what a scan would say. The code stays as it is."""

    authentication_classes = (UnseenBearer,)
    permission_classes = (AllowAny,)

    @endpoint(
        "validate_code",
        tag="Scanning",
        summary="Look a code up",
        needs=EVERYBODY,
        errors=[
            "TOKEN_INVALID",
            "API_KEY_INVALID",
            "FORBIDDEN",
            "BRAND_MISMATCH",
            "USER_NOT_FOUND",
            "RATE_LIMITED",
        ],
        request=ValidateInput,
        responses=ValidateOutput,
    )
    def post(self, request: Request) -> Response:
        """Tell what a scan would say now. The code and its scan count stay as they are.

        It is recorded as a lookup, and counts against the same limits as a scan: codes can be guessed by either.
        Of a code that is not valid no more is told than of one that does not exist.
        """
        given = ValidateInput.parse(request.data)
        scanner = Scanner(request, customer_id=given.get("customer_id", ""))
        scanner.check_limits(given["code"])
        about = Circumstances(
            at=timezone.now(), user_id=scanner.user_id, brand_id=scanner.brand_id, token=scanner.token
        )
        result = scanning.preview(scanned=given["code"], about=about)
        lookups.note(result=result, scanned=given["code"], about=about)
        scanner.note(result.reason)
        return Response(present_preview(result))


def present_preview(result: ScanResult) -> dict[str, Any]:
    """Of a code that is not valid nothing more is told than of one that does not exist."""
    facts = result.facts if result.outcome != Scan.Outcome.ERROR else None
    return {
        "valid": result.outcome == Scan.Outcome.SUCCESS,
        "product": facts.product() if facts else None,
        **answers.points_of(result),
        "scan_count": facts.scan_count if facts else 0,
        "first_scan": facts is not None and facts.scan_count == 0,
        "status": result.outcome.value,
        "reason": result.reason.value if facts else None,
        **scanning.public_status_fields(result.points_status if facts else Scan.PointsStatus.NOT_ELIGIBLE),
        **({"recall": answers.recall_of(facts)} if facts and result.reason == Scan.Reason.RECALLED else {}),
    }


class ScanState(APIView):
    """What became of a scan: for its customer, for the brand's hub and staff, and for whoever holds a guest's id."""

    permission_classes = (AllowAny,)

    @endpoint(
        "read_scan",
        tag="Scanning",
        summary="Read what became of a scan",
        needs=EVERYBODY,
        errors=["TOKEN_INVALID", "API_KEY_INVALID", "BRAND_MISMATCH", "NOT_FOUND", "RATE_LIMITED"],
        responses=ScanStateOutput,
    )
    def get(self, request: Request, scan_id: UUID) -> Response:
        """The final state of a scan: whether its points were credited, and how many.

        For the customer who scanned, for the brand's hub and staff, and of a guest's scan for whoever has its id.
        """
        scanner = Scanner(request, counted_as="")
        limits.hit("read", scanner.identity)
        scan = found(Scan.objects.filter(pk=scan_id), lambda scan: may_read(request, scanner, scan))
        return Response(present_state(scan))


def found(scans: QuerySet[Scan], may_see: Callable[[Scan], bool] = lambda _scan: True) -> Scan:
    """The only one of `scans`. Raises NotFound, also where the caller may not see it."""
    scan = scans.first()
    if scan is None or not may_see(scan):
        raise NotFound
    return scan


def present_state(scan: Scan) -> dict[str, Any]:
    return {
        "success": True,
        "scan_id": str(scan.pk),
        "status": scan.outcome,
        **scanning.public_status_fields(Scan.PointsStatus(scan.points_status)),
        "points_awarded": plain(scan.points_awarded),
        "timestamp": iso(scan.scanned_at),
        "location": scan.location or None,
    }


def may_read(request: Request, scanner: Scanner, scan: Scan) -> bool:
    if scan.user_id is None or scan.user_id == scanner.user_id:
        return True
    if scan.brand_id is None:
        return False
    if scanner.caller and scanner.caller.is_hub:
        return scanner.caller.brand_id == scan.brand_id
    return staff_may_read(request.user, scanner.principal, scan.brand_id, "authcodes.scan")


class AdoptScan(APIView):
    """A guest has logged in: the scan becomes theirs."""

    @endpoint(
        "adopt_scan",
        tag="Scanning",
        summary="Take over a guest's scan",
        needs=[BEARER, KEY_AND_BEARER],
        errors=[
            "AUTHENTICATION_REQUIRED",
            "TOKEN_INVALID",
            "API_KEY_INVALID",
            "BRAND_MISMATCH",
            "NOT_FOUND",
            "SCAN_NOT_ADOPTABLE",
            "RATE_LIMITED",
        ],
        request=AdoptInput,
        responses=ScanStateOutput,
    )
    def post(self, request: Request, scan_id: UUID) -> Response:
        """Make the scan of a guest, who has logged in or registered since, the scan of the token's user.

        A guest's scan earns nothing and keeps the code for the guest for some minutes. With the `scan_token` that came
        with its answer, and within that time, the guest gets the points after all: the scan is then their own, as if
        they had been logged in, and its points follow a moment later. A scan can be taken over once; the same customer
        may repeat the call. Not claimed in time the code is free for the next scan.
        """
        scanner = Scanner(request)
        scanner.check_limits()
        given = AdoptInput.parse(request.data)
        if scanner.principal is None:
            raise AuthenticationRequired
        scan = found(Scan.objects.filter(pk=scan_id, brand_id=scanner.principal.brand_id))
        if not scan_tokens.proves(given["scan_token"], scan_id=scan_id):
            raise ScanNotAdoptable
        scanning.adopt(scan=scan, user_id=scanner.principal.user_id, at=timezone.now())
        return Response(present_state(Scan.objects.get(pk=scan_id)))


class PlaceScan(APIView):
    """Where a scan happened, told after it by whoever scanned."""

    permission_classes = (AllowAny,)

    @endpoint(
        "place_scan",
        tag="Scanning",
        summary="Say where a scan happened",
        needs=EVERYBODY,
        errors=["TOKEN_INVALID", "API_KEY_INVALID", "BRAND_MISMATCH", "NOT_FOUND", "RATE_LIMITED"],
        request=PlaceInput,
        responses=ScanStateOutput,
    )
    def post(self, request: Request, scan_id: UUID) -> Response:
        """Add a place to a scan that has none, some minutes after it at most.

        For the customer who scanned; of a guest's scan for whoever has its `scan_token`. People can be asked for their
        place when they have seen what it is for. A scan that has a place keeps it. City and region are found from it.
        """
        scanner = Scanner(request)
        scanner.check_limits()
        given = PlaceInput.parse(request.data)
        since = timezone.now() - timedelta(minutes=settings.GUEST_SCAN_MINUTES)
        recent = Scan.objects.filter(pk=scan_id, scanned_at__gte=since)
        scan = found(recent, lambda scan: self.is_theirs(scan, scanner, given.get("scan_token", "")))
        scanning.place(scan=scan, latitude=given["latitude"], longitude=given["longitude"])
        return Response(present_state(Scan.objects.get(pk=scan_id)))

    def is_theirs(self, scan: Scan, scanner: Scanner, token: str) -> bool:
        if scan.user_id is None:
            return scan_tokens.proves(token, scan_id=scan.pk)
        return scan.user_id == scanner.user_id
