"""Page: the rates at which a brand converts other currencies."""

from typing import ClassVar

from django.contrib import admin

from loyalty.models.orders import CurrencyRate
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.base.tenant_admin import TenantAdmin


@admin.register(CurrencyRate)
class CurrencyRateAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view add change delete", "manager": "view add change delete"}
    sidebar = SidebarEntry(PROGRAMME, 11, "currency_exchange", tab=False)
    list_display = ("currency", "rate")
    search_fields = ("currency",)
    fieldsets = ((None, {"fields": ("brand", ("currency", "rate"))}),)
