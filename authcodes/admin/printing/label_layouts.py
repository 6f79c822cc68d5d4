"""Page: a brand's saved label layouts: rename, copy, delete, and choose the default for new prints."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.models.prints import LabelLayout
from authcodes.printing import layouts
from authcodes.printing.checks import format_length
from authcodes.printing.labels import preview
from authcodes.printing.labels.design import Design, Label
from authcodes.printing.labels.parts import PartName, from_json
from authcodes.printing.labels.presets import Sheet
from authcodes.printing.selection import logo_of
from brands import audit_log
from brands.audit_log import AuditedChange
from core.errors import DomainError
from portal.base.audit_mixin import audit_context
from portal.base.forms import TenantForm
from portal.base.sidebar import PRINT, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import display

CODE = "ABC0000000001"
EXAMPLE = f"https://example.com/s/{CODE}"
RIGHTS = "view change delete"


@admin.register(LabelLayout)
class LabelLayoutAdmin(TenantAdmin):
    """Layouts are created in the print studio, which previews them."""

    role_permissions: ClassVar = {"owner": RIGHTS, "manager": RIGHTS, "printer": RIGHTS}
    sidebar = SidebarEntry(PRINT, 2, "dashboard_customize")
    form = TenantForm
    list_display = ("name", "label_size", "part_names", "is_default")
    search_fields = ("name",)
    fieldsets = ((None, {"fields": ("brand", "name", ("label_size", "part_names"), "is_default")}),)
    readonly_fields = ("label_size", "part_names", "is_default")
    change_form_outer_before_template = "admin/authcodes/print/layout_panel.html"

    class Media:
        css = {"all": ("authcodes/print_studio.css",)}

    def own_views(self) -> dict[str, Any]:
        return {
            "copy": ("<id:pk>/copy/", self.copy_layout),
            "default": ("<id:pk>/default/", self.use_as_default),
            "no_default": ("<id:pk>/no-default/", self.use_no_default),
            **super().own_views(),
        }

    @display(description=gettext_lazy("label size"), ordering="label_width")
    def label_size(self, layout: LabelLayout) -> str:
        return f"{format_length(layout.label_width)} x {format_length(layout.label_height)} mm"

    @display(description=gettext_lazy("shows"))
    def part_names(self, layout: LabelLayout) -> str:
        return ", ".join(str(PartName(name).label) for name in PartName if name in layout.parts)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        layout = self.get_object(request, object_id)
        page_context = {
            "picture": mark_safe(picture(layout)),  # noqa: S308 - drawn by us, with texts escaped
            "picture_width": format_length(layout.label_width),
            "picture_height": format_length(layout.label_height),
            "may_change": self.has_change_permission(request, layout),
            "copy": reverse("admin:authcodes_labellayout_copy", args=[layout.pk]),
            "default": reverse(
                f"admin:authcodes_labellayout_{'no_default' if layout.is_default else 'default'}", args=[layout.pk]
            ),
        }
        return super().change_view(request, object_id, form_url, {**page_context, **(extra_context or {})})

    def store(self, obj: LabelLayout, fields: set[str]) -> None:
        if "name" in fields:
            layouts.rename(layout=obj, name=obj.name)

    def delete_row(self, obj: LabelLayout) -> None:
        layouts.delete(layout=obj)

    # --- Actions, each a button on the layout's page ---

    def copy_layout(self, request: HttpRequest, pk: int) -> HttpResponse:
        def copied(layout: LabelLayout) -> HttpResponse:
            made = layouts.copy(layout=layout)
            change = AuditedChange(made, made.brand_id, audit_log.changes(None, made))
            audit_log.record(audit_context=audit_context(request), action=audit_log.ADDED, rows=[change])
            self.message_user(request, _("Copied as “%(name)s”.") % {"name": made})
            return redirect("admin:authcodes_labellayout_change", made.pk)

        return self.act(request, pk, copied)

    def use_as_default(self, request: HttpRequest, pk: int) -> HttpResponse:
        def made_default(layout: LabelLayout) -> None:
            self.record_action(request, layouts.make_default(layout=layout), gettext_noop("No longer the default"))
            self.record_action(request, [layout], gettext_noop("Made the default"))
            self.message_user(request, _("New prints begin with “%(name)s”.") % {"name": layout})

        return self.act(request, pk, made_default)

    def use_no_default(self, request: HttpRequest, pk: int) -> HttpResponse:
        def cleared(layout: LabelLayout) -> None:
            layouts.clear_default(layout=layout)
            self.record_action(request, [layout], gettext_noop("No longer the default"))
            self.message_user(request, _("New prints begin with the automatic layout."))

        return self.act(request, pk, cleared)

    def act(self, request: HttpRequest, pk: int, change: Callable[[LabelLayout], HttpResponse | None]) -> HttpResponse:
        """Apply the change on POST; GET changes nothing."""
        layout = self.get_object(request, str(pk))
        if not self.has_change_permission(request, layout):
            raise PermissionDenied
        page = redirect("admin:authcodes_labellayout_change", layout.pk)
        if request.method != "POST":
            return page
        try:
            with transaction.atomic():
                return change(layout) or page
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return page


def picture(layout: LabelLayout) -> str:
    """The inner elements of an SVG in millimetres: a label with this layout and sample texts."""
    parts = from_json(layout.parts)
    width, height = layout.label_width, layout.label_height
    sheet = Sheet(width, height, Decimal(0), Decimal(0), width, height, width, height, 1, 1)
    label = Label(
        EXAMPLE,
        CODE,
        title=_("Product title"),
        sku="SKU-1",
        expiry=_("Expires %(day)s") % {"day": "1 Jan 2030"},
        note=layout.note,
    )
    return preview.one_label(label, Design(sheet, parts[PartName.QR].width, parts=parts, logo=logo_of(layout.brand_id)))
