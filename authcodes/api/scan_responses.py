"""The response to a scan for the customer: the shapes of spec 4.9, the same from every endpoint.

The serializers only describe it. It is built by hand with the same fields, because this is the hot path.
"""

import json
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from authcodes.errors import AuthCodeInvalid
from authcodes.models.scans import Scan
from authcodes.scanning import guest_tokens, types
from authcodes.scanning.types import CodeSnapshot, ScanResult
from brands.models.tenants import Brand
from core import languages
from core.api.outputs import Output, PointsField, TimestampField
from core.json_values import iso, json_number

Outcome, Reason, Status = Scan.Outcome, Scan.Reason, Scan.PointsStatus

SUCCESS_MESSAGES = {
    Status.PENDING: _("Genuine product. Your points are on their way."),
    Status.GUEST: _("Genuine product. Log in to earn points."),
    Status.UNCONFIRMED: _("Genuine product. Confirm your e-mail address within 30 days to get your points."),
    Status.ALREADY_CLAIMED: _("Genuine product. You already have the points for this code."),
    Status.NOT_ELIGIBLE: _("Genuine product."),
}
PRODUCT_INACTIVE_MESSAGE = _("Genuine product. It is no longer sold and earns no points.")
LIMIT_MESSAGE = _("This code has already been scanned.")
RESERVED_MESSAGE = _("Someone who is not logged in has just scanned this code. Log in to claim it, or try again later.")
RESERVED_BY_CUSTOMER_MESSAGE = _(
    "Someone has just scanned this code but has not claimed it yet. Log in to claim it, or try again later."
)
UNCONFIRMED_RESERVED_MESSAGE = _(
    "Someone else has just scanned this code. Confirm your e-mail address to claim it, or try again later."
)
TEST_MESSAGE = _("Test code, not a product.")
INVALID_MESSAGE = _("This code is not valid. Check it and try again, or ask the brand's support.")


WAITS = (
    "Only for pending points: they are credited when the customer confirms their e-mail address "
    "(`send_email_verification`) within 30 days."
)
ABOUT_TESTS = "Only for a sandbox brand's code, which does not prove a genuine product. Make this clear to the user."
ABOUT_PROOF = "Only for a guest's scan: proves for 30 minutes that it was theirs, for `adopt_scan` and `place_scan`."


class ProductOutput(Output):
    id = serializers.CharField()
    name = serializers.CharField()
    sku = serializers.CharField()
    picture = serializers.CharField(
        required=False,
        help_text="The path of its picture on this host, if it has one: WebP of at most 480 x 360 pixels.",
    )


class RecallOutput(Output):
    id = serializers.CharField()
    contact = serializers.CharField()
    message = serializers.CharField()


class ScanSuccess(Output):
    """The product is genuine, and the scan counts."""

    success = serializers.ChoiceField(choices=[True])
    status = serializers.ChoiceField(choices=["success"])
    scan_id = serializers.UUIDField()
    reason = serializers.ChoiceField(choices=["accepted", "campaign_inactive", "product_inactive"])
    points_status = serializers.ChoiceField(
        choices=types.PUBLIC_STATUSES,
        help_text="The state of the points. pending: credited in a moment, or when `waits_for` is fulfilled.",
    )
    waits_for = serializers.ChoiceField(choices=["confirmed_email"], required=False, help_text=WAITS)
    product = ProductOutput()
    points_awarded = PointsField(help_text="Points that the scan earns; credited once `points_status` is `awarded`.")
    points_available = PointsField(required=False, help_text="Points that a guest would earn by logging in.")
    message = serializers.CharField(help_text="A message for the customer.")
    scan_count = serializers.IntegerField(help_text="Accepted scans of this code, including this one.")
    first_scan = serializers.BooleanField(help_text="Whether nobody has scanned this code before.")
    first_scan_date = TimestampField(
        required=False, allow_null=True, help_text="If it was scanned before: when it was first scanned."
    )
    first_scan_location = serializers.CharField(required=False, allow_null=True, help_text="City and region.")
    is_test = serializers.ChoiceField(choices=[True], required=False, help_text=ABOUT_TESTS)
    scan_token = serializers.CharField(required=False, help_text=ABOUT_PROOF)


class ScanWarning(Output):
    """The code is genuine, but its scan limit is reached, it is reserved, or its product is recalled.

    Reserved: a guest has scanned it and may still log in and claim it, or a customer has, whose e-mail address the
    brand requires to be confirmed first. Another customer who scans it gets it at once. A guest, or a customer with an
    unconfirmed address at such a brand, gets it when that time is over.
    """

    success = serializers.ChoiceField(choices=[True])
    status = serializers.ChoiceField(choices=["warning"])
    scan_id = serializers.UUIDField()
    reason = serializers.ChoiceField(choices=["limit_reached", "reserved", "recalled"])
    points_status = serializers.ChoiceField(choices=["already_claimed", "not_eligible"])
    product = ProductOutput(allow_null=True)
    points_awarded = serializers.ChoiceField(choices=[0])
    message = serializers.CharField(help_text="A message for the customer; the recall's own message if it is recalled.")
    scan_count = serializers.IntegerField(help_text="Accepted scans of this code.")
    first_scan = serializers.ChoiceField(choices=[False])
    first_scan_date = TimestampField(allow_null=True)
    first_scan_location = serializers.CharField(allow_null=True, help_text="City and region.")
    reserved_until = TimestampField(
        required=False,
        help_text="Only if it is reserved: until when the guest or customer who scanned it can claim it.",
    )
    recall = RecallOutput(required=False, help_text="Only if it is recalled.")
    is_test = serializers.ChoiceField(choices=[True], required=False, help_text=ABOUT_TESTS)
    scan_token = serializers.CharField(required=False, help_text=ABOUT_PROOF)


