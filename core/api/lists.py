"""Lists: their filters and their pages."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework.views import APIView

from core.api.filters import TenantFilterSet
from core.api.pagination import paged


class ListView(APIView):
    """A view that returns a page of rows. Its method passes the rows to `page_of`, and the page to a serializer."""

    filterset_class: ClassVar[type[TenantFilterSet]]
    ordering: ClassVar[tuple[str, ...]]

    def page_of(self, rows: QuerySet[Any]) -> dict[str, Any]:
        """The requested page of `rows`, and its `pagination`. Raises Invalid."""
        filtered = self.filterset_class.of(self.request, rows).qs
        result, pagination = paged(self.request, filtered, order=self.ordering, view=self)
        return {"rows": result, "pagination": pagination}
