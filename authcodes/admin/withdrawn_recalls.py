"""Page: recalls that were lifted, with what was said and why they were taken back. For reading."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from authcodes.models.recalls import LiftedRecall
from portal.base.tenant_admin import TenantAdmin
from portal.lists.filters import DayFilter, OwnRowsFilter


@admin.register(LiftedRecall)
class WithdrawnRecallAdmin(TenantAdmin):
    brand_path = "batch__brand"
    list_display = ("recall_id", "batch", "lift_reason", "recalled_at", "lifted_at", "lifted_by")
    list_filter = (("batch__product", OwnRowsFilter), ("lifted_at", DayFilter))
    list_select_related = ("batch", "lifted_by")
    search_fields = ("recall_id", "batch__range_name")
    search_help_text = _("A recall id, or a part of the batch's name.")
    fieldsets = (
        (None, {"fields": (("batch", "recall_id"), "contact", "message", "reason", ("recalled_at", "recalled_by"))}),
        (_("Lifted"), {"fields": ("lift_reason", ("lifted_at", "lifted_by"))}),
    )
