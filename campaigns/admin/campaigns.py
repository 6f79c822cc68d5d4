"""Page: a campaign with its milestones."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from brands.lists import ChoicesFilter
from brands.portal import TenantAdmin, TenantInline
from campaigns.models import Campaign, Milestone, RewardClaim


class Milestones(TenantInline):
    model = Milestone
    fields = ("threshold", "reward_name", "reward_points", "auto_claim")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A reward that somebody holds cannot be taken away with its milestone."""
        if not super().has_delete_permission(request, obj):
            return False
        return obj is None or not RewardClaim.objects.filter(milestone__campaign=obj).exists()


@admin.register(Campaign)
class CampaignPage(TenantAdmin):
    list_display = ("campaign_name", "type", "target_value", "is_active", "starts_at", "ends_at")
    list_filter = (("type", ChoicesFilter), "is_active")
    search_fields = ("campaign_name",)
    fieldsets = (
        (None, {"fields": ("brand", "campaign_name", ("type", "target_value"), "starts_at", "ends_at", "is_active")}),
    )
    inlines = (Milestones,)
