"""Forms of recalls: the message and its confirmation. Nothing is sent before the user has seen its preview."""

import re
import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms.forms import DeclarativeFieldsMetaclass
from django.utils.translation import get_language_info, gettext_lazy
from django.utils.translation import gettext as _

from authcodes.models.batches import Recall
from authcodes.models.recalls import MAX_PIECES
from authcodes.recalls import preview as recall_preview
from authcodes.recalls.preview import Preview
from authcodes.recalls.scopes import Scope
from core.forms.digits import AsciiDigits
from core.translations import NAMES, TRANSLATION_LANGUAGES
from loyalty.models.notifications import Language
from portal.unfold import NumberWidget, SwitchWidget, TextareaWidget, TextWidget

SEPARATORS = re.compile(r"[\s.,'\u2019\u066c]")  # between thousands, in various languages
SEND_TEST = "send_test"  # mails the customers' message to staff; the button's value is the language
TRANSLATED = {f"message_{language}": NAMES[language] for language in TRANSLATION_LANGUAGES}
LENGTHS = {"recall_id": 64, "contact": 200, "message": 5000, **dict.fromkeys(TRANSLATED, 5000)}


def unsaved_recall(scope: Scope, sent: Mapping[str, str]) -> Recall:
    """An unsaved recall with these texts; texts that are too long are truncated."""
    texts = {name: sent.get(name, "").strip()[:length] for name, length in LENGTHS.items()}
    translations = {
        language: {"message": text} for language in TRANSLATION_LANGUAGES if (text := texts.pop(f"message_{language}"))
    }
    return Recall(brand=scope.brand, translations=translations, **texts)


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
    """Why the messages may not be sent yet; empty once the preview is confirmed, or if there are no customers."""
    if not preview.customers:
        return ""
    if preview.fingerprint != data.get("previewed"):
        return _("Check the preview, then enter the number of customers.")
    if SEPARATORS.sub("", data.get("confirmation", "")) != str(preview.customers):
        return _("Enter %(customers)d to send the message to that many customers.") % {"customers": preview.customers}
    return ""


def show(form: Any, **values: str) -> None:
    """Show these values instead of the submitted ones."""
    form.data = form.data.copy()
    for name, value in values.items():
        form.data[name] = value


def language_named(text: str) -> str:
    """The language of a test send; the first one if the value is invalid."""
    return Language(text).value if text in Language.values else Language.values[0]


class RecallMailForm(AsciiDigits, forms.Form):
    """Confirms the messages that a recall's page is about to send."""

    confirmation = confirmation_field()
    previewed = forms.CharField(required=False, widget=forms.HiddenInput)


class WithdrawForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        widget=TextareaWidget,
        help_text=gettext_lazy("Why the products are safe. Stored with the recall, for staff only."),
    )


class ReturnForm(AsciiDigits, forms.Form):
    """Pieces that were returned."""

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
        help_text=gettext_lazy("The day on which the pieces came back."),
    )
    note = forms.CharField(
        label=gettext_lazy("Note"),
        required=False,
        max_length=500,
        widget=TextWidget,
        help_text=gettext_lazy("Such as the shop. Do not include personal data."),
    )
    form_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)


class ConfirmedForm(AsciiDigits, metaclass=DeclarativeFieldsMetaclass):
    """Mixin of a form that recalls `scope` once the preview was seen and the number of customers typed."""

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

    scope: Scope
    preview: Preview

    def set_preview(self, preview: Preview, scope: Scope) -> None:
        """Set what the page shows and asks the user to confirm."""
        form: Any = self
        self.scope, self.preview = scope, preview
        form.initial |= {"previewed": preview.fingerprint, "confirmed_scope": scope.fingerprint}
        if not preview.customers:
            form.fields["confirmation"].widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        form: Any = self
        cleaned: dict[str, Any] = super().clean() or form.cleaned_data  # type: ignore[misc] # the form's
        if cleaned.get("confirmed_scope") not in {"", self.scope.fingerprint}:
            show(form, confirmed_scope=self.scope.fingerprint)
            text = _(
                "The codes to recall have changed since this page was opened. Check them above, then recall again."
            )
            form.add_error(None, text)
        if not form.errors and cleaned.get("notify_customers") and SEND_TEST not in form.data:
            complaint = unconfirmed(self.preview, cleaned)
            if complaint:
                form.add_error("confirmation", complaint)
        if self.preview.fingerprint != cleaned.get("previewed"):
            show(form, previewed=self.preview.fingerprint, confirmation="")
        return cleaned


class MessageForm(ConfirmedForm, forms.ModelForm):  # type: ignore[type-arg] # generic only in the stubs
    """The message of a recall of `scope`, its preview for customers, and the number that confirms it."""

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

    def __init__(self, *args: Any, scope: Scope, **options: Any) -> None:
        super().__init__(*args, **options)
        self.scope = scope
        for name, label in TRANSLATED.items():
            self.fields[name] = message_field(label, name.rpartition("_")[2])
        # Count the customers once for each page.
        self.set_preview(recall_preview.of(self.unsaved(), scope), scope)

    def unsaved(self) -> Recall:
        """The recall as typed so far, not saved."""
        texts = {name: str(self[name].value() or "") for name in ("recall_id", "contact", "message", *TRANSLATED)}
        return unsaved_recall(self.scope, texts)

    @property
    def translation_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in TRANSLATED]
