"""Page: a brand's levels."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from loyalty.admin.ceiling import CeilingAdmin
from loyalty.models.levels import BrandLevel
from portal.base.sidebar import PROGRAMME, SidebarEntry


@admin.register(BrandLevel)
class LevelAdmin(CeilingAdmin):
    role_permissions: ClassVar = {"owner": "view add change delete", "manager": "view add change", "support": "view"}
    sidebar = SidebarEntry(PROGRAMME, 2, "military_tech")
    points_fields = ("scan_reward_value",)
    reward_type_field = "scan_reward_type"
    list_display = ("name", "threshold", "scan_reward_type", "scan_reward_value")
    search_fields = ("name",)
    fieldsets = ((None, {"fields": ("brand", ("name", "threshold"), ("scan_reward_type", "scan_reward_value"))}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Customers hold their level by its name: under a new one they would fall to the lowest."""
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "name"] if obj else fields
