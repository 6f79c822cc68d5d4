"""Page: enrolment by staff, of one customer or of a file of customers."""

import csv
from io import StringIO
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands.identity.roles import ACT
from brands.models.tenants import Brand
from core.errors import DomainError
from core.texts import shortened
from loyalty.members import enrolment
from loyalty.members.enrolment import Result
from portal.base.audit_mixin import audit_context
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import FileWidget, SelectWidget, TextareaWidget, action

MAX_BYTES = 200_000
MAX_LISTED = 20  # addresses that a message names
COLUMN = "email"


class EnrolmentForm(forms.Form):
    """The addresses to enrol, typed or uploaded as a file."""

    brand = forms.ModelChoiceField(label=gettext_lazy("Brand"), queryset=Brand.objects.none(), widget=SelectWidget)
    addresses = forms.CharField(
        label=gettext_lazy("E-mail addresses"),
        required=False,
        max_length=MAX_BYTES,
        widget=TextareaWidget(attrs={"rows": 4}),
        help_text=gettext_lazy("One per line. The customers must be registered with the brand."),
    )
    file = forms.FileField(
        label=gettext_lazy("CSV file"),
        required=False,
        widget=FileWidget,
        help_text=gettext_lazy("A file with a column named email and at most 1,000 rows."),
    )

    def clean_file(self) -> list[str]:
        """The addresses in the file."""
        upload = self.cleaned_data["file"]
        return read(upload) if upload else []

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        typed = (cleaned.get("addresses") or "").splitlines()
        cleaned["all"] = [*typed, *(cleaned.get("file") or [])]
        if not self.errors and not any(address.strip() for address in cleaned["all"]):
            raise forms.ValidationError(_("Enter an address or choose a file."))
        return cleaned


def read(upload: "UploadedFile[Any]") -> list[str]:
    """Raises ValidationError for a file that is too large, is not text, or has no address column."""
    if (upload.size or 0) > MAX_BYTES:
        raise forms.ValidationError(_("The file is too large."))
    try:
        text = upload.read().decode("utf-8-sig")
        rows = list(csv.DictReader(StringIO(text), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise forms.ValidationError(_("This is not a CSV file in UTF-8.")) from None
    if "\0" in text or not rows or COLUMN not in rows[0]:
        raise forms.ValidationError(_("The file needs a column named email, and a row below it."))
    return [row[COLUMN] or "" for row in rows]


class Enrolment(TenantAdmin):
    """Enrolment, as part of the model admin of members."""

    def has_enrol_permission(self, request: HttpRequest) -> bool:
        return bool(self.brand_scope(request, ACT))

    @action(description=gettext_lazy("Enrol customers"), url_path="enrol", icon="person_add", permissions=["enrol"])
    def enrol(self, request: HttpRequest) -> HttpResponse:
        scope = self.brand_scope(request, ACT)
        if not scope:
            raise PermissionDenied
        form = EnrolmentForm(request.POST or None, request.FILES or None)
        brands = scope.of(Brand.objects.order_by("name"), "pk")
        form.fields["brand"].queryset = brands  # type: ignore[attr-defined] # of a ModelChoiceField
        form.fields["brand"].initial = brands.first() if brands.count() == 1 else None
        if request.method == "POST" and form.is_valid():
            try:
                chosen = form.cleaned_data
                result = enrolment.enrol_addresses(
                    brand=chosen["brand"],
                    addresses=chosen["all"],
                    audit_context=audit_context(request, gettext_noop("Enrolled manually")),
                )
            except DomainError as error:
                form.add_error(None, error.message)
            else:
                report(request, result)
                return redirect("admin:loyalty_userpoints_changelist")
        return self.render_page(request, "admin/loyalty/enrol.html", {"title": _("Enrol customers"), "form": form})


def report(request: HttpRequest, result: Result) -> None:
    text = _("Enrolled: %(made)d. Already members: %(already)d.")
    messages.success(request, text % {"made": len(result.enrolled), "already": result.already})
    if result.unknown:
        text = _("Not registered with this brand: %(count)d (%(shown)s). Ask them to register first.")
        messages.warning(
            request, text % {"count": len(result.unknown), "shown": shortened(result.unknown, most=MAX_LISTED)}
        )
