"""The brand's batches and recalls over HTTP, for its own systems and staff."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from authcodes.codes import batches, scan_value
from authcodes.codes.batches import BatchSettings
from authcodes.models.batches import BatchRange
from authcodes.models.products import Product
from authcodes.recalls import notifications, recalls
from brands import audit_log
from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import BrandView, ModelEndpoints, row_of, row_output, write_endpoint
from brands.audit_log import AuditedChange
from brands.identity.roles import ADD
from brands.models.credentials import ApiKey
from campaigns.models.campaigns import Campaign
from core.api.filters import IdFilter, SwitchFilter, TenantFilterSet, TextFilter
from core.api.inputs import ID, Input, SwitchField, one_line
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, TimestampField
from core.errors import Forbidden, Invalid, NotFound
from core.numbers import MAX_INTEGER

LABEL = "authcodes.batchrange"
RECALL_EXAMPLE = {"batch_id": 17, "recall_id": "R-2026-4", "contact": "+41 31 000 00 00", "message": "Stop using it."}
EXAMPLE = {
    "id": 17,
    "range_name": "Jackets, spring",
    "product_id": 311,
    "campaign_id": None,
    "prefix": "ALP",
    "first_code": "ALP0000004711",
    "last_code": "ALP0000005710",
    "quantity": 1000,
    "generated": 1000,
    "printed_elsewhere": False,
    "is_signed": True,
    "points_per_scan": 50,
    "scan_limit": 1,
    "expiration_date": None,
    "recall_id": None,
    "created_at": WHEN,
}
WRITTEN = {"range_name": "Jackets, spring", "quantity": 1000, "product_id": 311, "prefix": "ALP", "signed": True}
SCAN_VALUE = {"points_per_scan", "scan_limit", "expiration_date", "campaign_id"}


class BrandBatchOutput(Output):
    id = serializers.IntegerField()
    range_name = serializers.CharField()
    product_id = serializers.IntegerField(allow_null=True)
    campaign_id = serializers.IntegerField(allow_null=True)
    prefix = serializers.CharField(allow_blank=True)
    first_code = serializers.CharField()
    last_code = serializers.CharField()
    quantity = serializers.IntegerField()
    generated = serializers.IntegerField(source="generated_count", help_text="How many of its codes exist so far.")
    printed_elsewhere = serializers.BooleanField(
        help_text="Whether another company printed its codes, which are in no order; `prefix` is empty then."
    )
    is_signed = serializers.BooleanField(help_text="Whether its QR codes carry a secret tag that cannot be guessed.")
    points_per_scan = serializers.IntegerField(allow_null=True)
    scan_limit = serializers.IntegerField(
        allow_null=True, help_text="How many scans each code allows; null for no limit."
    )
    expiration_date = serializers.DateField(
        allow_null=True, help_text="The last day of validity, in the brand's time zone."
    )
    recall_id = serializers.CharField(source="recall.recall_id", default=None, allow_null=True)
    created_at = TimestampField()


class BatchJobOutput(BrandBatchOutput):
    job_id = serializers.IntegerField(help_text="The job that generates its codes.")


BatchJobRowOutput = row_output(BatchJobOutput)


class BatchInput(Input):
    range_name = serializers.CharField(max_length=120, validators=[one_line])
    quantity = serializers.IntegerField(min_value=1, max_value=batches.MAX_CODES)
    product_id = serializers.IntegerField(required=False, allow_null=True, **ID)
    campaign_id = serializers.IntegerField(required=False, allow_null=True, **ID)
    prefix = serializers.CharField(required=False, max_length=32, allow_blank=True)
    starting_number = serializers.IntegerField(required=False, min_value=0, max_value=10**18 - 1)
    number_width = serializers.IntegerField(required=False, min_value=1, max_value=18)
    points_per_scan = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=MAX_INTEGER)
    scan_limit = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MAX_INTEGER)
    expiration_date = serializers.DateField(required=False, allow_null=True)
    signed = SwitchField(required=False, help_text="If false, consecutive codes can be guessed.", default=True)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        day = data.get("expiration_date")
        if day is not None and not 2000 <= day.year <= 2100:
            raise serializers.ValidationError({"expiration_date": "Send a day from 2000 to 2100."})
        return data


class RecalledFilter(SwitchFilter):
    """Filters batches by whether they are recalled now."""

    def filter(self, rows: Any, value: Any) -> Any:
        return rows.filter(recall__isnull=value == "false") if value else rows


class BrandBatchFilter(TenantFilterSet):
    product_id = IdFilter(field_name="product_id", description="Only batches of this product.")
    prefix = TextFilter(max_length=32, description="Only batches whose codes begin with this prefix.")
    is_recalled = RecalledFilter(description="Only batches that are recalled, or only those that are not.")


BATCHES = ModelEndpoints(LABEL, BrandBatchOutput, EXAMPLE, filters=BrandBatchFilter)


class BrandBatches(BrandView):
    """The brand's batches."""

    @BATCHES.list_endpoint("list_batches", "List batches")
    def get(self, access: BrandAccess) -> QuerySet[BatchRange]:
        """List the brand's batches, newest first. Needs the scope `read`."""
        return BatchRange.objects.select_related("recall").filter(brand=access.brand_id)

    @write_endpoint(
        "create_batch",
        "Generate a batch",
        request=BatchInput,
        responses={202: BatchJobRowOutput},
        examples=[
            request_example("Protected codes", WRITTEN),
            data_example("Being generated", {**EXAMPLE, "generated": 0, "job_id": 912}),
        ],
    )
    @for_brand(ApiKey.Scope.CODES, LABEL, ADD, writes=True)
    def post(self, request: Request, access: BrandAccess) -> Response:
        """Create a batch and generate its codes in the background. Needs the scope `codes`.

        Follow the job with `GET /brand/jobs/{job_id}`. Settings left out have the portal's defaults: protected codes of
        ten digits that allow one scan each.
        """
        data: dict[str, Any] = BatchInput.parse(request.data)
        if access.user and not scan_value.may_set(access.user, access.brand_id) and SCAN_VALUE & data.keys():
            raise Forbidden("Only managers and owners can set points, scan limit, expiry and campaign.")
        with transaction.atomic():
            requested = batch_settings(access.brand_id, data)
            context = access.audit_context()
            made = batches.create_batch(brand=access.brand, batch_settings=requested, at=context.at, by=access.user)
            made.job_id = batches.start_generation(batch=made, by=access.user).pk  # type: ignore[attr-defined]
            changes = audit_log.changes(None, made)
            audit_log.record(
                audit_context=context, action=audit_log.ADDED, rows=[AuditedChange(made, made.brand_id, changes)]
            )
        return Response(BatchJobRowOutput.serialize(made), status=202)


