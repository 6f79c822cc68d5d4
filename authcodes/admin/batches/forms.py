"""Forms for batches: creating one, and changing what may still change once codes are printed."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authcodes.codes import batches, prefixes, scan_value
from authcodes.codes.batches import BatchSettings
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from brands.identity import roles
from brands.identity.roles import ADD, SCAN_VALUE
from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.tenants import quotas
from core.errors import DomainError, QuotaReached
from core.numbers import grouped
from portal.base.audit_mixin import audit_context
from portal.base.forms import TenantForm
from portal.base.tenant_scope import staff_user
from portal.lists.number_columns import format_points, format_times
from portal.unfold import RadioWidget, TextWidget

NUMBERING = {"prefix", "quantity", "starting_number", "number_width"}
# What a scan of the codes is worth, and for how long. Only users with the right to set scan values see these fields.
SCAN_VALUE_FIELDS = ("points_per_scan", "scan_limit", "expiration_date", "campaign", "after_campaign")
# The scan value fields that decide how many points existing codes pay.
POINT_FIELDS = ("points_per_scan", "scan_limit")
REASON_LENGTH = 500
PROTECTED, PLAIN = "protected", "plain"


class ProtectionWidget(RadioWidget):
    """Radio buttons with whole sentences as labels."""

    option_template_name = "admin/authcodes/batch/choice.html"


class PrintableForm(TenantForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "error_correction" in self.fields:  # read-only users have no such field
            self.fields["error_correction"].required = False
        if "after_campaign" in self.fields:
            self.fields["after_campaign"].required = False

    def clean_error_correction(self) -> str:
        """Keep the stored value if none is submitted; a new batch has M."""
        result: str = self.cleaned_data["error_correction"] or self.instance.error_correction
        return result

    def clean_after_campaign(self) -> str:
        """Keep the stored value if none is submitted; a new batch earns its usual points."""
        result: str = self.cleaned_data["after_campaign"] or self.instance.after_campaign
        return result


def scan_values_not_allowed(user: Any, brand: Brand, batch_settings: BatchSettings) -> dict[str, str]:
    """An error for each field whose value is not the default and which the user may not set for the brand."""
    if brand.pk in roles.brand_scope(user, SCAN_VALUE, scan_value.LABEL):
        return {}
    usual = BatchSettings(range_name="", quantity=1, signed=True)
    message = _("Only managers and owners can set this.")
    return {name: message for name in SCAN_VALUE_FIELDS if getattr(batch_settings, name) != getattr(usual, name)}


def is_protected(choice: str) -> bool:
    return choice == PROTECTED


class NewBatchForm(PrintableForm):
    """All settings of spec section 2. Errors appear at the field that causes them."""

    request: HttpRequest  # set by the page
    valid_settings: BatchSettings | None = None  # set once the numbering is valid, even if other batches use its codes
    signed = forms.TypedChoiceField(
        label=gettext_lazy("Protection"),
        coerce=is_protected,
        initial=PROTECTED,
        widget=ProtectionWidget,
        choices=[
            (
                PROTECTED,
                gettext_lazy(
                    "Protected codes: each code ends with a secret tag, so nobody can guess the next. Recommended for "
                    "everything that is sold or earns points."
                ),
            ),
            (
                PLAIN,
                gettext_lazy(
                    "Plain numbers: anyone who has seen one code can guess the next. Use them only where codes earn "
                    "nothing and are typed in by hand."
                ),
            ),
        ],
        error_messages={"required": gettext_lazy("Choose plain numbers or protected codes.")},
    )

    def clean(self) -> dict[str, Any]:
        """Report every invalid setting at its field, even while other settings are missing."""
        cleaned = super().clean()
        brand = cleaned.get("brand")
        if brand:
            requested = self.batch_settings()
            result = batches.settings_errors(brand=brand, batch_settings=requested, at=timezone.now())
            for field, message in {**result, **self.not_allowed_by_role(brand, requested)}.items():
                # An error about an option is no help before an option is chosen.
                if field not in self.errors and (field != "signed" or field in cleaned):
                    self.add_error(field if field in self.fields else None, message)
            if not set(self.errors) & NUMBERING:
                self.valid_settings = requested
                for message in batches.overlaps(requested.numbering, brand):
                    self.add_error("starting_number", message)
            if self.request.method == "POST" and not self.errors:
                self.ask_for_codes(brand, requested)
        return cleaned

    def batch_settings(self) -> BatchSettings:
        """The settings filled in so far. Unset fields have their defaults; an unset protection means protected."""
        cleaned = {name: value for name, value in self.cleaned_data.items() if name != "brand"}
        return BatchSettings(**{"range_name": "", "quantity": 1, "signed": True, **cleaned})

    def not_allowed_by_role(self, brand: Brand, batch_settings: BatchSettings) -> dict[str, str]:
        """Errors, by field, for settings that this user may not choose for the brand."""
        result = scan_values_not_allowed(self.request.user, brand, batch_settings)
        try:
            if batch_settings.product:
                scan_value.check_product(product=batch_settings.product, by=staff_user(self.request))
        except BatchRejected as error:
            result["product"] = error.message
        may_reserve = brand.pk in roles.brand_scope(self.request.user, ADD, "authcodes.codeprefix")
        if not (may_reserve or prefixes.is_reserved(brand=brand, prefix=batch_settings.prefix)):
            result["prefix"] = _("Choose one of the brand's prefixes. Managers and owners reserve new ones.")
        return result

    def ask_for_codes(self, brand: Brand, batch_settings: BatchSettings) -> None:
        """Called only when the form is saved: a preview must not reveal which prefixes other brands have."""
        try:
            quotas.require(brand.pk, BrandQuota.Resource.CODES, more=batch_settings.quantity, field="quantity")
        except QuotaReached as error:
            self.add_domain_error(error)
        try:
            prefixes.check_available(
                brand=brand,
                prefix=batch_settings.prefix,
                numbering=batch_settings.numbering,
                audit_context=audit_context(self.request),
            )
        except DomainError as error:
            self.add_domain_error(error)
            if not error.details.get("field"):
                self.add_error("prefix", _("You have tried too many prefixes. Try again later."))


class BatchForm(PrintableForm):
    """What may still change once codes are printed. Changing the points that they pay needs a reason."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=REASON_LENGTH,
        widget=TextWidget,
        help_text=gettext_lazy("Required to change the points or the scan limit of existing codes."),
    )

    def clean(self) -> dict[str, Any]:
        """A change to what existing codes pay needs a reason; the error names the most points it can cost."""
        cleaned = super().clean()
        pays = {name: cleaned[name] for name in POINT_FIELDS if name in self.changed_data and name in cleaned}
        if pays and not cleaned.get("reason") and not self.errors:
            self.add_error("reason", worst_case(self.instance, pays))
        return cleaned

    def clean_expiration_date(self) -> Any:
        day = self.cleaned_data["expiration_date"]
        today = self.instance.brand.day_at(timezone.now())
        if day and day < today and "expiration_date" in self.changed_data:
            raise forms.ValidationError(_("The expiration date is in the past. Enter today or later."))
        return day

    def clean_scan_limit(self) -> int | None:
        """Reject a limit below the scans that a code already has: those scans stay accepted."""
        limit: int | None = self.cleaned_data["scan_limit"]
        if limit is None or "scan_limit" not in self.changed_data:
            return limit
        most = batches.max_scan_count(batch=self.instance)
        if limit < most:
            message = _(
                "A code of this batch has already been scanned %(most)d times. Enter "
                "at least that number, or leave the field empty."
            )
            raise forms.ValidationError(message % {"most": most})
        return limit


