"""Exports of reference data over HTTP, with the columns of an import."""

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from brands.access.brand_access import BrandAccess, access_of
from brands.access.endpoints import HUB_OR_STAFF
from core.api.file_views import FileView
from core.api.openapi.endpoint import endpoint
from core.errors import Forbidden, Invalid, NotFound
from core.spreadsheets.report import Format
from portal.api import resource_access
from portal.api.brand_imports import RESOURCE
from portal.api.resource_access import Resource
from portal.import_export import downloads

CONTENTS = ("rows", "template")
CHOICES = {"file_format": tuple(Format.values), "content": CONTENTS}
FILE_FORMAT = OpenApiParameter("file_format", str, enum=list(Format.values), default="csv", description="CSV or XLSX.")
CONTENT = OpenApiParameter(
    "content",
    str,
    enum=list(CONTENTS),
    default="rows",
    description="The rows, or a template: the header with an example.",
)


class BrandExport(FileView):
    """A resource's rows as a file."""

    permission_classes = (AllowAny,)

    @endpoint(
        "export_resource",
        tag="Brand",
        summary="Export reference data",
        needs=HUB_OR_STAFF,
        calls=[access_of],
        raises=[NotFound, Forbidden],
        parameters=[RESOURCE, FILE_FORMAT, CONTENT],
        responses={
            (200, downloads.MEDIA_TYPES[Format.CSV]): OpenApiTypes.BINARY,
            (200, downloads.MEDIA_TYPES[Format.XLSX]): OpenApiTypes.BINARY,
        },
    )
    @resource_access.exports
    def get(self, request: Request, access: BrandAccess, resource: Resource) -> HttpResponseBase:
        """Export all rows of a resource, at most 20,000, or a template to fill in. Needs the scope `read`.

        The columns are those of an import: importing an unchanged export changes nothing. `members`, which needs the
        scope `members`, and `partner-codes` can only be imported; for them, only the template is available.
        """
        requested = {name: request.query_params.get(name, options[0]) for name, options in CHOICES.items()}
        for name in request.query_params:
            if name not in CHOICES or requested[name] not in CHOICES[name]:
                raise Invalid(details={"field": name})
        file_format = Format(requested["file_format"])
        if requested["content"] == "template":
            result = downloads.template(resource, format=file_format)
        elif not resource.exports:
            raise NotFound(
                _("These rows can only be imported. Add content=template to get the header with an example.")
            )
        else:
            rows = resource(access.brand).rows()
            result = downloads.export(resource, rows, brand=access.brand, format=file_format)
        result["Content-Type"] = downloads.MEDIA_TYPES[file_format]
        return result
