"""Forms of recalls: what is called back, and with which words. Nothing is sent that nobody has looked at."""

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.utils.translation import get_language_info, gettext_lazy
from django.utils.translation import gettext as _

from authcodes.admin.recalls import summary
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.models.recalls import MAX_PIECES
from authcodes.recalls import preview as recall_preview
from authcodes.recalls import scope
from authcodes.recalls.preview import Preview
from authcodes.recalls.scope import Scope
from brands.scanned import MAX_CODE_LENGTH
from core.forms.digits import AsciiDigits
from core.translations import NAMES, TRANSLATION_LANGUAGES
from loyalty.models.notifications import Language
from portal.base.forms import Lookup
from portal.lists.ids import is_id
from portal.unfold import NumberWidget, RadioWidget, SwitchWidget, TextareaWidget, TextWidget

SEPARATORS = re.compile(r"[\s.,'\u2019\u066c]")  # between thousands, in some language
SEND_TEST = "send_test"  # the button that mails staff what customers would get, in the language that is its value
PRODUCT, BATCHES, RANGE = "product", "batches", "range"
WHAT = [
    (PRODUCT, gettext_lazy("A product, in all its batches")),
    (BATCHES, gettext_lazy("Some batches")),
    (RANGE, gettext_lazy("Some codes of one batch")),
]


class LookupMany(AutocompleteSelectMultiple):
    """Several choices looked up while they are typed. What no row's id can be chooses nothing."""

    def optgroups(self, name: str, value: Sequence[str], attr: dict[str, Any] | None = None) -> Any:
        return super().optgroups(name, [each for each in value if is_id(str(each))], attr)


class WhatForm(AsciiDigits, forms.Form):
    """What is called back. The answers stand in the address, so that the next page can be linked to."""

    what = forms.ChoiceField(
        label=gettext_lazy("What to recall"), choices=WHAT, widget=RadioWidget, initial=PRODUCT, required=False
    )
    product = forms.ModelChoiceField(
        Product.objects.none(),
        label=gettext_lazy("Product"),
        required=False,
        help_text=gettext_lazy("Batches that exist now. A batch that you make later is not recalled."),
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
    left_out: Sequence[BatchRange] = ()  # of what was asked for, recalled already
    mixed: Sequence[str] = ()

    def __init__(self, *args: Any, products: Any, batches: Any, admin_site: Any, **options: Any) -> None:
        super().__init__(*args, **options)
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
    def what_chosen(self) -> str:
        """As the address says it, or as it is meant where it names rows alone."""
        chosen = self.data.get("what") if self.is_bound else ""
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
                self.what_chosen
            ](cleaned)
        except BatchRejected as error:
            place = error.details.get("field")
            self.add_error(place if place in self.fields else None, error.message)
        return cleaned

    def _of_product(self, cleaned: Mapping[str, Any]) -> Scope:
        product = cleaned.get("product")
        if product is None:
            raise BatchRejected(_("Choose the product to recall."), details={"field": "product"})
        rows: Any = self.fields["batches"]
        its = list(rows.queryset.filter(summary.batches_of(product), brand=product.brand_id).order_by("pk"))
        self.left_out = [batch for batch in its if batch.recall_id]
        free = [batch for batch in its if not batch.recall_id]
        if not free:
            text = _("All batches of this product are recalled already.") if its else _("This product has no batches.")
            raise BatchRejected(" ".join([str(text), self.partly_recalled]).strip(), details={"field": "product"})
        result = scope.of_batches(free)
        self.mixed = summary.mixed(result, product)
        return result

    @property
    def partly_recalled(self) -> str:
        """What stays genuine because an earlier recall has only a part of a batch; empty where none has."""
        partly = [batch for batch in self.left_out if batch.is_recalled_in_part]
        if not partly:
            return ""
        named = [f"{batch.range_name}: {batch.recalled_from} … {batch.recalled_to}" for batch in partly]
        message = _(
            "Of these batches only a part is recalled, and their other codes still scan as genuine: %(batches)s. To "
            "recall all of such a batch, an owner withdraws its recall first."
        )
        return message % {"batches": ", ".join(named[: summary.MAX_NAMED])}

    def _of_batches(self, cleaned: Mapping[str, Any]) -> Scope:
        chosen = list(cleaned.get("batches") or ())
        self._reject_recalled(chosen, "batches")
        return scope.of_batches(chosen)

    def _of_range(self, cleaned: Mapping[str, Any]) -> Scope:
        batch, first, last = cleaned.get("batch"), cleaned.get("first", "").strip(), cleaned.get("last", "").strip()
        if batch is None:
            raise BatchRejected(_("Choose the batch whose codes to recall."), details={"field": "batch"})
        self._reject_recalled([batch], "batch")
        if not first and not last and self.data.get("what") != RANGE:  # a link that names the batch alone
            return scope.of_batches([batch])
        for name, text in (("first", first), ("last", last)):
            if not text:
                raise BatchRejected(_("Enter the first and the last code to recall."), details={"field": name})
        return scope.of_range(batch=batch, first=first, last=last)

    def _reject_recalled(self, batches: Sequence[BatchRange], field: str) -> None:
        taken = [batch for batch in batches if batch.recall_id]
        if taken:
            self.left_out = taken
            named = ", ".join(f"{batch.range_name} ({batch.recall})" for batch in taken[: summary.MAX_NAMED])
            message = _("Already recalled: %(batches)s. Choose others, or withdraw that recall first.")
            raise BatchRejected(message % {"batches": named}, details={"field": field})


