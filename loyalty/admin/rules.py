"""Page: what orders, profile changes and logins earn."""

from django.contrib import admin

from brands.lists import ChoicesFilter
from brands.portal import TenantAdmin
from loyalty.models import EarningRule


@admin.register(EarningRule)
class EarningRulePage(TenantAdmin):
    list_display = ("kind", "reward_type", "reward_value", "is_active")
    list_filter = (("kind", ChoicesFilter), "is_active")
    fieldsets = ((None, {"fields": ("brand", ("kind", "is_active"), ("reward_type", "reward_value"))}),)
