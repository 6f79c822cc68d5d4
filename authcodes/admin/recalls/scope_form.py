"""The form for the scope of a recall: a product, batches, or a part of a batch."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.codes import batch_products
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.recalls import scopes
from authcodes.recalls.scopes import Scope
from brands.scanned import MAX_CODE_LENGTH
from core.forms.digits import AsciiDigits
from core.numbers import is_id
from core.texts import MAX_NAMED, shortened
from portal.base.forms import Lookup
from portal.unfold import RadioWidget, TextWidget

PRODUCT, BATCHES, RANGE = "product", "batches", "range"
KINDS = [
    (PRODUCT, gettext_lazy("All batches of a product")),
    (BATCHES, gettext_lazy("Some batches")),
    (RANGE, gettext_lazy("Some codes of one batch")),
]


class LookupMany(AutocompleteSelectMultiple):
    """A lookup of several choices while the user types. Values that are not valid ids select nothing."""

    def optgroups(self, name: str, value: Sequence[str], attr: dict[str, Any] | None = None) -> Any:
        return super().optgroups(name, [each for each in value if is_id(str(each))], attr)


class ScopeForm(AsciiDigits, forms.Form):
    """The scope of a recall. Its values are in the address, so that the next page can be linked to."""

    kind = forms.ChoiceField(
        label=gettext_lazy("What to recall"), choices=KINDS, widget=RadioWidget, initial=PRODUCT, required=False
    )
    product = forms.ModelChoiceField(
        Product.objects.none(),
        label=gettext_lazy("Product"),
        required=False,
        help_text=gettext_lazy("Recalls the batches that exist now, not those that you create later."),
    )
    batches = forms.ModelMultipleChoiceField(BatchRange.objects.none(), label=gettext_lazy("Batches"), required=False)
    batch = forms.ModelChoiceField(BatchRange.objects.none(), label=gettext_lazy("Batch"), required=False)
    first = forms.CharField(
        label=gettext_lazy("First code"),
        required=False,
        max_length=MAX_CODE_LENGTH,
        widget=TextWidget,
        help_text=gettext_lazy("The whole code, or its number alone."),
    )
    last = forms.CharField(
        label=gettext_lazy("Last code"), required=False, max_length=MAX_CODE_LENGTH, widget=TextWidget
    )

    scope: Scope | None = None
    combined_scope: Scope | None = None  # the recall's scope once the codes are added
    already_recalled: Sequence[BatchRange] = ()  # among the requested batches
    mixed_batches: Sequence[str] = ()  # names of batches that also have codes of other products
    is_in_recall = False  # whether the recall already has these codes

    def __init__(
        self, *args: Any, products: Any, batches: Any, admin_site: Any, recall: Recall | None = None, **options: Any
    ) -> None:
        """`recall`: the recall in force that codes are added to."""
        super().__init__(*args, **options)
        self.recall = recall
        rows = {"product": products, "batches": batches, "batch": batches}
        fields: dict[str, Any] = self.fields
        for name, queryset in rows.items():
            fields[name].queryset = queryset
        fields["product"].widget = Lookup(AuthCode.product.field, admin_site)
        fields["batch"].widget = Lookup(AuthCode.batch.field, admin_site)
        fields["batches"].widget = LookupMany(AuthCode.batch.field, admin_site)
        for name in rows:
            fields[name].widget.choices = fields[name].choices

    @property
    def chosen_kind(self) -> str:
        """The kind in the address, or the kind that its parameters imply."""
        chosen = self.data.get("kind") if self.is_bound else ""
        if chosen in {PRODUCT, BATCHES, RANGE}:
            return str(chosen)
        if self.is_bound and self.data.get("batch"):
            return RANGE
        return BATCHES if self.is_bound and "batches" in self.data else PRODUCT

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        try:
            self.scope = {PRODUCT: self._of_product, BATCHES: self._of_batches, RANGE: self._of_range}[
                self.chosen_kind
            ](cleaned)
            if self.recall:
                scope = scopes.of_recall(self.recall)
                self.combined_scope = scopes.union(scope, scopes.added_to(scope, self.scope))
        except BatchRejected as error:
            place, self.is_in_recall = error.details.get("field"), bool(error.details.get("is_in_recall"))
            if place == "batch" and self.chosen_kind != RANGE:  # this field is hidden
                place = self.chosen_kind
            self.add_error(place if place in self.fields else None, error.message)
        return cleaned

    def is_already_recalled(self, batch: BatchRange) -> bool:
        """Whether the batch is already recalled. The rest of a partly recalled batch may be added to its recall."""
        if batch.recall_id is None:
            return False
        return self.recall is None or batch.recall_id != self.recall.pk or not batch.is_recalled_in_part

    def are_all_in_recall(self, batches: Sequence[BatchRange]) -> bool:
        """Whether the recall that codes are added to already has all of these batches."""
        return self.recall is not None and {batch.recall_id for batch in batches} == {self.recall.pk}

    def _of_product(self, cleaned: Mapping[str, Any]) -> Scope:
        product = cleaned.get("product")
        if product is None:
            raise BatchRejected(_("Choose the product to recall."), details={"field": "product"})
        rows: Any = self.fields["batches"]
        batches = list(rows.queryset.filter(pk__in=batch_products.batch_ids(product)).order_by("pk"))
        self.already_recalled = [batch for batch in batches if self.is_already_recalled(batch)]
        free = [batch for batch in batches if not self.is_already_recalled(batch)]
        if not free:
            text = (
                _("All batches of this product are recalled already.") if batches else _("This product has no batches.")
            )
            details = {"field": "product", "is_in_recall": self.are_all_in_recall(batches)}
            raise BatchRejected(" ".join([str(text), self.partly_recalled]).strip(), details=details)
        result = scopes.of_batches(free)
        self.mixed_batches = batch_products.mixed_batches(result.whole_ids, product, limit=MAX_NAMED)
        return result

    @property
    def partly_recalled(self) -> str:
        """A message if only a part of a batch is recalled and its other codes stay genuine; otherwise empty."""
        partly = [batch for batch in self.already_recalled if batch.is_recalled_in_part]
        if not partly:
            return ""
        named = [f"{batch.range_name}: {batch.recalled_from} … {batch.recalled_to}" for batch in partly]
        message = _(
            "Only a part of these batches is recalled, and their other codes still scan as genuine: %(batches)s. To "
            "recall a whole batch, add its codes on the page of its recall."
        )
        return message % {"batches": shortened(named)}

    def _of_batches(self, cleaned: Mapping[str, Any]) -> Scope:
        chosen = list(cleaned.get("batches") or ())
        self._reject_recalled(chosen, "batches")
        return scopes.of_batches(chosen)

    def _of_range(self, cleaned: Mapping[str, Any]) -> Scope:
        batch, first, last = cleaned.get("batch"), cleaned.get("first", "").strip(), cleaned.get("last", "").strip()
        if batch is None:
            raise BatchRejected(_("Choose the batch whose codes to recall."), details={"field": "batch"})
        self._reject_recalled([batch], "batch")
        if not first and not last and self.data.get("kind") != RANGE:  # the link names only the batch
            return scopes.of_batches([batch])
        for name, text in (("first", first), ("last", last)):
            if not text:
                raise BatchRejected(_("Enter the first and the last code to recall."), details={"field": name})
        return scopes.of_range(batch=batch, first=first, last=last)

    def _reject_recalled(self, batches: Sequence[BatchRange], field: str) -> None:
        taken = [batch for batch in batches if self.is_already_recalled(batch)]
        if taken:
            self.already_recalled = taken
            known = self.are_all_in_recall(taken)
            message = _("Already recalled: %(batches)s. Choose others. To add codes to a recall, open its page.")
            details = {"field": field, "is_in_recall": known}
            raise BatchRejected(message % {"batches": scopes.recalled_text(taken)}, details=details)
