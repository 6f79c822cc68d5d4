"""Page: withdrawn recalls, with their messages and the reasons for the withdrawal. Read-only."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from authcodes.models.recalls import RecallReturn, WithdrawnRecall
from portal.base.sidebar import SCANS_AND_SAFETY, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists.filters import DayFilter
from portal.unfold import display


@admin.register(WithdrawnRecall)
class WithdrawnRecallAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "printer": "view", "support": "view"}
    sidebar = SidebarEntry(SCANS_AND_SAFETY, 4, "undo", tab=False)
    list_display = ("recall_id", "its_batches", "withdrawal_reason", "recalled_at", "withdrawn_at", "withdrawn_by")
    list_filter = (("withdrawn_at", DayFilter),)
    list_select_related = ("withdrawn_by",)
    search_fields = ("recall_id", "batches__batch__range_name")
    search_help_text = _("A recall number, or part of the batch's name.")
    readonly_fields = ("its_batches", "returned")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("its_batches", "recall_id"),
                    "contact",
                    "message",
                    "reason",
                    ("recalled_at", "recalled_by"),
                    "returned",
                )
            },
        ),
        (_("Withdrawn"), {"fields": ("withdrawal_reason", ("withdrawn_at", "withdrawn_by"))}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).prefetch_related("batches__batch")

    @display(description=_("batches"))
    def its_batches(self, recall: WithdrawnRecall) -> str:
        return ", ".join(
            f"{each.batch} ({each.recalled_from} … {each.recalled_to})" if each.recalled_to else str(each.batch)
            for each in recall.batches.all()
        )

    @display(description=_("returned pieces"))
    def returned(self, recall: WithdrawnRecall) -> int:
        rows = RecallReturn.objects.filter(brand=recall.brand_id, recall=recall.former_id)
        return int(rows.aggregate(pieces=Sum("pieces"))["pieces"] or 0) if recall.former_id else 0