def batch_settings(brand_id: int, data: dict[str, Any]) -> BatchSettings:
    """Raises Invalid for a product or campaign that the brand does not have."""
    values = {name: value for name, value in data.items() if name not in {"product_id", "campaign_id"}}
    product = the_brands(Product, brand_id, "product_id", data)
    return BatchSettings(product=product, campaign=the_brands(Campaign, brand_id, "campaign_id", data), **values)


def the_brands(model: Any, brand_id: int, field: str, data: dict[str, Any]) -> Any:
    """The brand's row with the id in `field`; None if there is no id. Raises Invalid for another brand's row."""
    if data.get(field) is None:
        return None
    row = model.objects.filter(brand=brand_id, pk=data[field]).first()
    if row is None:
        raise Invalid("This brand has no such row.", details={"field": field})
    return row


class BrandBatch(BrandView):
    """One of the brand's batches."""

    @BATCHES.row_endpoint("read_batch", "Read a batch")
    def get(self, access: BrandAccess, batch_id: int) -> QuerySet[BatchRange]:
        """Return a batch, including how many of its codes have been generated. Needs the scope `read`."""
        return BatchRange.objects.select_related("recall").filter(brand=access.brand_id, pk=batch_id)


class RecallInput(Input):
    recall_id = serializers.CharField(
        max_length=64, validators=[one_line], help_text="The number by which customers and authorities know the recall."
    )
    contact = serializers.CharField(max_length=200, help_text="Phone, e-mail or page for affected customers.")
    message = serializers.CharField(max_length=5000, help_text="What the customer should do.")
    reason = serializers.CharField(max_length=5000, help_text="For staff only.")
    notify_customers = SwitchField(help_text="If true, everyone who scanned the batch is sent an e-mail now.")


