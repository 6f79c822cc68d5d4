"""Page: a brand's catalogue of rewards. A corrected stock stands in the audit trail like every other change."""

from django.contrib import admin

from brands.portal import TenantAdmin
from loyalty.models import Reward


@admin.register(Reward)
class RewardPage(TenantAdmin):
    list_display = ("name", "cost", "stock", "minimum_level", "is_active", "valid_from", "valid_until")
    list_filter = ("is_active",)
    list_select_related = ("minimum_level",)
    search_fields = ("name",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "brand",
                    "name",
                    "description",
                    ("cost", "stock"),
                    ("minimum_level", "limit_per_member"),
                    "valid_from",
                    "valid_until",
                    ("code_days", "is_active"),
                )
            },
        ),
    )
