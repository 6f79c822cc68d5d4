"""Page: changes to codes, by whom and why. Read-only: only history.py writes them."""

from typing import ClassVar

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from authcodes.models.code_history import CodeChange
from portal.base.badges import badge
from portal.base.sidebar import PRODUCTS_AND_CODES, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists.field_column import attribute_column
from portal.lists.filters import DayFilter, OwnRowsFilter
from portal.unfold import ChoicesFilter, display

COLOURS = {
    "generated": "",
    "assigned": "success",
    "unassigned": "warning",
    "imported": "success",
    "import_undone": "warning",
    "deactivated": "danger",
    "reactivated": "success",
    "recalled": "danger",
    "recall_withdrawn": "success",
    "edited": "info",
    "printed": "",
    "delivered": "success",
    "delivery_undone": "warning",
}


def kind_badge(change: CodeChange) -> SafeString:
    return badge(COLOURS[change.kind], change.get_kind_display())


@admin.register(CodeChange)
class CodeChangeAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "printer": "view", "support": "view"}
    sidebar = SidebarEntry(PRODUCTS_AND_CODES, 5, "history", tab=False)
    list_display = ("changed_at", "what", "run", "codes", "product", "batch", "changed_by", "reason")
    list_filter = (("kind", ChoicesFilter), ("changed_at", DayFilter), ("batch", OwnRowsFilter))
    list_select_related = ("product", "batch", "changed_by")
    pages_by_key = True
    search_fields = ("first_code__startswith",)
    search_help_text = _("Start of the first code.")
    fieldsets = (
        (None, {"fields": (("what", "changed_at"), ("batch", "codes"), ("first_code", "last_code"), "product")}),
        (_("Why"), {"fields": (("changed_by", "upload"), "reason", "detail")}),
    )

    @display(description=_("what"), ordering="kind")
    def what(self, change: CodeChange) -> SafeString:
        return kind_badge(change)

    run = attribute_column("run", description=_("codes"), ordering="first_code")