TRANSLATED = {f"message_{language}": NAMES[language] for language in TRANSLATION_LANGUAGES}
LENGTHS = {"recall_id": 64, "contact": 200, "message": 5000, **dict.fromkeys(TRANSLATED, 5000)}


def unsaved_recall(its: Scope, sent: Mapping[str, str]) -> Recall:
    """A recall with these words, stored nowhere; what is too long is cut."""
    texts = {name: sent.get(name, "").strip()[:length] for name, length in LENGTHS.items()}
    translations = {
        language: {"message": text} for language in TRANSLATION_LANGUAGES if (text := texts.pop(f"message_{language}"))
    }
    return Recall(brand=its.brand, translations=translations, **texts)


def message_field(label: Any, language: str) -> forms.CharField:
    attributes = {"rows": 3, "lang": language, "dir": "rtl" if get_language_info(language)["bidi"] else "ltr"}
    return forms.CharField(
        label=label, required=False, max_length=LENGTHS["message"], widget=TextareaWidget(attrs=attributes)
    )


def confirmation_field() -> forms.CharField:
    return forms.CharField(
        label=gettext_lazy("Number of customers"),
        required=False,
        widget=TextWidget(attrs={"inputmode": "numeric", "autocomplete": "off"}),
        help_text=gettext_lazy("Enter the number of customers shown above. Sent e-mails cannot be recalled."),
    )


def unconfirmed(preview: Preview, data: Mapping[str, Any]) -> str:
    """Why the mails may not go out yet; empty once what was shown is confirmed, or where nobody gets one."""
    if not preview.customers:
        return ""
    if preview.fingerprint != data.get("previewed"):
        return _("Check the preview, then enter the number of customers.")
    if SEPARATORS.sub("", data.get("confirmation", "")) != str(preview.customers):
        return _("Type %(customers)d to send it to that many customers.") % {"customers": preview.customers}
    return ""


def language_named(text: str) -> str:
    """The language of a test; the first one where the page was tampered with."""
    return Language(text).value if text in Language.values else Language.values[0]


class RecallMailForm(AsciiDigits, forms.Form):
    """Confirms what a recall's page is about to send."""

    confirmation = confirmation_field()
    previewed = forms.CharField(required=False, widget=forms.HiddenInput)


class WithdrawForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        widget=TextareaWidget,
        help_text=gettext_lazy("Why the products are safe. Stored with the recall, for staff only."),
    )


class ReturnForm(AsciiDigits, forms.Form):
    """Pieces that came back."""

    pieces = forms.IntegerField(
        label=gettext_lazy("Pieces"),
        min_value=-MAX_PIECES,
        max_value=MAX_PIECES,
        widget=NumberWidget,
        help_text=gettext_lazy("A number below zero corrects an earlier line."),
    )
    returned_on = forms.DateField(
        label=gettext_lazy("Day"),
        widget=TextWidget(attrs={"type": "date"}),
        help_text=gettext_lazy("The day they came back."),
    )
    note = forms.CharField(
        label=gettext_lazy("Note"),
        required=False,
        max_length=500,
        widget=TextWidget,
        help_text=gettext_lazy("Such as the shop. Do not include personal data."),
    )
    form_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)


class MessageForm(AsciiDigits, forms.ModelForm):  # type: ignore[type-arg] # generic in the stubs alone
    """The words of a recall of `its`, what they look like to customers, and the number that confirms them."""

    notify_customers = forms.BooleanField(
        label=gettext_lazy("Notify customers"),
        required=False,
        initial=True,
        widget=SwitchWidget,
        help_text=gettext_lazy("Everyone who scanned one of these codes is notified, at least by e-mail."),
    )
    confirmation = confirmation_field()
    previewed = forms.CharField(required=False, widget=forms.HiddenInput)
    confirmed_scope = forms.CharField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Recall
        fields = ("recall_id", "contact", "message", "reason")
        labels: Mapping[str, Any] = {
            "recall_id": gettext_lazy("Recall number"),
            "message": gettext_lazy("What customers should do"),
            "reason": gettext_lazy("Reason"),
        }
        widgets: Mapping[str, Any] = {
            "recall_id": TextWidget,
            "contact": TextWidget,
            "message": TextareaWidget(attrs={"rows": 4}),
            "reason": TextareaWidget(attrs={"rows": 2}),
        }

    def __init__(self, *args: Any, its: Scope, **options: Any) -> None:
        super().__init__(*args, **options)
        self.its = its
        for name, label in TRANSLATED.items():
            self.fields[name] = message_field(label, name.rpartition("_")[2])
        # Counted once for a page, whatever is asked of it.
        self.preview: Preview = recall_preview.of(self.unsaved(), its)
        self.initial["previewed"], self.initial["confirmed_scope"] = self.preview.fingerprint, its.fingerprint
        if not self.preview.customers:
            self.fields["confirmation"].widget = forms.HiddenInput()

    def unsaved(self) -> Recall:
        """As they are typed so far, stored nowhere."""
        texts = {name: str(self[name].value() or "") for name in ("recall_id", "contact", "message", *TRANSLATED)}
        return unsaved_recall(self.its, texts)

    @property
    def translation_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in TRANSLATED]

    def clean(self) -> dict[str, Any]:
        """First what is sent is looked at, then its number of customers typed."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("confirmed_scope") not in {"", self.its.fingerprint}:
            data = self.data.copy()  # type: ignore[attr-defined] # a QueryDict
            data["confirmed_scope"] = self.its.fingerprint
            self.data = data
            text = _(
                "The codes to recall have changed since this page was opened. Check them above, then recall again."
            )
            self.add_error(None, text)
        if not self.errors and cleaned.get("notify_customers") and SEND_TEST not in self.data:
            complaint = unconfirmed(self.preview, cleaned)
            if complaint:
                self.add_error("confirmation", complaint)
        if self.preview.fingerprint != cleaned.get("previewed"):
            data = self.data.copy()  # type: ignore[attr-defined] # a QueryDict
            data["previewed"], data["confirmation"] = self.preview.fingerprint, ""
            self.data = data
        return cleaned
