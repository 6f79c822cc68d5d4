"""Page: attempts at codes and passwords that the limits stopped at a brand, hour by hour."""

from typing import ClassVar

from django.contrib import admin

from brands.models.quotas import StoppedAttempts
from portal.base.sidebar import SCANS_AND_SAFETY, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter


@admin.register(StoppedAttempts)
class StoppedAttemptsAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view"}
    sidebar = SidebarEntry(SCANS_AND_SAFETY, 5, "gpp_maybe", tab=False)
    list_display = ("hour", "kind", "number")
    list_filter = (("kind", ChoicesFilter), ("hour", DayFilter))
    fields = (("brand", "kind"), ("hour", "number"))
