"""Page: transfers of points between members. Read-only, because the ledger has both sides."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from loyalty.models.ledger import PointTransfer
from portal.base.sidebar import CUSTOMERS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists.field_column import attribute_column
from portal.lists.filters import DayFilter


@admin.register(PointTransfer)
class PointTransferAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(CUSTOMERS, 9, "swap_horiz", tab=False)
    customer_path = "sender__user"
    pages_by_key = True
    list_display = ("created_at", "sent_by", "received_by", "points")
    list_filter = (("created_at", DayFilter),)
    list_select_related = ("sender__user", "receiver__user")
    search_help_text = _("Parts of the name or e-mail address of either member.")
    search_fields = ("sender__user__email__startswith",)
    fields = ("brand", ("sent_by", "received_by"), ("points", "balance_after"), "created_at")

    sent_by = attribute_column("sender.user", description=_("sender"))
    received_by = attribute_column("receiver.user", description=_("receiver"))

    def customer_condition(self, customers: Any) -> Q:
        """Searches both sides."""
        return Q(sender__user__in=customers) | Q(receiver__user__in=customers)
