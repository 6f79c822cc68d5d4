"""Page: attempts at codes and passwords that the limits stopped at a brand, hour by hour."""

from django.contrib import admin

from brands.models.quotas import StoppedAttempts
from portal.base.tenant_admin import TenantAdmin
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter


@admin.register(StoppedAttempts)
class StoppedAttemptsAdmin(TenantAdmin):
    list_display = ("hour", "kind", "number")
    list_filter = (("kind", ChoicesFilter), ("hour", DayFilter))
    fields = (("brand", "kind"), ("hour", "number"))
