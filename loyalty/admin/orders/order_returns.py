"""Page: returned orders and the points they reversed. Read-only, because shops report them."""

from typing import ClassVar

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from core.numbers import format_number
from loyalty.models.orders import OrderReturn
from portal.base.badges import badge_column
from portal.base.sidebar import CUSTOMERS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import ChoicesFilter, display

COLOURS = {"waiting": "info", "applied": "success", "rejected": "danger"}


@admin.register(OrderReturn)
class OrderReturnAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(CUSTOMERS, 11, "assignment_return", tab=False)
    customer_path = "user"
    list_display = ("order_id", "user", "state", "amount", "points", "created_at")
    list_filter = (("status", ChoicesFilter), ("kind", ChoicesFilter))
    list_select_related = ("user",)
    search_fields = ("order_id__exact",)
    search_help_text = _("An order id, or parts of a customer's name or e-mail address.")
    fields = (
        ("order_id", "return_id"),
        ("user", "kind", "state"),
        ("amount", "points_reversed", "points_cancelled"),
        ("created_at", "applied_at"),
    )

    state = badge_column("status", COLOURS, description=_("status"), ordering="status")

    @display(description=_("points taken back"))
    def points(self, row: OrderReturn) -> str:
        return format_number(row.points_reversed + row.points_cancelled)
