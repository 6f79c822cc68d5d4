"""Page: recalls that were withdrawn, with what was said and why they were taken back. For reading."""

from typing import ClassVar

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from authcodes.models.recalls import WithdrawnRecall
from portal.base.sidebar import SCANS_AND_SAFETY, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists.filters import DayFilter, OwnRowsFilter


@admin.register(WithdrawnRecall)
class WithdrawnRecallAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "printer": "view", "support": "view"}
    sidebar = SidebarEntry(SCANS_AND_SAFETY, 4, "undo", tab=False)
    brand_path = "batch__brand"
    list_display = ("recall_id", "batch", "withdrawal_reason", "recalled_at", "withdrawn_at", "withdrawn_by")
    list_filter = (("batch__product", OwnRowsFilter), ("withdrawn_at", DayFilter))
    list_select_related = ("batch", "withdrawn_by")
    search_fields = ("recall_id", "batch__range_name")
    search_help_text = _("A recall id, or part of the batch's name.")
    fieldsets = (
        (None, {"fields": (("batch", "recall_id"), "contact", "message", "reason", ("recalled_at", "recalled_by"))}),
        (_("Withdrawn"), {"fields": ("withdrawal_reason", ("withdrawn_at", "withdrawn_by"))}),
    )
