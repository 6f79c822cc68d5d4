"""A customer's own data: requested, written by a job, and downloaded as a file."""

from typing import Any
from urllib.parse import urlencode

from django.db import transaction
from django.http import FileResponse
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from authcodes import data_exports
from authcodes.data_exports import LINK_LASTS, MAX_LINK_LENGTH
from brands.identity import users
from brands.identity.authentication import active_user, changing_own_brand, for_own_brand, principal_of
from brands.models.tenants import Brand
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import data_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, SuccessField, TimestampField, data_output
from core.errors import TokenInvalid

LINK_MINUTES = int(LINK_LASTS.total_seconds()) // 60


class DownloadUrlField(serializers.CharField):
    """The address of the file; null without a link."""

    def to_representation(self, value: str) -> Any:
        return f"{reverse('data-export-file')}?{urlencode({'link': value})}" if value else None


class DataExportData(Output):
    status = serializers.ChoiceField(
        choices=data_exports.STATES, help_text="`done`: the file is ready. `expired`: the file has been deleted."
    )
    requested_at = TimestampField()
    finished_at = TimestampField(allow_null=True)
    expires_at = TimestampField(allow_null=True, help_text="When the file will be deleted. Null if there is no file.")
    bytes = serializers.IntegerField(source="size", allow_null=True, help_text="Size of the file.")
    download_url = DownloadUrlField(
        source="link",
        allow_null=True,
        help_text=f"Valid for {LINK_MINUTES} minutes, and only with the customer's own access token.",
    )
    download_url_expires_at = TimestampField(source="link_until", allow_null=True)


DataExportOutput = data_output(DataExportData)


class DataOutput(Output):
    success = SuccessField()
    data = serializers.DictField(help_text="The data by topic, such as loyalty, scans and notices.")  # type: ignore[assignment]


EXPORT = {
    "status": "done",
    "requested_at": WHEN,
    "finished_at": WHEN,
    "expires_at": "2026-03-21T09:26:53.589Z",
    "bytes": 48213,
    "download_url": "/api/v1/customer/data?link=1w1K0v%3Ac2lnbmF0dXJl",
    "download_url_expires_at": "2026-03-14T09:41:53.589Z",
}
UNFINISHED = dict.fromkeys(EXPORT) | {"status": "queued", "requested_at": WHEN}


class DataExports(APIView):
    """The export of the customer's data at the token's brand: its request and its status."""

    @endpoint(
        "request_data_export",
        tag="Account",
        summary="Request an export of my data",
        needs=[BEARER],
        request=None,
        responses={202: DataExportOutput},
        examples=[data_example("Requested", UNFINISHED)],
    )
    @changing_own_brand
    def post(self, request: Request) -> Response:
        """Start an export of all data that the token's brand stores about the customer.

        The file is written in the background: poll `GET customer/data-export` until `status` is `done`. While an export
        is unfinished, this endpoint returns it. After that it starts a new export and deletes the previous file.
        """
        principal = principal_of(request, rate_limit="data_export")
        now = timezone.now()
        with transaction.atomic():
            customer = users.lock_user(user_id=principal.user_id)
            if active_user(principal.user_id, principal) is None:  # erased at this brand while waiting for the lock
                raise TokenInvalid
            brand = Brand.objects.get(pk=principal.brand_id)
            data_exports.start(brand=brand, customer=customer, by=None, at=now)
        result = data_exports.newest(brand_id=principal.brand_id, customer_id=principal.user_id, at=now)
        return Response(DataExportOutput.serialize(result), status=202, headers={"Cache-Control": "no-store"})

    @endpoint(
        "read_data_export",
        tag="Account",
        summary="Read the status of my data export",
        needs=[BEARER],
        calls=[data_exports.newest],
        responses=DataExportOutput,
        examples=[data_example("Ready", EXPORT)],
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """Return the newest export of the customer's data at the token's brand, with a download link once it is done.

        The export may have been requested by staff of the brand. Each answer has a new link.
        """
        principal = principal_of(request, rate_limit="read")
        now = timezone.now()
        result = data_exports.newest(brand_id=principal.brand_id, customer_id=principal.user_id, at=now)
        return Response(DataExportOutput.serialize(result), headers={"Cache-Control": "no-store"})


class DataExportFile(APIView):
    """The file of a finished export."""

    @endpoint(
        "export_my_data",
        tag="Account",
        summary="Download my data",
        needs=[BEARER],
        calls=[data_exports.opened],
        parameters=[
            OpenApiParameter(
                "link",
                {"type": "string", "maxLength": MAX_LINK_LENGTH},
                description="From `download_url`; selects that export's file. Leave it out for the newest file.",
            )
        ],
        responses=DataOutput,
        examples=[data_example("A customer's data", {"profile": {"email": "ada@example.com"}})],
    )
    @for_own_brand
    def get(self, request: Request) -> FileResponse:
        """Download all data that the token's brand stored about the customer when the file was written.

        Request an export first: `POST customer/data-export`.
        """
        principal = principal_of(request, rate_limit="read")
        content = data_exports.opened(
            brand_id=principal.brand_id,
            customer_id=principal.user_id,
            link=request.query_params.get("link", ""),
            at=timezone.now(),
        )
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        return FileResponse(content, content_type="application/json", headers=headers)
