"""Page: what a brand counts other currencies for."""

from django.contrib import admin

from loyalty.models.orders import CurrencyRate
from portal.base.tenant_admin import TenantAdmin


@admin.register(CurrencyRate)
class CurrencyRateAdmin(TenantAdmin):
    list_display = ("currency", "rate")
    search_fields = ("currency",)
    fieldsets = ((None, {"fields": ("brand", ("currency", "rate"))}),)
