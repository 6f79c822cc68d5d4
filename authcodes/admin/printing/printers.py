"""Page: a brand's printers, each with the offset and scale that correct its prints."""

from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy

from authcodes.admin.resources import PrinterResource
from authcodes.models.prints import Printer
from authcodes.printing.labels import design
from authcodes.printing.labels.presets import preset_for
from core.errors import DomainError
from portal.base.forms import TenantForm
from portal.base.sidebar import PRINT, SidebarEntry
from portal.import_export.importable import ImportingAdmin
from portal.unfold import action


class PrinterForm(TenantForm):
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        correction = {name: cleaned.get(name) for name in ("offset_x", "offset_y", "scale")}
        if None not in correction.values():
            try:
                design.check_printer(**correction)  # type: ignore[arg-type] # each has a value
            except DomainError as error:
                self.add_domain_error(error)
        return cleaned


@admin.register(Printer)
class PrinterAdmin(ImportingAdmin):
    role_permissions: ClassVar = {
        "owner": "view add change delete",
        "manager": "view add change delete",
        "printer": "view add change delete",
    }
    sidebar = SidebarEntry(PRINT, 3, "straighten")
    resource = PrinterResource
    form = PrinterForm
    list_display = ("name", "offset_x", "offset_y", "scale")
    search_fields = ("name",)
    actions_detail = ("calibration",)
    fieldsets = ((None, {"fields": ("brand", "name", ("offset_x", "offset_y"), "scale")}),)

    @action(
        description=gettext_lazy("Calibration page"), url_path="calibration", icon="straighten", permissions=["act"]
    )
    def calibration(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Redirect to rulers and crosses with this printer's correction: they should meet the corners of the sheet of
        labels with which the brand's first print begins."""
        printer: Printer = self.get_object(request, object_id)
        query = urlencode({"printer": printer.pk, "sheet": preset_for(printer.brand.time_zone)})
        return redirect(f"{reverse('admin:authcodes_printrun_calibration')}?{query}")

    def has_act_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.has_change_permission(request)
