"""Page: batches called back. A recall is made once and not taken back."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from authcodes import batches
from authcodes.models import Recall
from brands.lists import OwnRowsFilter
from brands.portal import TenantAdmin, person


@admin.register(Recall)
class RecallPage(TenantAdmin):
    brand_path = "batch__brand"
    list_display = ("recall_id", "batch", "contact", "recalled_at", "recalled_by")
    list_filter = (("batch__product", OwnRowsFilter),)
    list_select_related = ("batch", "recalled_by")
    search_fields = ("recall_id", "batch__range_name")
    autocomplete_fields = ("batch",)
    readonly_fields = ("recalled_at", "recalled_by")
    fieldsets = (
        (None, {"fields": (("batch", "recall_id"), "contact", "message", "reason")}),
        (_("History"), {"fields": (("recalled_at", "recalled_by"),)}),
    )
    add_fieldsets = fieldsets[:1]

    def create(self, request: HttpRequest, obj: Recall, form: Any) -> Recall:
        told = {name: form.cleaned_data[name] for name in ("recall_id", "contact", "message", "reason")}
        return batches.recall_batch(batch=obj.batch, at=timezone.now(), by=person(request), **told)
