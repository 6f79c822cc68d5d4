"""The bodies of webhook events about codes and batches."""

from rest_framework import serializers

from authcodes.api.scan_responses import WAITS, ProductOutput
from authcodes.models.scans import Scan
from core.api.openapi.shared_examples import CODE, SCAN_ID
from core.api.openapi.webhooks import webhook
from core.api.outputs import Output, PointsField

UNCONFIRMED = Scan.PointsStatus.UNCONFIRMED
PRODUCT = {"id": "311", "name": "Alpine Jacket", "sku": "ALP-311"}


class CodeScannedData(Output):
    user_id = serializers.IntegerField(required=False, help_text="Absent for a guest, and for another brand's app.")
    scan_id = serializers.UUIDField()
    code = serializers.CharField()
    outcome = serializers.ChoiceField(choices=Scan.Outcome.values)
    reason = serializers.ChoiceField(choices=Scan.Reason.values)
    points_status = serializers.ChoiceField(choices=[each for each in Scan.PointsStatus.values if each != UNCONFIRMED])
    waits_for = serializers.ChoiceField(choices=["confirmed_email"], required=False, help_text=WAITS)
    points_promised = PointsField()
    batch_id = serializers.IntegerField(allow_null=True)
    product = ProductOutput(allow_null=True)
    latitude = serializers.FloatField(allow_null=True)
    longitude = serializers.FloatField(allow_null=True)
    location = serializers.CharField(allow_null=True)


class CodeRangeData(Output):
    batch_id = serializers.IntegerField()
    first_code = serializers.CharField()
    last_code = serializers.CharField()
    codes = serializers.IntegerField(help_text="How many of these codes changed.")


class CodesChangedData(Output):
    action_id = serializers.UUIDField(help_text="The id of the change in the codes' history.")
    codes = serializers.IntegerField(help_text="How many codes changed in total.")
    ranges = CodeRangeData(
        many=True, help_text="At most 1000. If there are more: one per batch, from its first to its last."
    )


class RecalledBatchData(Output):
    id = serializers.IntegerField()
    name = serializers.CharField()
    prefix = serializers.CharField()
    quantity = serializers.IntegerField()


class RecalledCodesData(Output):
    first = serializers.CharField()
    last = serializers.CharField()


class BatchRecalledData(Output):
    recall_id = serializers.CharField()
    contact = serializers.CharField()
    message = serializers.CharField()
    batch = RecalledBatchData()
    codes = RecalledCodesData(allow_null=True, help_text="Null if all codes of the batch are recalled.")
    product = ProductOutput(allow_null=True)


SWITCHED = {
    "action_id": "5e0b6f0e-3f5a-4c39-8a4c-5f0c7f1b9d10",
    "codes": 118,
    "ranges": [{"batch_id": 31, "first_code": "ALP0000004701", "last_code": "ALP0000004820", "codes": 118}],
}

CODE_SCANNED = webhook(
    "code.scanned",
    "A code was scanned, with any outcome",
    CodeScannedData,
    {
        "user_id": 42,
        "scan_id": SCAN_ID,
        "code": CODE,
        "outcome": "success",
        "reason": "accepted",
        "points_status": "pending",
        "points_promised": 10,
        "batch_id": 31,
        "product": PRODUCT,
        "latitude": 46.948,
        "longitude": 7.4474,
        "location": "Bern",
    },
)
CODES_DEACTIVATED = webhook("codes.deactivated", "Codes were deactivated", CodesChangedData, SWITCHED)
CODES_REACTIVATED = webhook("codes.reactivated", "Codes were reactivated", CodesChangedData, SWITCHED)
BATCH_RECALLED = webhook(
    "batch.recalled",
    "A batch was recalled",
    BatchRecalledData,
    {
        "recall_id": "R-2026-04",
        "contact": "+49 30 123456",
        "message": "Please return the jacket to the shop.",
        "batch": {"id": 31, "name": "Jackets, spring", "prefix": "ALP", "quantity": 10000},
        "codes": None,
        "product": PRODUCT,
    },
)
