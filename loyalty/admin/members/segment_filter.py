"""Filter of the list of members by segment. Exports of the list have it too."""

from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from loyalty.models.accounts import UserPoints
from loyalty.models.programme.segments import Segment, SegmentMember
from portal.lists.filters import BrandsFilter, DropdownFilter

MAX_OFFERED = 500


class SegmentFilter(BrandsFilter, DropdownFilter):
    """The members of a segment at its last evaluation. Another brand's segment counts as non-existent."""

    title = gettext_lazy("segment")
    parameter_name = "segment"

    def lookups(self, request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        rows = Segment.objects.filter(brand__in=self.page.brands_seen(request)).order_by("name", "pk")
        return [(str(pk), name) for pk, name in rows.values_list("pk", "name")[:MAX_OFFERED]]

    def has_output(self) -> bool:
        """Active for any segment in the URL, even if the brand has none. Otherwise the list would be unfiltered."""
        return bool(self.lookup_choices) or self.value() is not None

    def queryset(self, _request: HttpRequest, queryset: QuerySet[UserPoints]) -> QuerySet[UserPoints]:
        value = self.value()
        if not value:
            return queryset
        if value not in dict(self.lookup_choices):
            raise IncorrectLookupParameters
        return queryset.filter(pk__in=SegmentMember.objects.filter(segment=int(value)).values("account"))
