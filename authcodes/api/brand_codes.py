"""The brand's codes and scans over HTTP, for its own systems and staff."""

from typing import Any, cast
from uuid import UUID

from django.db.models import Case, QuerySet, When
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from authcodes.api.scan_serializers import LocationField
from authcodes.codes import bulk_changes
from authcodes.codes.bulk_changes import CODES_AT_ONCE, MAX_LOCATION_LENGTH, MAX_POINTS, Assignment, CodeChangeRequest
from authcodes.codes.ranges import CodeRange, full_range, resolve_range
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.models.scans import Scan
from authcodes.reports.columns import CUSTOMER_IS_OURS
from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import BrandView, ModelEndpoints, row_of, row_output, write_endpoint
from brands.identity.roles import ACT
from brands.models.credentials import ApiKey
from brands.tenants import local_time
from core.api.filters import ChoiceFilter, DayFilter, IdFilter, TenantFilterSet
from core.api.inputs import ID, Input
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import SCAN_ID, WHEN
from core.api.outputs import Output, PointsField, TimestampField
from core.errors import Invalid, NotFound

CODE_EXAMPLE = {
    "code": "ALP0000004711",
    "batch_id": 17,
    "product_id": 311,
    "points_per_scan": None,
    "scan_count": 1,
    "first_scan_at": WHEN,
    "is_active": True,
    "inventory_location": "Shelf 3",
    "created_at": WHEN,
}
SCAN_EXAMPLE = {
    "scan_id": SCAN_ID,
    "code": "ALP0000004711",
    "batch_id": 17,
    "product_id": 311,
    "user_id": 42,
    "outcome": "success",
    "reason": "accepted",
    "points_awarded": 50,
    "location": "Bern, Canton of Bern",
    "scanned_at": WHEN,
}
KINDS = {
    "assign": CodeChange.Kind.ASSIGNED,
    "unassign": CodeChange.Kind.UNASSIGNED,
    "deactivate": CodeChange.Kind.DEACTIVATED,
    "reactivate": CodeChange.Kind.REACTIVATED,
}


class BrandCodeOutput(Output):
    code = serializers.CharField(help_text="The code, without the secret tag of a signed code.")
    batch_id = serializers.IntegerField()
    product_id = serializers.IntegerField(allow_null=True)
    points_per_scan = serializers.IntegerField(allow_null=True, help_text="Null if those of its batch apply.")
    scan_count = serializers.IntegerField(help_text="Accepted scans.")
    first_scan_at = TimestampField(allow_null=True)
    is_active = serializers.SerializerMethodField(
        help_text="False if the code is deactivated; its scans are then rejected."
    )
    inventory_location = serializers.CharField(allow_blank=True)
    created_at = TimestampField()

    def get_is_active(self, code: AuthCode) -> bool:
        return code.deactivated_at is None


class BrandCodeFilter(TenantFilterSet):
    batch_id = IdFilter(field_name="batch_id", description="Only codes of this batch.")
    product_id = IdFilter(field_name="product_id", description="Only codes assigned to this product.")


CODES = ModelEndpoints("authcodes.authcode", BrandCodeOutput, CODE_EXAMPLE, filters=BrandCodeFilter)


class BrandCodes(BrandView):
    """The brand's codes."""

    @CODES.list_endpoint("list_codes", "List codes")
    def get(self, access: BrandAccess) -> QuerySet[AuthCode]:
        """List the brand's codes, newest first. Needs the scope `read`.

        For scans, use `GET /brand/scans`. For the addresses of QR images, which contain the secret tags, use
        `list_qr_codes`.
        """
        return AuthCode.objects.filter(brand=access.brand_id)


class BrandCode(BrandView):
    """One of the brand's codes."""

    @CODES.row_endpoint("read_code", "Read a code")
    def get(self, access: BrandAccess, code: str) -> QuerySet[AuthCode]:
        """Return a code. Needs the scope `read`."""
        return AuthCode.objects.filter(brand=access.brand_id, code=code)


class BrandScanOutput(Output):
    scan_id = serializers.UUIDField()
    code = serializers.CharField(help_text="The code as it was scanned, shortened and without its secret tag.")
    batch_id = serializers.IntegerField(allow_null=True)
    product_id = serializers.IntegerField(allow_null=True)
    user_id = serializers.IntegerField(
        source="own_customer",
        allow_null=True,
        help_text="The customer; null for a guest and for another brand's customer.",
    )
    outcome = serializers.ChoiceField(choices=Scan.Outcome.values, help_text="success: the scan was accepted.")
    reason = serializers.ChoiceField(choices=Scan.Reason.values, help_text="The actual reason for the outcome.")
    points_awarded = PointsField()
    location = LocationField(allow_null=True)
    scanned_at = TimestampField()


class BrandScanFilter(TenantFilterSet):
    """Filters by outcome, batch, product and days. Days are inclusive and in the brand's time zone."""

    outcome = ChoiceFilter(values=Scan.Outcome.values, description="Only scans with this outcome.")
    batch_id = IdFilter(field_name="batch_id", description="Only scans of this batch's codes.")
    product_id = IdFilter(
        field_name="product_id", description="Only scans of codes that belonged to this product at the time."
    )
    from_ = DayFilter(description="The first day, in the brand's time zone.")
    to = DayFilter(description="The last day, inclusive.")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        cleaned = self.form.cleaned_data
        if cleaned["from_"] or cleaned["to"]:
            brands = [self.request.brand_access.brand]
            queryset = queryset.filter(local_time.on_days("scanned_at", cleaned["from_"], cleaned["to"], brands=brands))
        named = {name: cleaned[name] for name in ("outcome", "batch_id", "product_id") if cleaned[name]}
        return queryset.filter(**named)


