"""Pages: what a brand gives for referrals, and the referrals it has."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.numbers import format_number, grouped
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from portal.base.badges import badge
from portal.base.forms import TenantForm
from portal.base.sidebar import CUSTOMERS, PROGRAMME, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.import_export.exportable import ExportingAdmin
from portal.lists.field_column import attribute_column
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter, display

COLOURS = {"waiting": "info", "rewarded": "success", "rejected": "danger", "lapsed": "", "reversed": "warning"}
POINTS = ("referrer_points", "friend_points")


class ReferralProgrammeForm(TenantForm):
    """A referral may not give more points than a scan."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        brand = cleaned.get("brand") or getattr(self.instance, "brand", None)
        most = brand.max_points_per_scan if brand else None
        for name in POINTS:
            if most is not None and (cleaned.get(name) or 0) > most:
                message = _("At most %(most)s points, as for a scan. The operator can raise this limit.")
                self.add_error(name, message % {"most": grouped(most)})
        return cleaned


@admin.register(ReferralProgramme)
class ReferralProgrammeAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view add change", "manager": "view add change", "support": "view"}
    sidebar = SidebarEntry(PROGRAMME, 7, "group_add", tab=False)
    form = ReferralProgrammeForm
    list_display = ("brand", "state", "referrer_points", "friend_points", "action", "spent")
    list_select_related = ("brand",)
    fieldsets = (
        (None, {"fields": ("brand", "is_active", POINTS, "action")}),
        (
            gettext_lazy("At most"),
            {"fields": (("monthly_limit", "total_limit"), ("budget", "spent"))},
        ),
        (gettext_lazy("Time"), {"fields": (("days_for_code", "days_for_action"),)}),
    )
    readonly_fields = ("spent",)

    @display(description=gettext_lazy("state"))
    def state(self, programme: ReferralProgramme) -> SafeString:
        return badge("success", _("Active")) if programme.is_active else badge("", _("Off"))

    @display(description=gettext_lazy("points rewarded"))
    def spent(self, programme: ReferralProgramme) -> str:
        """The points given so far, out of the budget if there is one."""
        if programme.pk is None:
            return "-"
        number = format_number(programme.points_rewarded)
        return number if programme.budget is None else f"{number} / {format_number(programme.budget)}"


@admin.register(Referral)
class ReferralAdmin(ExportingAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(CUSTOMERS, 10, "group_add", tab=False)
    export_kind = "export-referrals"
    customer_path = "referrer__user"
    pages_by_key = True
    list_display = ("created_at", "referred_by", "joined", "status", "why_text", "points")
    list_filter = (("state", ChoicesFilter), ("why", ChoicesFilter), ("created_at", DayFilter))
    list_select_related = ("referrer__user", "friend__user")
    search_help_text = gettext_lazy("Parts of the name or e-mail address of either member.")
    search_fields = ("referrer__user__email__startswith",)
    fields = (
        "brand",
        ("referred_by", "joined"),
        ("status", "why_text"),
        ("referrer_points", "friend_points"),
        "action",
        ("created_at", "rewarded_at", "decided_at"),
    )

    referred_by = attribute_column("referrer.user", description=gettext_lazy("member"))
    joined = attribute_column("friend.user", description=gettext_lazy("friend"))

    @display(description=gettext_lazy("state"), ordering="state")
    def status(self, row: Referral) -> SafeString:
        return state_of(row)

    @display(description=gettext_lazy("why"), ordering="why")
    def why_text(self, row: Referral) -> str:
        return row.get_why_display()

    @display(description=gettext_lazy("points"))
    def points(self, row: Referral) -> str:
        """The points of the member and of the friend."""
        return points_of(row) or "-"

    def customer_condition(self, customers: Any) -> Q:
        """Searches both sides."""
        return Q(referrer__user__in=customers) | Q(friend__user__in=customers)


def state_of(row: Referral) -> SafeString:
    return badge(COLOURS[row.state], row.get_state_display())


def points_of(row: Referral) -> str:
    if not row.rewarded_at:
        return ""
    return f"{format_number(row.referrer_points)} + {format_number(row.friend_points)}"


def line_of(row: Referral, accounts: Sequence[int]) -> str:
    """The line on the page of one side, for the member who has these accounts."""
    if row.referrer_id in accounts:
        return _("Referred %(friend)s") % {"friend": row.friend.user}
    return _("Referred by %(member)s") % {"member": row.referrer.user}
