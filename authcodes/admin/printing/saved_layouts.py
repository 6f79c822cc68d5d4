"""Saving a label layout from the print studio, and opening it there."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from authcodes.admin.printing.forms import PrintForm
from authcodes.admin.printing.layout_form import values_of
from authcodes.models.prints import LabelLayout
from authcodes.printing import layouts
from authcodes.printing.labels.parts import SWITCHED, PartName, Parts
from authcodes.printing.layouts import Content
from brands import audit_log
from brands.audit_log import AuditedChange
from brands.identity import roles
from brands.identity.roles import CHANGE
from brands.models.tenants import Brand
from core.errors import Invalid
from portal.base.audit_mixin import audit_context

LABEL = "authcodes.labellayout"


def save(request: HttpRequest, form: PrintForm, brand: Brand, parts: Parts | None) -> LabelLayout:
    """Save the parts that the studio shows: changes the opened layout if its name is the same, else creates a new one.

    `parts`: None for images. Raises Invalid.
    """
    # There is no right to add layouts: whoever may change them creates them here.
    if brand.pk not in roles.brand_scope(request.user, CHANGE, LABEL):
        raise PermissionDenied
    if parts is None:
        raise Invalid(_("Images have no layout. Choose label sheets."), details={"field": "output"})
    name = form.cleaned_data["layout_name"]
    if not name:
        raise Invalid(_("Enter a name for the layout."), details={"field": "layout_name"})
    content = content_on_page(form, parts)
    opened, version = form.opened
    with transaction.atomic():
        if opened and opened.brand_id == brand.pk and opened.name == name:
            before = LabelLayout.objects.filter(pk=opened.pk).first()
            saved = layouts.change(layout=opened, content=content, version=version)
            action = audit_log.CHANGED
        else:
            before, action = None, audit_log.ADDED
            saved = layouts.create(brand=brand, name=name, content=content)
        changed = AuditedChange(saved, brand.pk, audit_log.changes(before, saved))
        audit_log.record(audit_context=audit_context(request), action=action, rows=[changed])
    return saved


def content_on_page(form: PrintForm, parts: Parts) -> Content:
    """The parts as shown on the page, including automatically placed ones."""
    width, height = form.label_size  # type: ignore[misc] # a valid form of labels has one
    note = form.cleaned_data["note"] if PartName.NOTE in parts else ""
    return Content(width, height, parts, note)


def form_values(layout: LabelLayout) -> dict[str, Any]:
    """The form values of a saved layout."""
    key, content = str(layout.pk), layouts.content_of(layout)
    switches = {name.value: name in content.parts for name in SWITCHED}
    named = {"layout": key, "layout_name": layout.name, "layout_from": f"{key}:{layouts.version_of(layout)}"}
    return {**named, **switches, "note": content.note, **values_of(content.parts)}


def with_layout_values(form: PrintForm, layout: LabelLayout, *, is_saved: bool = False) -> PrintForm:
    """The form with the values of a saved layout. A typed name stays, unless the layout `is_saved` just now."""
    opened, _version = form.opened
    data: Any = form.data.copy()  # type: ignore[attr-defined] # of a submitted form
    values = form_values(layout)
    name = data.get("layout_name", "")
    if not is_saved and opened and opened.pk == layout.pk:
        del values["layout_from"]
    if not is_saved and name and name != (opened.name if opened else ""):
        del values["layout_name"]
    for each, value in values.items():
        if value is False:
            data.pop(each, None)
        else:
            data[each] = value
    result = type(form)(data)
    result.limit_to_brands(form.brands)
    return result