SCANS = ModelEndpoints(
    "authcodes.scan", BrandScanOutput, SCAN_EXAMPLE, filters=BrandScanFilter, ordering=("-scanned_at", "-scan_id")
)


def own_scans(access: BrandAccess) -> QuerySet[Scan]:
    """The scans of the brand's codes. A customer of another brand, who scanned in its app, is not named."""
    return Scan.objects.filter(brand=access.brand_id).annotate(own_customer=Case(When(CUSTOMER_IS_OURS, then="user")))


class BrandScans(BrandView):
    """The brand's scans."""

    @SCANS.list_endpoint("list_scans", "List scans")
    def get(self, access: BrandAccess) -> QuerySet[Scan]:
        """List every recorded attempt to scan one of the brand's codes, newest first. Needs the scope `read`.

        Rejected attempts are included: those of recalled, expired, used-up and deactivated codes, and with a wrong tag.
        """
        return own_scans(access)


class BrandScan(BrandView):
    """One of the brand's scans."""

    @SCANS.row_endpoint("read_brand_scan", "Read a scan")
    def get(self, access: BrandAccess, scan_id: UUID) -> QuerySet[Scan]:
        """Return an attempt to scan a code, and what it earned. Needs the scope `read`."""
        return own_scans(access).filter(pk=scan_id)


class CodeChangeInput(Input):
    """Without `first` and `last`, the change applies to all codes of the batch."""

    action = serializers.ChoiceField(choices=list(KINDS))
    batch_id = serializers.IntegerField(**ID)
    first = serializers.CharField(required=False, max_length=64, help_text="The first code, in full or as its number.")
    last = serializers.CharField(required=False, max_length=64, help_text="The last code, inclusive.")
    product_id = serializers.IntegerField(required=False, **ID)
    points_per_scan = serializers.IntegerField(required=False, min_value=0, max_value=MAX_POINTS)
    inventory_location = serializers.CharField(required=False, max_length=MAX_LOCATION_LENGTH, allow_blank=True)
    reason = serializers.CharField(max_length=500, help_text="Recorded in the history of the codes.")

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if ("first" in data) != ("last" in data):
            raise serializers.ValidationError("Send both first and last, or neither for the whole batch.")
        if (data["action"] == "assign") != ("product_id" in data):
            raise serializers.ValidationError("Send product_id with the action assign, and with no other.")
        return data


class ChangedCodesOutput(Output):
    codes = serializers.IntegerField(help_text="How many codes the range has.")
    changed = serializers.IntegerField(allow_null=True, help_text="How many codes changed; null if a job changes them.")
    job_id = serializers.IntegerField(
        allow_null=True, help_text="The job that changes the codes; null if the change is done."
    )


ChangedCodesRowOutput = row_output(ChangedCodesOutput)


class CodeChanges(BrandView):
    """Assigns, unassigns, deactivates and reactivates codes."""

    @write_endpoint(
        "change_codes",
        "Assign, unassign, deactivate or reactivate codes",
        request=CodeChangeInput,
        responses={200: ChangedCodesRowOutput, 202: ChangedCodesRowOutput},
        raises=[NotFound],
        examples=[
            request_example(
                "Assign a range",
                {
                    "action": "assign",
                    "batch_id": 17,
                    "first": "ALP0000004711",
                    "last": "ALP0000004810",
                    "product_id": 311,
                    "reason": "Packed on line 2",
                },
            ),
            request_example("A stolen pallet", {"action": "deactivate", "batch_id": 17, "reason": "Stolen in transit"}),
            data_example("Done", {"codes": 100, "changed": 100, "job_id": None}),
        ],
    )
    @for_brand(ApiKey.Scope.CODES, "authcodes.authcode", ACT, writes=True)
    def post(self, request: Request, access: BrandAccess) -> Response:
        """Assign codes to a product, unassign them, or deactivate or reactivate codes. Needs the scope `codes`.

        Assigning is all or nothing: codes of another product are rejected. More than 50,000 codes are changed by a job,
        and the answer is 202.
        """
        data = CodeChangeInput.parse(request.data)
        batches = BatchRange.objects.select_related("brand").filter(brand=access.brand_id)
        codes = range_of(row_of(batches, pk=data["batch_id"]), data)
        context = access.audit_context()
        requested = CodeChangeRequest(
            KINDS[data["action"]], data["reason"], assignment_of(access.brand_id, data), context.key_id
        )
        if codes.size > CODES_AT_ONCE:
            job = bulk_changes.start_change(codes=codes, requested=requested, by=access.user)
            started = {"codes": codes.size, "changed": None, "job_id": job.pk}
            return Response(ChangedCodesRowOutput.serialize(started), status=202)
        changed = bulk_changes.change(codes=codes, requested=requested, by=access.user, at=context.at, waits=False)
        return Response(ChangedCodesRowOutput.serialize({"codes": codes.size, "changed": changed, "job_id": None}))


def range_of(batch: BatchRange, data: dict[str, Any]) -> CodeRange:
    """Raises BatchRejected with the field `first` or `last`."""
    if "first" not in data:
        return full_range(batch)
    return resolve_range(batch=batch, first=data["first"], last=data["last"])


def assignment_of(brand_id: int, data: dict[str, Any]) -> Assignment | None:
    """Raises Invalid for a product that the brand does not have."""
    if "product_id" not in data:
        return None
    product = Product.objects.select_related("brand").filter(brand=brand_id, pk=data["product_id"]).first()
    if product is None:
        raise Invalid("This brand has no such product.", details={"field": "product_id"})
    location = cast("str", data.get("inventory_location", ""))
    return Assignment(product, inventory_location=location, points_per_scan=data.get("points_per_scan"))
