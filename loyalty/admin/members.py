"""Page: a brand's members. Their numbers are the ledger's; staff may block a member, and let them in again."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.lists import ChoicesFilter, DayFilter
from brands.portal import TenantAdmin, badge
from brands.unfolded import display
from loyalty import members
from loyalty.models import UserPoints

COLOURS = {"active": "success", "blocked": "danger"}


@admin.register(UserPoints)
class MemberPage(TenantAdmin):
    customer_path = "user"
    list_display = ("user", "points", "points_earned", "points_redeemed", "current_level", "state", "enrolled_at")
    list_filter = (("status", ChoicesFilter), ("enrolled_at", DayFilter))
    list_select_related = ("user",)
    search_fields = ("user__email__startswith", "user__first_name__istartswith", "user__last_name__istartswith")
    search_help_text = gettext_lazy("E-mail address, or the beginning of a name.")
    fieldsets = (
        (None, {"fields": (("user", "brand"), ("state", "current_level"))}),
        (gettext_lazy("Points"), {"fields": (("points", "points_earned"), ("points_redeemed", "points_expired"))}),
        (gettext_lazy("History"), {"fields": (("enrolled_at", "updated_at"),)}),
    )
    actions = ("block", "unblock")

    @display(description=gettext_lazy("status"), ordering="status")
    def state(self, member: UserPoints) -> SafeString:
        return badge(COLOURS[member.status], member.get_status_display())

    @admin.action(description=gettext_lazy("Block: earn and redeem nothing"), permissions=["act"])
    def block(self, request: HttpRequest, queryset: QuerySet[UserPoints]) -> None:
        self.switch(request, queryset, UserPoints.Status.BLOCKED, _("Blocked"))

    @admin.action(description=gettext_lazy("Unblock"), permissions=["act"])
    def unblock(self, request: HttpRequest, queryset: QuerySet[UserPoints]) -> None:
        self.switch(request, queryset, UserPoints.Status.ACTIVE, _("Unblocked"))

    def switch(
        self, request: HttpRequest, queryset: QuerySet[UserPoints], status: UserPoints.Status, what: str
    ) -> None:
        accounts = self.chosen(request, queryset)
        self.report(request, members.set_status(accounts=accounts, status=status, at=timezone.now()), what)
