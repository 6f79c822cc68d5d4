"""Page: batches of codes. A new one is made by authcodes.batches, and its codes by a worker."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes import batches
from authcodes.admin.exports import is_id
from authcodes.batches import BatchSettings
from authcodes.models import BatchRange
from authcodes.refusals import BatchRefused
from brands import roles
from brands.lists import DayFilter, OwnRowsFilter
from brands.portal import TenantAdmin, TenantForm, badge, person
from brands.roles import ADD
from brands.unfolded import SwitchWidget, action, display


class NewBatchForm(TenantForm):
    """All settings of spec section 2; what cannot be is said at its field."""

    signed = forms.BooleanField(
        label=gettext_lazy("Signed"),
        required=False,
        widget=SwitchWidget,
        help_text=gettext_lazy("Each code is printed with a tag, so that nobody can guess the next one."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        brand = cleaned.get("brand")
        if brand and not self.errors:
            try:
                batches.refuse_bad_settings(brand=brand, wanted=self.wanted(), at=timezone.now())
                batches.refuse_overlap(self.wanted().numbering, brand)
            except BatchRefused as refusal:
                self.refuse(refusal)
        return cleaned

    def wanted(self) -> BatchSettings:
        return BatchSettings(**{name: value for name, value in self.cleaned_data.items() if name != "brand"})


class BatchForm(TenantForm):
    """What may still change once codes are printed."""

    def clean_expiration_date(self) -> Any:
        day = self.cleaned_data["expiration_date"]
        today = timezone.now().astimezone(self.instance.brand.zone).date()
        if day and day < today and "expiration_date" in self.changed_data:
            raise forms.ValidationError(_("The expiration date is in the past."))
        return day


@admin.register(BatchRange)
class BatchPage(TenantAdmin):
    form = BatchForm
    list_display = (
        "range_name",
        "state",
        "product",
        "codes",
        "quantity",
        "scan_limit",
        "expiration_date",
        "created_at",
    )
    list_filter = (("product", OwnRowsFilter), ("campaign", OwnRowsFilter), ("created_at", DayFilter))
    list_select_related = ("product", "recall")
    search_fields = ("range_name", "first_code__startswith")
    search_help_text = gettext_lazy("A part of the name, or how the first code begins.")
    autocomplete_fields = ("product", "campaign")
    actions_detail = ("recall",)
    settled = ("product", "state", "codes", "quantity", "is_signed", "created_at", "created_by")
    fieldsets = (
        (None, {"fields": ("brand", ("range_name", "state"), ("product", "campaign"))}),
        (gettext_lazy("Numbering"), {"fields": ("codes", ("quantity", "is_signed"))}),
        (gettext_lazy("Rules"), {"fields": (("points_per_scan", "scan_limit"), "expiration_date")}),
        (gettext_lazy("History"), {"fields": (("created_at", "created_by"),)}),
    )
    add_fieldsets = (
        (None, {"fields": ("brand", "range_name", ("product", "campaign"))}),
        (
            gettext_lazy("Numbering"),
            {"fields": (("prefix", "quantity"), ("starting_number", "number_width"), "signed")},
        ),
        (gettext_lazy("Rules"), {"fields": (("points_per_scan", "scan_limit"), "expiration_date")}),
    )
    add_help_texts = {
        "prefix": gettext_lazy("Letters, digits, - and _; every code begins with it."),
        "quantity": gettext_lazy("How many codes."),
        "starting_number": gettext_lazy("The first code's number."),
    }

    @display(description=gettext_lazy("state"))
    def state(self, batch: BatchRange) -> SafeString:
        if hasattr(batch, "recall"):
            return badge("danger", _("Recalled"))
        if batch.is_generated:
            return badge("success", _("Ready"))
        done = 100 * batch.generated_count // batch.quantity
        return badge("info", _("Generating: %(done)d %%") % {"done": done})

    @display(description=gettext_lazy("codes"), ordering="first_code")
    def codes(self, batch: BatchRange) -> str:
        return f"{batch.first_code} … {batch.last_code}"

    @display(description=gettext_lazy("signed"))
    def is_signed(self, batch: BatchRange) -> str:
        return _("Yes") if batch.is_signed else _("No")

    @action(description=gettext_lazy("Recall"), url_path="recall", icon="report", permissions=["recall"])
    def recall(self, _request: HttpRequest, object_id: str) -> HttpResponse:
        """To the page that says what a recall changes."""
        return redirect(f"{reverse('admin:authcodes_recall_add')}?batch={object_id}")

    def has_recall_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        if not is_id(str(object_id)):
            return False
        rows = self.get_queryset(request).filter(pk=object_id, recall__isnull=True)
        return roles.reach(request.user, ADD, "authcodes.recall").of(rows, "brand").exists()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = super().get_readonly_fields(request, obj)
        return [*fields, *self.settled] if obj else fields

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        if obj is None:
            options |= {"form": NewBatchForm, "help_texts": self.add_help_texts}
        return super().get_form(request, obj, change, **options)

    def create(self, request: HttpRequest, obj: BatchRange, form: NewBatchForm) -> BatchRange:
        by = person(request)
        made = batches.create_batch(brand=obj.brand, wanted=form.wanted(), at=timezone.now(), by=by)
        batches.start_generation(batch=made, by=by)
        return made
