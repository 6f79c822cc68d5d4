"""Page: how members' levels changed, where levels have periods. For reading."""

from typing import Any, ClassVar

from django.contrib import admin
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.models.levels import LevelChange
from portal.base import customer_panels
from portal.base.customer_panels import Line, Panel
from portal.base.sidebar import MEMBERS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists import local_time
from portal.lists.filters import DayFilter
from portal.lists.number_columns import format_points
from portal.unfold import ChoicesFilter, display


@admin.register(LevelChange)
class LevelChangeAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(MEMBERS, 5, "military_tech")
    customer_path = "user_point__user"
    pages_by_key = True
    list_display = ("created_at", "member", "before", "after", "reason", "points", "level_until")
    list_filter = (("reason", ChoicesFilter), ("created_at", DayFilter))
    list_select_related = ("user_point__user",)
    search_help_text = _("Parts of a member's name or e-mail address.")
    search_fields = ("user_point__user__email__startswith",)
    fields = ("brand", "member", ("before", "after"), ("reason", "points"), ("level_until", "created_at"))

    @display(description=_("member"))
    def member(self, change: LevelChange) -> Any:
        return change.user_point.user

    @display(description=_("from"))
    def before(self, change: LevelChange) -> str:
        return change.level_before or gettext("No level")

    @display(description=_("to"))
    def after(self, change: LevelChange) -> str:
        return change.level_after or gettext("No level")


def panel(customer: User, brand: Brand) -> Panel:
    """How a customer's level changed at a brand, last first."""
    account = UserPoints.objects.filter(user=customer, brand=brand).first()
    rows = LevelChange.objects.filter(user_point=account).order_by("-id")[: customer_panels.MOST] if account else []
    return Panel(
        gettext("Levels"),
        [
            Line(
                local_time.display_moment(row.created_at, brand.zone),
                row.get_reason_display(),
                " > ".join(dict.fromkeys(each or gettext("No level") for each in (row.level_before, row.level_after))),
                detail_of(row),
                customer_panels.address_of(row),
            )
            for row in rows
        ],
        gettext("No changes of a level that ends."),
        customer_panels.list_of(LevelChange, customer),
    )


def detail_of(row: LevelChange) -> str:
    parts = [format_points(row.points)]
    if row.level_until:
        parts.append(gettext("until %(day)s") % {"day": date_format(row.level_until, "DATE_FORMAT")})
    return " · ".join(parts)