class BrandRecallOutput(Output):
    batch_id = serializers.IntegerField(source="pk")
    recall_id = serializers.CharField(source="recall.recall_id")
    contact = serializers.CharField(source="recall.contact")
    message = serializers.CharField(source="recall.message")
    reason = serializers.CharField(source="recall.reason", help_text="For staff only.")
    first_code = serializers.CharField(
        source="recalled_from",
        allow_blank=True,
        help_text="The first recalled code; empty if all codes of the batch are recalled.",
    )
    last_code = serializers.CharField(
        source="recalled_to", allow_blank=True, help_text="The last recalled code; empty if `first_code` is."
    )
    recalled_at = TimestampField()


RECALLED = {**RECALL_EXAMPLE, "reason": "Glass inside", "first_code": "", "last_code": "", "recalled_at": WHEN}


def recalled_batches(access: BrandAccess) -> QuerySet[BatchRange]:
    rows = BatchRange.objects.select_related("recall")
    return rows.filter(brand=access.brand_id, recall__isnull=False)


RECALLS = ModelEndpoints("authcodes.recall", BrandRecallOutput, RECALLED, ordering=("-recalled_at", "-id"))


class BrandRecalls(BrandView):
    """The brand's recalls."""

    @RECALLS.list_endpoint("list_recalls", "List recalls")
    def get(self, access: BrandAccess) -> QuerySet[BatchRange]:
        """List the batches that are recalled now, the latest recall first. Needs the scope `read`.

        A recall of several batches has one row per batch, with the same `recall_id`.
        """
        return recalled_batches(access)


class BatchRecall(BrandView):
    """The recall of a batch."""

    @RECALLS.row_endpoint("read_recall", "Read a batch's recall")
    def get(self, access: BrandAccess, batch_id: int) -> QuerySet[BatchRange]:
        """Return the recall of a batch, or 404 if it is not recalled. Needs the scope `read`."""
        return recalled_batches(access).filter(pk=batch_id)

    @write_endpoint(
        "recall_batch",
        "Recall a batch",
        request=RecallInput,
        responses={201: RECALLS.row_output},
        raises=[NotFound],
        examples=[
            request_example(
                "Without e-mails",
                {
                    "recall_id": "R-2026-4",
                    "contact": "+41 31 000 00 00",
                    "message": "Stop using it.",
                    "reason": "Glass inside",
                    "notify_customers": False,
                },
            ),
            data_example("Recalled", RECALLED),
        ],
    )
    @for_brand(ApiKey.Scope.ADMIN, "authcodes.recall", ADD, writes=True)
    def post(self, request: Request, access: BrandAccess, batch_id: int) -> Response:
        """Recall a batch: every later scan of its codes reports the recall and earns nothing. Needs the scope `admin`.

        Only an owner can withdraw a recall, in the portal.
        """
        data = RecallInput.parse(request.data)
        batch = row_of(BatchRange.objects.select_related("product", "brand").filter(brand=access.brand_id), pk=batch_id)
        notifies = data.pop("notify_customers")
        context = access.audit_context(data["reason"])
        made = recalls.recall_batch(batch=batch, at=context.at, by=access.user, **data)
        action = f"Recalled: {made}"
        audit_log.record(
            audit_context=context,
            action=action,
            rows=[AuditedChange(batch, batch.brand_id), AuditedChange(made, batch.brand_id)],
        )
        if notifies:
            notifications.start(recall=made, by=access.user)
        return Response(RECALLS.row_output.serialize(batch), status=201)
