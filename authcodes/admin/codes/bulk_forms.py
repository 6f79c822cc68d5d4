"""Forms that change many codes at once."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from authcodes.admin.product_lookup import ActiveProductLookup
from authcodes.codes.bulk_changes import MAX_LOCATION_LENGTH, MAX_POINTS, Assignment
from authcodes.imports import pasted_codes
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from brands.scanned import MAX_CODE_LENGTH
from portal.base.confirmation import reason_field
from portal.base.forms import DomainErrorForm
from portal.unfold import NumberWidget, TextareaWidget, TextWidget

# Average length of a pasted line: a code, or the address that contains it. Limits the whole text, not a single line.
MEAN_LINE_LENGTH = 200


class ChangeReasonForm(DomainErrorForm):
    reason = reason_field(gettext_lazy("Shown to staff in the codes' history."), max_length=1000)


class CodeRangeForm(DomainErrorForm):
    """The first and the last code of a range."""

    first = forms.CharField(label=gettext_lazy("First code"), max_length=MAX_CODE_LENGTH, widget=TextWidget)
    last = forms.CharField(label=gettext_lazy("Last code"), max_length=MAX_CODE_LENGTH, widget=TextWidget)


class AssignmentForm(DomainErrorForm):
    """The product and details to assign to codes."""

    product = forms.ModelChoiceField(Product.objects.none(), label=gettext_lazy("Product"))
    inventory_location = forms.CharField(
        label=gettext_lazy("Inventory location"),
        required=False,
        max_length=MAX_LOCATION_LENGTH,
        widget=TextWidget,
        help_text=gettext_lazy("Where the items are stored. Leave empty to keep the current value."),
    )
    points_per_scan = forms.IntegerField(
        label=gettext_lazy("Points per scan"),
        required=False,
        min_value=0,
        max_value=MAX_POINTS,
        widget=NumberWidget,
        help_text=gettext_lazy("Leave empty to keep the current value (initially the batch's)."),
    )
    notes = forms.CharField(
        label=gettext_lazy("Notes"),
        required=False,
        max_length=10_000,
        widget=TextareaWidget(attrs={"rows": 3}),
        help_text=gettext_lazy("Anything worth noting. Leave empty to keep the current value."),
    )

    def limit_choices(self, products: Any, admin_site: Any, *, sets_points: bool) -> None:
        """Offer these products through a lookup; offer points only if `sets_points`."""
        if not sets_points:
            del self.fields["points_per_scan"]
        field: Any = self.fields["product"]
        field.queryset = products
        field.widget = ActiveProductLookup(AuthCode.product.field, admin_site)
        field.widget.choices = field.choices

    @property
    def assignment(self) -> Assignment:
        names = {"product", "inventory_location", "points_per_scan", "notes"}
        return Assignment(**{name: value for name, value in self.cleaned_data.items() if name in names})


class AssignRangeForm(CodeRangeForm, AssignmentForm):
    field_order = ("first", "last")


class ChangeRangeForm(CodeRangeForm, ChangeReasonForm):
    field_order = ("first", "last")


class PastedCodesForm(AssignmentForm):
    """Single codes, typed, pasted or scanned."""

    codes = forms.CharField(
        label=gettext_lazy("Codes"),
        max_length=pasted_codes.MAX_PASTED_CODES * MEAN_LINE_LENGTH,
        widget=TextareaWidget(attrs={"rows": 8}),
        help_text=gettext_lazy("One code per line, as printed or scanned. Leading zeros can be omitted."),
    )
    field_order = ("codes", "product")
