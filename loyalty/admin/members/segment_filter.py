"""The filter of the members' list by segment; exports of the list have it too."""

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
    """Members of a segment as it was evaluated last. Another brand's segment is refused as one that is not there."""

    title = gettext_lazy("segment")
    parameter_name = "segment"

    def lookups(self, request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        rows = Segment.objects.filter(brand__in=self.page.brands_seen(request)).order_by("name", "pk")
        return [(str(pk), name) for pk, name in rows.values_list("pk", "name")[:MAX_OFFERED]]

    def has_output(self) -> bool:
        """A segment in the address is refused, too, where the brand has none: the list is never answered unfiltered."""
        return bool(self.lookup_choices) or self.value() is not None

    def queryset(self, _request: HttpRequest, queryset: QuerySet[UserPoints]) -> QuerySet[UserPoints]:
        value = self.value()
        if not value:
            return queryset
        if value not in dict(self.lookup_choices):
            raise IncorrectLookupParameters
        return queryset.filter(pk__in=SegmentMember.objects.filter(segment=int(value)).values("account"))
