"""Page: attempts at codes and passwords that the limits stopped at a brand, hour by hour."""

from django.contrib import admin

from brands.lists import ChoicesFilter, DayFilter
from brands.models import StoppedAttempts
from brands.portal import TenantAdmin


@admin.register(StoppedAttempts)
class StoppedAttemptsPage(TenantAdmin):
    list_display = ("hour", "kind", "number")
    list_filter = (("kind", ChoicesFilter), ("hour", DayFilter))
    fields = (("brand", "kind"), ("hour", "number"))
