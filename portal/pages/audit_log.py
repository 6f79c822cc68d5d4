"""Page: the audit log, read-only: who did what to which row, with the values before and after."""

from typing import Any, ClassVar

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from brands import audit_log
from brands.models.audit import AuditLogEntry
from portal.base.links import admin_address, link
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.lists.filters import DayFilter, OwnRowsFilter, ValuesFilter
from portal.shell.navigation import may_see
from portal.unfold import display


class KindFilter(ValuesFilter):
    """Offers the kinds whose pages the user may see."""

    title = _("kind of row")
    parameter_name = "kind"

    def values(self) -> list[str]:
        return list(kinds())

    def lookups(self, request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        seen = [(label, name) for label, name in kinds().items() if may_see(request, label)]
        return sorted(seen, key=lambda kind: kind[1])


def kinds() -> dict[str, str]:
    """The models with portal pages, by label."""
    return {model._meta.label_lower: capfirst(str(model._meta.verbose_name)) for model in admin.site._registry}  # noqa: SLF001


@admin.register(AuditLogEntry)
class AuditLogAdmin(ExportingAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view"}
    sidebar = SidebarEntry(SETTINGS, 5, "history_edu")
    opens_in_drawer = True
    list_name = _("audit log")
    export_kind = "export-audit"
    pages_by_key = True
    list_display = ("at", "actor", "action_name", "kind_name", "row_name", "reason")
    list_filter = (("user", OwnRowsFilter), KindFilter, ("at", DayFilter))
    list_select_related = ("user", "api_key")
    search_fields = ("request_id__exact", "row_id__exact")
    search_help_text = _("A request id or row id.")
    fieldsets = (
        (None, {"fields": (("at", "actor"), ("action_name", "kind_name"), "row", "reason")}),
        (_("Changes"), {"fields": ("changed",)}),
        (_("Request"), {"fields": (("brand", "request_id"),)}),
    )

    @display(description=_("action"))
    def action_name(self, entry: AuditLogEntry) -> str:
        """Stored in English; the names of the system's own actions are translated."""
        return gettext(entry.action) if entry.action else ""

    @display(description=_("kind of row"), ordering="kind")
    def kind_name(self, entry: AuditLogEntry) -> str:
        return kinds().get(entry.kind, entry.kind)

    @display(description=_("who"))
    def actor(self, entry: AuditLogEntry) -> str:
        return str(entry.actor or _("The system"))

    @display(description=_("what"))
    def row(self, entry: AuditLogEntry) -> str | SafeString:
        """A link if there is a page and the row still exists."""
        rows = apps.get_model(entry.kind)._base_manager if entry.kind in kinds() else None
        if rows is None or not rows.filter(pk=entry.row_id).exists():
            return entry.row_name
        return link(admin_address(entry.kind, "change", entry.row_id), entry.row_name)

    @display(description=_("before and after"))
    def changed(self, entry: AuditLogEntry) -> SafeString:
        return render_to_string("admin/portal/changes.html", {"changed_fields": audit_log.changed_fields(entry)})
