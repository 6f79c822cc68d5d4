"""Lists: their filters and their pages."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework.views import APIView

from core.api.filters import TenantFilterSet
from core.api.pagination import Page, paged


class ListView(APIView):
    """A view that returns a page of rows. Its method passes the rows to `page_of`, and the page to a serializer."""

    filterset_class: ClassVar[type[TenantFilterSet] | None] = None
    ordering: ClassVar[tuple[str, ...]]
    page_class: ClassVar[type[Page]] = Page

    def page_of(self, rows: QuerySet[Any]) -> dict[str, Any]:
        """The requested page of `rows`, and its `pagination`. Raises Invalid."""
        if self.filterset_class:
            rows = self.filterset_class.of(self.request, rows).qs
        result, pagination = paged(self.request, rows, order=self.ordering, view=self, page=self.page_class())
        return {"rows": result, "pagination": pagination}