SCAN_ANSWER = PolymorphicProxySerializer(
    component_name="ScanAnswer",
    serializers={"success": ScanSuccess, "warning": ScanWarning},
    resource_type_field_name="status",
)


def answer(result: ScanResult, *, brand_id: int | None, to_guest: bool) -> HttpResponse:
    """The response to a scan. Raises AuthCodeInvalid for an error, which has both of the spec's error shapes.

    `brand_id`: the brand of the app or key, None without one. `to_guest`: the response does not name a customer.
    """
    if result.outcome == Outcome.ERROR or result.snapshot is None:
        raise invalid(result, brand_id)
    languages.use(result.snapshot.language or "")
    languages.mark_translated()
    body = success(result) if result.outcome == Outcome.SUCCESS else warning(result)
    if result.snapshot.is_sandbox:
        body |= {"message": str(TEST_MESSAGE), "is_test": True}
    if to_guest:
        scanned_at = result.scanned_at or timezone.now()
        body["scan_token"] = guest_tokens.token_of(result.scan_id, scanned_at=scanned_at)
    answer = {"success": True, "status": result.outcome.value, **body}
    # Not DRF's Response, which uses Django's template responses: rendering would take longer than building the answer.
    return HttpResponse(json.dumps(answer, ensure_ascii=False, separators=(",", ":")), content_type="application/json")


def common(result: ScanResult) -> dict[str, Any]:
    assert result.snapshot is not None  # noqa: S101 - checked by answer()
    return {
        "scan_id": str(result.scan_id),
        "reason": result.reason.value,
        **types.public_status_fields(result.points_status),
        "product": result.snapshot.product_in_language(),
    }


def success(result: ScanResult) -> dict[str, Any]:
    return {
        **common(result),
        **points_of(result),
        "message": str(success_message(result)),
        "scan_count": result.scan_count,
        "first_scan": result.first_scan,
        **({} if result.first_scan else first_scan(result)),
    }


def success_message(result: ScanResult) -> Any:
    if result.reason == Reason.PRODUCT_INACTIVE and result.points_status == Status.NOT_ELIGIBLE:
        return PRODUCT_INACTIVE_MESSAGE
    return SUCCESS_MESSAGES.get(result.points_status, SUCCESS_MESSAGES[Status.NOT_ELIGIBLE])


def points_of(result: ScanResult) -> dict[str, Any]:
    """The points that a scan earns, and those that a guest, who earns none, would earn by logging in."""
    if result.points_status == Status.GUEST:
        return {"points_awarded": 0, "points_available": json_number(result.points)}
    return {"points_awarded": json_number(result.points)}


def first_scan(result: ScanResult) -> dict[str, Any]:
    snapshot = result.snapshot
    assert snapshot is not None  # noqa: S101 - checked by answer()
    return {
        "first_scan_date": iso(snapshot.first_scan_at) if snapshot.first_scan_at else None,
        "first_scan_location": snapshot.first_scan_location or None,
    }


def warning(result: ScanResult) -> dict[str, Any]:
    snapshot = result.snapshot
    assert snapshot is not None  # noqa: S101 - checked by answer()
    body = {
        **common(result),
        "points_awarded": 0,
        "message": str(LIMIT_MESSAGE),
        "scan_count": result.scan_count,
        "first_scan": False,
        **first_scan(result),
    }
    if result.reason == Reason.RESERVED and snapshot.reserved_until:
        body |= {"message": str(reserved_message(snapshot)), "reserved_until": iso(snapshot.reserved_until)}
    if result.reason == Reason.RECALLED:
        recall = snapshot.recall()
        body |= {"message": recall["message"], "recall": recall}
    return body


def reserved_message(snapshot: CodeSnapshot) -> Any:
    if snapshot.unconfirmed:
        return UNCONFIRMED_RESERVED_MESSAGE
    return RESERVED_MESSAGE if snapshot.reserved_for is None else RESERVED_BY_CUSTOMER_MESSAGE


def invalid(result: ScanResult, brand_id: int | None) -> AuthCodeInvalid:
    """The same message for every reason. The support address is that of the caller's brand, not of the code's."""
    helper = Brand.objects.filter(pk=brand_id).values_list("support_email", flat=True).first() if brand_id else None
    extra = {
        "status": "error",
        "support_email": helper or settings.SUPPORT_EMAIL,
        "scan_id": str(result.scan_id),
    }
    return AuthCodeInvalid(str(INVALID_MESSAGE), extra=extra)