def worst_case(batch: BatchRange, values: dict[str, Any]) -> str:
    """A message: the most points that the batch's codes can pay with these values, and that a reason is needed."""
    limit = values.get("scan_limit", batch.scan_limit)
    points = values.get("points_per_scan", batch.points_per_scan)
    if points is None:  # 0 leaves it to the member's level, whatever the product says
        points = batch.product.redeem_point_value if batch.product else None
    totals = {"codes": grouped(batch.quantity)}
    if limit is None:
        message = ngettext(
            "%(codes)s code can be scanned any number of times, so the total points have no limit.",
            "%(codes)s codes can be scanned any number of times, so the total points have no limit.",
            batch.quantity,
        )
    elif points:
        message = ngettext(
            "This code can then earn up to %(points)s in total.",
            "These %(codes)s codes can then earn up to %(points)s in total.",
            batch.quantity,
        )
        totals["points"] = format_points(batch.quantity * points * limit)
    else:
        message = ngettext(
            "This code then earns the points of each member's level, up to %(times)s in total.",
            "These %(codes)s codes then earn the points of each member's level, up to %(times)s in total.",
            batch.quantity,
        )
        totals["times"] = format_times(batch.quantity * limit)
    return f"{message % totals} {_('Enter a reason and save again.')}"


def prefix_choices(brands: list[Brand]) -> Any:
    """The prefixes of these brands, as the form's suggestions."""
    rows = prefixes.of_brands(brands)
    return [(row.prefix, row.brand.name if len(brands) > 1 else "") for row in rows]


def protection_of(batch: BatchRange) -> tuple[str, str]:
    """Badge colour and name of a batch's protection."""
    if batch.printed_elsewhere:
        return "info", _("Printed elsewhere")
    return ("success", _("Protected")) if batch.is_signed else ("", _("Plain numbers"))
