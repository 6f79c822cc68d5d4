"""Page: what a brand counts other currencies for."""

from django.contrib import admin

from brands.portal import TenantAdmin
from loyalty.models import CurrencyRate


@admin.register(CurrencyRate)
class CurrencyRatePage(TenantAdmin):
    list_display = ("currency", "rate")
    search_fields = ("currency",)
    fieldsets = ((None, {"fields": ("brand", ("currency", "rate"))}),)
