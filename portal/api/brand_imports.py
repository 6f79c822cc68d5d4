"""Imports of reference data over HTTP: upload a file, preview its changes, confirm it."""

from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from brands.access.brand_access import BrandAccess, access_of
from brands.access.endpoints import HUB_OR_STAFF, BrandView, read_endpoint, row_of, row_output, write_endpoint
from core.api.file_views import FileView
from core.api.inputs import Input, one_line
from core.api.openapi.endpoint import endpoint
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, TimestampField
from core.errors import Forbidden, Invalid, NotFound, PayloadTooLarge
from jobs.models import StagedUpload
from portal.api import file_bodies, resource_access
from portal.api.resource_access import Resource
from portal.import_export import downloads, imports, large_files, previews
from portal.import_export.imports import ErrorFile
from portal.import_export.plans import Outcome
from portal.import_export.previews import Preview, PreviewRow

Status = StagedUpload.Status
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
EXAMPLE = {
    "id": 71,
    "file_name": "prices.csv",
    "status": "checked",
    "problem": "",
    "counts": {"new": 0, "changed": 1, "unchanged": 1, "error": 0},
    "rows": [
        {
            "line": 2,
            "outcome": "changed",
            "name": "Alpine Jacket (ALP-311)",
            "changes": [{"column": "retail_price", "before": "249.9", "after": "229.9"}],
        }
    ],
    "line_errors": [],
    "digest": DIGEST,
    "job_id": None,
    "expires_at": WHEN,
}
RESOURCE = OpenApiParameter("resource", str, OpenApiParameter.PATH, description="The resource, such as `products`.")
NAME_PARAMETER = OpenApiParameter(
    "name", {"type": "string", "maxLength": 200}, description="The file's name, if the body is the file itself."
)


class ImportRowOutput(Output):
    """A row that is new or changed."""

    line = serializers.IntegerField()
    outcome = serializers.ChoiceField(choices=["new", "changed"])
    name = serializers.CharField(allow_blank=True)
    changes = serializers.SerializerMethodField()

    def get_changes(self, row: PreviewRow) -> list[dict[str, str]]:
        return [{"column": name, "before": old, "after": new} for name, (old, new) in row.changes.items()]


class ImportErrorOutput(Output):
    line = serializers.IntegerField()
    column = serializers.CharField(allow_blank=True, help_text="Empty for an error of the whole row.")
    message = serializers.CharField()


class ImportCountsOutput(Output):
    new = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    error = serializers.IntegerField()


class BrandImportOutput(Output):
    """An uploaded file and what it would change."""

    id = serializers.IntegerField(source="upload.pk")
    file_name = serializers.CharField(source="upload.file_name")
    status = serializers.ChoiceField(choices=Status.values, source="upload.status")
    problem = serializers.CharField(source="upload.problem", allow_blank=True, help_text="Why the file was rejected.")
    counts = ImportCountsOutput(allow_null=True, help_text="Null until the file is checked.")
    rows = ImportRowOutput(many=True, help_text="The first 100 new or changed rows.")
    line_errors = ImportErrorOutput(many=True, help_text="The errors of the first 100 lines that have any.")
    digest = serializers.CharField(allow_null=True, help_text="Stands for everything that the file would change now.")
    job_id = serializers.IntegerField(
        source="upload.job_id", allow_null=True, help_text="The job that checks or imports a large file."
    )
    expires_at = TimestampField(source="upload.expires_at")


BrandImportRowOutput = row_output(BrandImportOutput)


class ConfirmInput(Input):
    digest = serializers.CharField(
        max_length=64, validators=[one_line], help_text="The `digest` of the preview that you confirm."
    )


def described(upload: StagedUpload, preview: Preview | None) -> dict[str, Any]:
    """The API's description of an import."""
    faulty = preview.faulty if preview else []
    errors = [
        {"line": row.line, "column": column, "message": text} for row in faulty for column, text in row.errors.items()
    ]
    counts = {outcome.value: preview.count(outcome) for outcome in Outcome} if preview else None
    return {
        "upload": upload,
        "counts": counts,
        "rows": preview.rows if preview else [],
        "line_errors": errors,
        "digest": preview.digest if preview else None,
    }


def preview_of(upload: StagedUpload, resource: Resource) -> Preview | None:
    """None before a job has created it. Raises Invalid for a small file that can no longer be imported."""
    if upload.preview:
        return previews.from_json(upload.preview)
    return None if upload.is_large else imports.preview(upload, resource)


def upload_of(access: BrandAccess, resource: Resource, import_id: int, *, lock: bool = False) -> StagedUpload:
    """The caller's own upload. Raises NotFound for another caller's, and for an expired one."""
    rows = StagedUpload.objects.filter(brand=access.brand_id, resource=resource.label(), expires_at__gt=timezone.now())
    rows = rows.select_related("brand", "user")
    rows = rows.filter(api_key=access.caller.key_id) if access.caller else rows.filter(user=access.user)
    return row_of(rows.select_for_update(of=("self",)) if lock else rows, pk=import_id)


