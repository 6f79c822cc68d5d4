"""The list of members: its columns, sort keys and filters, which its exports have too."""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from brands.models.tenants import Brand
from core.numbers import format_number
from loyalty.admin.member_page import header
from loyalty.admin.member_page.header import COLOURS, LISTING
from loyalty.models.accounts import UserPoints
from loyalty.models.programme.segments import Segment, SegmentMember
from portal.base.badges import badge_column
from portal.lists import local_time
from portal.lists.field_column import attribute_column
from portal.lists.filters import BrandsFilter, DayFilter, TextFilter
from portal.mixins.chosen_columns import ColumnChoiceMixin
from portal.unfold import ChoicesFilter, DropdownFilter, display

MAX_SEGMENTS_OFFERED = 500


class LevelFilter(TextFilter):
    """By the name of a level. A hyphen finds members without a level."""

    title = gettext_lazy("level")
    parameter_name = "level"

    def condition(self, value: str, brands: Sequence[Brand]) -> Q:
        return Q(current_level="" if value == "-" else value)


class SegmentFilter(BrandsFilter, DropdownFilter):
    """The members of a segment at its last evaluation. Another brand's segment counts as non-existent."""

    title = gettext_lazy("segment")
    parameter_name = "segment"

    def lookups(self, request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        rows = Segment.objects.filter(brand__in=self.page.brands_seen(request)).order_by("name", "pk")
        return [(str(pk), name) for pk, name in rows.values_list("pk", "name")[:MAX_SEGMENTS_OFFERED]]

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


class MemberList(ColumnChoiceMixin):
    """The columns show the account itself. The sort keys lag up to a minute behind."""

    pages_by_key = True
    list_display = ("name", "email", "current_level", "balance", "spent", "last_seen", "joined", "state")
    columns_on_offer = ("points_earned", "points_expired", "points_pending", "points_owed", "external_id")
    sortable_by = ("name", "email", "balance", "spent", "last_seen", "joined")
    list_filter = (("status", ChoicesFilter), LevelFilter, SegmentFilter, ("enrolled_at", DayFilter))
    list_select_related = ("user", "brand")

    def with_sort_keys(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Filters the sort keys by brand too, because their indexes begin with the brand."""
        brand_ids = [brand.pk for brand in self.brands_seen(request)]
        return rows.filter(listing__brand__in=brand_ids).select_related(LISTING)

    def with_related(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        result: QuerySet[Any] = rows.select_related("user", "brand", LISTING)
        return result

    name = attribute_column("display_name", description=gettext_lazy("name"), ordering="listing__name")
    email = attribute_column("user.email", description=gettext_lazy("e-mail address"), ordering="listing__email")

    @display(description=gettext_lazy("balance"), ordering="listing__points")
    def balance(self, member: UserPoints) -> str:
        return format_number(member.points)

    @display(description=gettext_lazy("spent"), ordering="listing__spent")
    def spent(self, member: UserPoints) -> str:
        return format_number(member.redeemed)

    @display(description=gettext_lazy("last seen"), ordering="listing__last_seen_at")
    def last_seen(self, member: UserPoints) -> SafeString | str:
        return header.last_seen(member)

    @display(description=gettext_lazy("joined"), ordering="pk")
    def joined(self, member: UserPoints) -> SafeString:
        return local_time.display_moment(member.enrolled_at, member.brand.zone)

    state = badge_column("status", COLOURS, description=gettext_lazy("status"), ordering="status")
