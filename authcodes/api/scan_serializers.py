"""Input and output of the endpoints about scans."""

from typing import Any

from rest_framework import serializers

from authcodes.api.scan_responses import ABOUT_TESTS, WAITS, ProductOutput, RecallOutput
from authcodes.models.scans import Scan
from authcodes.scanning import evaluate, guest_tokens, types
from brands.scanned import MAX_INPUT_LENGTH
from campaigns.intake.payloads import LocationInput
from core.api.inputs import Input
from core.api.outputs import Output, PointsField, SuccessField, TimestampField

WHAT_IS_A_CODE = "The code, `code.tag` for a signed batch, or the full address that was scanned."


class ScanInput(Input):
    code = serializers.CharField(max_length=MAX_INPUT_LENGTH, help_text=WHAT_IS_A_CODE)
    customer_id = serializers.CharField(
        required=False, max_length=20, allow_blank=True, help_text="The `user_id` of the customer who scans."
    )
    location = LocationInput(required=False, allow_null=True)
    device = serializers.CharField(required=False, max_length=120, allow_blank=True)
    app_version = serializers.CharField(required=False, max_length=40, allow_blank=True)


class ValidateInput(Input):
    code = serializers.CharField(max_length=MAX_INPUT_LENGTH, help_text=WHAT_IS_A_CODE)
    customer_id = serializers.CharField(
        required=False,
        max_length=20,
        allow_blank=True,
        help_text="The `user_id` of the customer who looks up the code.",
    )


class PointsStatusField(serializers.ChoiceField):
    """The status of a scan's points in the API."""

    def to_representation(self, value: str) -> str:
        return types.public_status_fields(Scan.PointsStatus(value))["points_status"]


class WaitsForField(serializers.ChoiceField):
    """What the points of a scan wait for, derived from their status."""

    def to_representation(self, value: str) -> Any:
        return types.public_status_fields(Scan.PointsStatus(value)).get("waits_for")


class LocationField(serializers.CharField):
    """A place's name; null for none."""

    def to_representation(self, value: str) -> Any:
        return value or None


class ValidateOutput(Output):
    valid = serializers.BooleanField()
    is_test = serializers.ChoiceField(choices=[True], required=False, help_text=ABOUT_TESTS)
    product = ProductOutput(allow_null=True)
    points_awarded = PointsField(help_text="Points that a scan would earn the customer now; 0 for a guest.")
    points_available = PointsField(required=False, help_text="Points that a guest would earn by logging in.")
    scan_count = serializers.IntegerField()
    first_scan = serializers.BooleanField(help_text="Whether nobody has scanned this code before.")
    status = serializers.ChoiceField(
        source="result.outcome", choices=Scan.Outcome.values, help_text="The `status` that a scan would return now."
    )
    reason = serializers.ChoiceField(
        choices=[reason.value for reason in evaluate.OUTCOMES],
        allow_null=True,
        help_text="The reason for `status`; null for an invalid code.",
    )
    points_status = PointsStatusField(
        choices=["pending", "guest", "already_claimed", "not_eligible"],
        help_text="The state that the points would have.",
    )
    waits_for = WaitsForField(source="points_status", choices=["confirmed_email"], required=False, help_text=WAITS)
    recall = RecallOutput(required=False, help_text="Only if the product is recalled.")


class ScanStateOutput(Output):
    success = SuccessField()
    scan_id = serializers.UUIDField(source="pk")
    status = serializers.ChoiceField(source="outcome", choices=Scan.Outcome.choices)
    points_status = PointsStatusField(choices=types.PUBLIC_STATUSES)
    waits_for = WaitsForField(source="points_status", choices=["confirmed_email"], required=False, help_text=WAITS)
    points_awarded = PointsField()
    timestamp = TimestampField(source="scanned_at")
    location = LocationField(allow_null=True)
    recall = RecallOutput(
        source="current_recall",
        required=False,
        help_text="Only while its code is recalled, even if it was not at the time of the scan.",
    )


class AdoptInput(Input):
    scan_token = serializers.CharField(
        max_length=guest_tokens.MAX_LENGTH, help_text="The `scan_token` from the answer to the guest's scan."
    )


class PlaceInput(Input):
    latitude = serializers.FloatField(min_value=-90, max_value=90)
    longitude = serializers.FloatField(min_value=-180, max_value=180)
    scan_token = serializers.CharField(
        required=False,
        max_length=guest_tokens.MAX_LENGTH,
        help_text="The `scan_token` from the answer to a guest's scan.",
    )