class BrandImports(BrandView):
    """Files of a resource."""

    parser_classes = file_bodies.PARSERS

    @endpoint(
        "upload_import",
        tag="Brand",
        summary="Upload a file to import",
        needs=HUB_OR_STAFF,
        calls=[access_of],
        raises=[NotFound, PayloadTooLarge],
        parameters=[RESOURCE, NAME_PARAMETER],
        request={
            "multipart/form-data": {
                "type": "object",
                "properties": {"file": {"type": "string", "format": "binary"}},
                "required": ["file"],
            },
            file_bodies.RawFile.media_type: OpenApiTypes.BINARY,
            file_bodies.RawWorkbook.media_type: OpenApiTypes.BINARY,
        },
        responses={201: BrandImportRowOutput, 202: BrandImportRowOutput},
        examples=[data_example("Checked", EXAMPLE)],
    )
    @resource_access.imports()
    def post(self, request: Request, access: BrandAccess, resource: Resource) -> Response:
        """Upload a CSV or XLSX file of at most 50 MB and 200,000 rows. Needs the scope of the resource.

        Nothing changes yet. Up to 2,000 rows are checked at once (201); a larger file is checked by the job `job_id`
        (202). The upload replaces the caller's earlier unconfirmed upload of the same resource.
        """
        file, size, name = file_bodies.file_of(request)
        upload = large_files.receive(
            resource,
            brand=access.brand,
            by=access.user,
            key_id=access.caller.key_id if access.caller else None,
            file=file,
            size=size,
            name=name,
        )
        data = described(upload, preview_of(upload, resource))
        return Response(BrandImportRowOutput.serialize(data), status=202 if upload.is_large else 201)


class BrandImport(BrandView):
    """One of the caller's imports."""

    @read_endpoint(
        "read_import",
        "Read an import",
        BrandImportRowOutput,
        data_example("Current state", EXAMPLE),
        raises=[NotFound],
    )
    @resource_access.imports()
    def get(self, _request: Request, access: BrandAccess, resource: Resource, import_id: int) -> Response:
        """Return what a file that the caller uploaded would change now. Needs the scope of the resource."""
        upload = upload_of(access, resource, import_id)
        return Response(BrandImportRowOutput.serialize(described(upload, preview_of(upload, resource))))


class BrandImportErrors(FileView):
    """The lines of an import that have errors."""

    permission_classes = (AllowAny,)

    @endpoint(
        "download_import_errors",
        tag="Brand",
        summary="Download the lines with errors",
        needs=HUB_OR_STAFF,
        calls=[access_of],
        raises=[NotFound],
        parameters=[RESOURCE],
        responses={(200, "text/csv"): OpenApiTypes.BINARY},
    )
    @resource_access.imports()
    def get(self, _request: Request, access: BrandAccess, resource: Resource, import_id: int) -> HttpResponseBase:
        """Download all lines with errors as a CSV with a last column `error`. Correct them and upload the file."""
        upload = upload_of(access, resource, import_id)
        return downloads.file(imports.error_file(upload, resource), name=ErrorFile.name, content_type="text/csv")


class BrandImportConfirmation(BrandView):
    """The confirmation of an import."""

    @write_endpoint(
        "confirm_import",
        "Confirm an import",
        request=ConfirmInput,
        responses={200: BrandImportRowOutput, 202: BrandImportRowOutput},
        raises=[NotFound, Forbidden],
        examples=[
            request_example("As in the preview", {"digest": DIGEST}),
            data_example("Imported", {**EXAMPLE, "status": "imported"}),
        ],
    )
    @resource_access.imports(writes=True)
    def post(self, request: Request, access: BrandAccess, resource: Resource, import_id: int) -> Response:
        """Import what the preview showed, all or nothing. Needs the scope of the resource.

        Up to 2,000 rows are imported before the answer (200); a larger file is imported by the job `job_id` (202). If a
        row has changed since the preview, nothing is imported: read the import again and confirm its new `digest`.
        """
        digest = ConfirmInput.parse(request.data)["digest"]
        upload = upload_of(access, resource, import_id, lock=True)
        if upload.status != Status.CHECKED and not upload.is_large:
            raise Invalid(large_files.already_imported())
        if upload.is_large:
            large_files.start_import(upload, digest=digest, request_id=access.request_id)
            data = described(upload, previews.from_json(upload.preview))
            return Response(BrandImportRowOutput.serialize(data), status=202)
        context = access.audit_context(imports.audit_reason(upload))
        result = imports.write(upload, resource, digest=digest, context=context)
        return Response(BrandImportRowOutput.serialize(described(upload, result)))
