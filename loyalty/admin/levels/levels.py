"""Page: a brand's levels."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from loyalty.admin.ceiling import CeilingAdmin
from loyalty.admin.levels.periods import LevelPeriods
from loyalty.admin.resources import LevelResource
from loyalty.models.levels import BrandLevel
from portal.base.forms import TenantForm
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.import_export.importable import ImportingAdmin
from portal.mixins.translations import TranslationsAdmin, translated_form


@admin.register(BrandLevel)
class LevelAdmin(LevelPeriods, ImportingAdmin, TranslationsAdmin, CeilingAdmin):
    role_permissions: ClassVar = {"owner": "view add change delete", "manager": "view add change", "support": "view"}
    sidebar = SidebarEntry(PROGRAMME, 3, "military_tech")
    resource = LevelResource
    form = translated_form(TenantForm, BrandLevel)
    points_fields = ("scan_reward_value",)
    reward_type_field = "scan_reward_type"
    list_display = ("name", "threshold", "scan_reward_type", "scan_reward_value")
    search_fields = ("name",)
    fieldsets = (
        (None, {"fields": ("brand", ("name", "threshold"), ("scan_reward_type", "scan_reward_value"), "benefits")}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Accounts store their level by name, so renaming a level would drop its members to the lowest level."""
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "name"] if obj else fields
