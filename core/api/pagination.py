"""Pages of a list, newest first, with an opaque cursor, so that page 10,000 costs as much as page 1."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.core.exceptions import ValidationError
from django.db import DataError
from django.db.models import Field, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.exceptions import NotFound as HttpNotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.views import APIView

from core import languages
from core.api.outputs import Output
from core.errors import Invalid


class Page(CursorPagination):
    """`?limit=` (default 50, at most 200) and `?cursor=`, as the previous page returned it."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    field: "Field[Any, Any]"  # the field whose values are positions

    def get_page_size(self, request: Request) -> int:
        requested = request.query_params.get("limit")
        if requested is None:
            return self.page_size
        if not (
            requested.isascii()
            and requested.isdigit()
            and len(requested) < 10
            and 1 <= int(requested) <= self.max_page_size
        ):
            message = languages.filled("limit must be a whole number from 1 to %(most)d.", most=self.max_page_size)
            raise Invalid(message, details={"field": "limit"})
        return int(requested)

    def decode_cursor(self, request: Request) -> Any:
        """The position at which the page begins; None for the first page. Raises ValueError for an invalid cursor."""
        result = super().decode_cursor(request) if request.query_params.get(self.cursor_query_param) else None
        if result is None:
            return None
        value = self.field.to_python(result.position)
        if result.reverse or (value is None and not result.offset):
            raise ValueError(result)
        if isinstance(value, datetime) and value.utcoffset() != timedelta(0):  # PostgreSQL ends at the year 9999 in UTC
            raise ValueError(result)
        if value is not None:
            self.field.run_validators(value)
        return result

    def next_cursor(self) -> str | None:
        """The cursor of the next page, or None on the last one."""
        link = self.get_next_link()
        return parse_qs(urlsplit(link).query)["cursor"][-1] if link else None


def paged(
    request: Request, rows: QuerySet[Any], *, order: tuple[str, ...], view: APIView, page: Page | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """The rows of the requested page, and `{limit, next, has_more}`."""
    page = page or Page()
    page.ordering = order
    page.field = rows.model._meta.get_field(order[0].removeprefix("-"))
    try:
        result = page.paginate_queryset(rows, request, view=view) or []
    except (ValueError, OverflowError, ValidationError, DataError, HttpNotFound) as error:
        raise Invalid(_("The cursor is not one that this list gave."), details={"field": "cursor"}) from error
    following = page.next_cursor()
    return list(result), {"limit": page.get_page_size(request), "next": following, "has_more": following is not None}


def page_parameters(page: type[Page] = Page) -> list[OpenApiParameter]:
    """The query parameters of a paginated list."""
    limit = {"type": "integer", "minimum": 1, "maximum": page.max_page_size, "default": page.page_size}
    return [
        OpenApiParameter("limit", limit, description="Rows per page."),
        OpenApiParameter("cursor", str, description="`pagination.next` of the previous page; opaque."),
    ]


class PaginationOutput(Output):
    limit = serializers.IntegerField(help_text="Rows per page.")
    next = serializers.CharField(allow_null=True, help_text="The `cursor` of the next page; null on the last one.")
    has_more = serializers.BooleanField()
