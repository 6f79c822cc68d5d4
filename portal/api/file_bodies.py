"""Requests with a file as their body, raw or in a form."""

from collections.abc import Mapping
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request

from core.errors import Invalid, PayloadTooLarge
from portal.import_export.tables import MAX_LARGE_BYTES

IN_MEMORY = 1_000_000
CHUNK = 64 * 1024
FORM_BYTES = 10_000  # the maximum size of a form around its file
NAME = "file"


class RawFile(BaseParser):
    """The body as a file object, positioned at its start."""

    media_type = "text/csv"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Raises Invalid if the body is shorter than its announced length."""
        request: Request = (parser_context or {})["request"]
        check_length(request)
        body = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed when it is collected
        while chunk := stream.read(CHUNK):
            body.write(chunk)
        if body.tell() < int(request.META.get("CONTENT_LENGTH") or 0):
            raise Invalid(_("The body ended before it was complete. Send it again."))
        body.seek(0)
        return {NAME: body}


class RawWorkbook(RawFile):
    media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class FileForm(MultiPartParser):
    """A form with the file in the field `file`."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        check_length(parser_context["request"])
        return super().parse(stream, media_type, parser_context)


PARSERS = (FileForm, RawFile, RawWorkbook)


def check_length(request: Request) -> None:
    """Raises PayloadTooLarge before anything is read. A body without a length has the limit of all other requests."""
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    most = MAX_LARGE_BYTES + FORM_BYTES
    if "HTTP_TRANSFER_ENCODING" in request.META:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0
    if length > most:
        raise PayloadTooLarge


def file_of(request: Request) -> tuple[IO[bytes], int, str]:
    """The file, its size and its name. Raises Invalid without one."""
    sent: Any = request.data
    result = sent.get(NAME) if sent else None
    if isinstance(result, str) or result is None:
        raise Invalid(
            _("Send a CSV or XLSX file as the body, or in the field “file” of a form."), details={"field": NAME}
        )
    if isinstance(result, SpooledTemporaryFile):
        size = result.seek(0, 2)
        result.seek(0)
        return result, size, request.query_params.get("name", "")
    return result.file, result.size, result.name
