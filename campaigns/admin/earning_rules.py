"""Page: what orders, profile changes and logins earn."""

from django.contrib import admin

from campaigns.models.earning_rules import EarningRule
from loyalty.admin.ceiling import CeilingAdmin
from portal.unfold import ChoicesFilter


@admin.register(EarningRule)
class EarningRuleAdmin(CeilingAdmin):
    points_fields = ("reward_value",)
    reward_type_field = "reward_type"
    list_display = ("kind", "reward_type", "reward_value", "is_active")
    list_filter = (("kind", ChoicesFilter), "is_active")
    fieldsets = ((None, {"fields": ("brand", ("kind", "is_active"), ("reward_type", "reward_value"))}),)
