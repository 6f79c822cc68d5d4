"""Pages of a list: newest first, by an opaque cursor, so that page 10,000 costs what page 1 does."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError
from django.db.models import QuerySet
from rest_framework.exceptions import NotFound as HttpNotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.views import APIView

from brands.refusals import Invalid


class Page(CursorPagination):
    """`?limit=` (default 50, at most 200) and `?cursor=` as the page before named it."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"

    def get_page_size(self, request: Request) -> int:
        asked = request.query_params.get("limit")
        if asked is None:
            return self.page_size
        if not (asked.isascii() and asked.isdigit() and 1 <= int(asked[:9]) <= self.max_page_size):
            raise Invalid(f"limit must be a whole number from 1 to {self.max_page_size}.", details={"field": "limit"})
        return int(asked)

    def next_cursor(self) -> str | None:
        """The cursor of the next page, or None on the last one."""
        link = self.get_next_link()
        return link.partition("cursor=")[2].partition("&")[0] if link else None


def paged(
    request: Request, rows: QuerySet[Any], *, order: tuple[str, ...], view: APIView, page: Page | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """The rows of the page that `request` asks for, and `{limit, next, has_more}`."""
    page = page or Page()
    page.ordering = order
    try:
        found = page.paginate_queryset(rows, request, view=view) or []
    except (ValueError, OverflowError, ValidationError, DataError, HttpNotFound) as error:
        raise Invalid("The cursor is not one that this list gave.", details={"field": "cursor"}) from error
    following = page.next_cursor()
    return list(found), {"limit": page.get_page_size(request), "next": following, "has_more": following is not None}
