"""Forms of recalls: nothing is sent that nobody has looked at."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.models.batches import Recall
from authcodes.recalls import preview as recall_preview
from authcodes.recalls.preview import Preview
from loyalty.models.notifications import Language
from portal.base.forms import TenantForm
from portal.unfold import SwitchWidget, TextareaWidget, TextWidget

SEND_TEST = "send_test"  # the button that mails staff what customers would get, in the language that is its value


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
    if data.get("confirmation", "").strip().replace(",", "") != str(preview.customers):
        return _("Type %(customers)d to send it to that many customers.") % {"customers": preview.customers}
    return ""


def language_named(text: str) -> str:
    """The language of a test; the first one where the page was tampered with."""
    return Language(text).value if text in Language.values else Language.values[0]


class RecallMailForm(forms.Form):
    """Confirms what a recall's page is about to send."""

    confirmation = confirmation_field()
    previewed = forms.CharField(required=False, widget=forms.HiddenInput)


class WithdrawForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        widget=TextareaWidget,
        help_text=gettext_lazy("Why the products are safe. Stored with the recall, for staff only."),
    )


class RecallForm(TenantForm):
    notify_customers = forms.BooleanField(
        label=gettext_lazy("Notify customers"),
        required=False,
        initial=True,
        widget=SwitchWidget,
        help_text=gettext_lazy("Everyone who scanned a code of this batch is notified, at least by e-mail."),
    )
    confirmation = confirmation_field()
    previewed = forms.CharField(required=False, widget=forms.HiddenInput)
    preview: Preview | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["confirmation"].widget = forms.HiddenInput()  # until there is something to confirm

    def clean(self) -> dict[str, Any]:
        """Nothing is sent that nobody has looked at: first the mail is shown, then its number of customers typed."""
        cleaned = super().clean()
        if not self.errors and not self.instance.pk and cleaned.get("notify_customers") and cleaned.get("batch"):
            self._show_preview(cleaned)
        if SEND_TEST in self.data:
            self.add_error(None, _("Nothing has been recalled yet. Check the test, then recall the batch."))
        return cleaned

    def _show_preview(self, cleaned: Mapping[str, Any]) -> None:
        texts = {name: cleaned.get(name, "") for name in ("recall_id", "contact", "message")}
        self.preview = recall_preview.of(Recall(batch=cleaned["batch"], **texts))
        if self.preview.customers:
            self.fields["confirmation"].widget = confirmation_field().widget
        complaint = unconfirmed(self.preview, cleaned)
        if complaint and SEND_TEST not in self.data:
            self.add_error("confirmation", complaint)
        if self.preview.fingerprint != cleaned.get("previewed"):
            data = self.data.copy()  # type: ignore[attr-defined] # a QueryDict
            data["previewed"], data["confirmation"] = self.preview.fingerprint, ""
            self.data = data
