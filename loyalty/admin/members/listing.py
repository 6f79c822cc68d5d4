"""The list of members: its columns and sort keys."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from core.numbers import format_number
from loyalty.admin.member_page import header
from loyalty.admin.member_page.header import COLOURS, LISTING
from loyalty.admin.members.level_filter import LevelFilter
from loyalty.admin.members.segment_filter import SegmentFilter
from loyalty.models.accounts import UserPoints
from portal.base.badges import badge_column
from portal.lists import local_time
from portal.lists.field_column import attribute_column
from portal.lists.filters import DayFilter
from portal.mixins.chosen_columns import ColumnChoiceMixin
from portal.unfold import ChoicesFilter, display


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
