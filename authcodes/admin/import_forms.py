"""Forms of imports: a new file, the batch for codes printed elsewhere, and a corrected file."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminDateWidget as DateWidget

from authcodes.admin.batches.forms import SCAN_VALUE_FIELDS, scan_values_not_allowed
from authcodes.codes import batches, scan_value
from authcodes.codes.batches import BatchSettings
from authcodes.codes.bulk_changes import MAX_POINTS
from authcodes.errors import BatchRejected
from authcodes.imports.checks import kind_from_header
from authcodes.models.batches import BatchRange
from authcodes.models.imports import Import
from brands.identity import roles
from brands.identity.roles import ADD, SCAN_VALUE
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from portal.base.forms import TenantForm
from portal.base.tenant_scope import staff_user
from portal.unfold import FileWidget, NumberWidget, SelectWidget, TextWidget

BATCH_FIELDS: dict[str, Any] = {name: BatchRange._meta.get_field(name) for name in SCAN_VALUE_FIELDS}


class UploadForm(TenantForm):
    """A new import: its file, a product if the rows name none, and the batch to create. The header sets the kind."""

    request: HttpRequest  # set by the page
    range_name = forms.CharField(
        label=gettext_lazy("Batch name"), max_length=120, required=False, strip=True, widget=TextWidget
    )
    points_per_scan = forms.IntegerField(
        label=gettext_lazy("Points per scan"),
        min_value=0,
        max_value=MAX_POINTS,
        required=False,
        widget=NumberWidget,
        help_text=BATCH_FIELDS["points_per_scan"].help_text,
    )
    scan_limit = forms.IntegerField(
        label=gettext_lazy("Scan limit"),
        min_value=1,
        max_value=MAX_POINTS,
        required=False,
        initial=1,
        widget=NumberWidget,
        help_text=BATCH_FIELDS["scan_limit"].help_text,
    )
    expiration_date = forms.DateField(
        label=gettext_lazy("Expiration date"),
        required=False,
        widget=DateWidget,
        help_text=BATCH_FIELDS["expiration_date"].help_text,
    )
    campaign = forms.ModelChoiceField(
        label=gettext_lazy("Campaign"), queryset=Campaign.objects.none(), required=False, widget=SelectWidget
    )
    after_campaign = forms.ChoiceField(
        label=gettext_lazy("After the campaign"),
        choices=BatchRange.AfterCampaign.choices,
        required=False,
        initial=BatchRange.AfterCampaign.POINTS,
        widget=SelectWidget,
        help_text=BATCH_FIELDS["after_campaign"].help_text,
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        scope = roles.brand_scope(self.request.user, ADD, "authcodes.import")
        self.fields["campaign"].queryset = scope.of(Campaign.objects.order_by("campaign_name"), "brand")  # type: ignore[attr-defined]
        if not roles.brand_scope(self.request.user, SCAN_VALUE, scan_value.LABEL):
            for name in SCAN_VALUE_FIELDS:
                del self.fields[name]

    def batch_settings(self) -> BatchSettings:
        """Settings of the batch for codes printed elsewhere. Fields that the user may not set have their defaults."""
        cleaned: dict[str, Any] = {
            name: self.cleaned_data.get(name) for name in SCAN_VALUE_FIELDS if name in self.fields
        }
        if cleaned:
            cleaned["after_campaign"] = cleaned["after_campaign"] or BatchRange.AfterCampaign.POINTS.value
        name = self.cleaned_data.get("range_name", "")
        return BatchSettings(name, 1, product=self.cleaned_data.get("product"), signed=False, **cleaned)

    def check_batch(self, brand: Brand) -> None:
        requested = self.batch_settings()
        for name, message in scan_values_not_allowed(self.request.user, brand, requested).items():
            self.add_error(name, message)
        try:
            batches.check(brand=brand, batch_settings=requested, at=timezone.now(), by=staff_user(self.request))
        except BatchRejected as error:
            field = error.details.get("field")
            self.add_error(field if field in self.fields else None, error.message)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("file"):
            guessed = Import.Kind.LIST if cleaned.get("product") else Import.Kind.RANGES
            cleaned["kind"] = kind_from_header(cleaned["file"]) or guessed  # the check then rejects it with a message
        needs_product = cleaned.get("kind") in {Import.Kind.LIST, Import.Kind.PRINTED}
        if needs_product and not cleaned.get("product") and "product" not in self.errors:
            self.add_error("product", _("Choose the product that these codes are for."))
        if cleaned.get("kind") == Import.Kind.PRINTED and cleaned.get("brand") and not self.errors:
            self.check_batch(cleaned["brand"])
        return cleaned


class CorrectedFileForm(forms.Form):
    """The corrected file of an import."""

    file = forms.FileField(label=gettext_lazy("Corrected file"), widget=FileWidget(attrs={"accept": ".csv"}))
