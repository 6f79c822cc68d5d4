"""The form of a broadcast: its audience, channels, moment, and its texts in each language."""

import hashlib
import json
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.broadcasts import lifecycle, texts
from campaigns.broadcasts.texts import MAX_CHARACTERS, PART_LABELS, PARTS
from core.errors import Invalid
from core.numbers import grouped
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import Channel, Language
from loyalty.notifications import delivery
from portal.base.forms import TenantForm
from portal.unfold import CheckboxesWidget, TextareaWidget, TextWidget

TEXT_FIELDS = {language: [f"{part}_{language}" for part in PARTS] for language in Language.values}
TEXT_ROWS = {"body": 8, "short_text": 3}  # a subject is a single line


def text_field(part: str, language: str) -> forms.CharField:
    """A text that is not limited here: the check of all texts reports those that are too long."""
    attributes: dict[str, Any] = {"lang": language, "dir": "auto"}
    if part in TEXT_ROWS:
        attributes["rows"] = TEXT_ROWS[part]
    widget = TextareaWidget if part in TEXT_ROWS else TextWidget
    field = forms.CharField(label=PART_LABELS[part], required=False, widget=widget(attrs=attributes), strip=False)
    if language == Language.ENGLISH:
        help_text: Any = lazy(lambda: _("At most %(most)s characters.") % {"most": grouped(MAX_CHARACTERS[part])}, str)
        field.help_text = help_text()
    return field


class BroadcastForm(TenantForm):
    """Rejects texts with invalid placeholders, and missing texts that a chosen channel needs."""

    channels = forms.MultipleChoiceField(
        label=gettext_lazy("Channels"),
        choices=Channel.choices,
        widget=CheckboxesWidget,
        help_text=gettext_lazy(
            "Members get the broadcast through each of these channels, unless they have opted out of that channel."
        ),
    )
    subject_en = text_field("subject", "en")
    body_en = text_field("body", "en")
    short_text_en = text_field("short_text", "en")
    subject_de = text_field("subject", "de")
    body_de = text_field("body", "de")
    short_text_de = text_field("short_text", "de")
    subject_ar = text_field("subject", "ar")
    body_ar = text_field("body", "ar")
    short_text_ar = text_field("short_text", "ar")
    texts_opened = forms.CharField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Broadcast
        fields = "__all__"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        stored = self.instance.texts
        for language, names in TEXT_FIELDS.items():
            for part, name in zip(PARTS, names, strict=True):
                self.initial.setdefault(name, stored.get(language, {}).get(part, ""))
        self.initial["texts_opened"] = version_of(stored)
        if not self.instance.pk:
            self.initial.setdefault("channels", [Channel.EMAIL.value])
        if "segment" in self.fields:
            self.fields["segment"].empty_label = _("All members")  # type: ignore[attr-defined] # a ModelChoiceField

    def clean_send_at(self) -> Any:
        moment = self.cleaned_data["send_at"]
        if moment and "send_at" in self.changed_data:
            try:
                lifecycle.check_moment(moment, at=timezone.now())
            except Invalid as error:
                raise forms.ValidationError(error.message) from None
        return moment

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.instance.pk and cleaned.get("texts_opened") != self.initial["texts_opened"]:
            self.add_error(None, _("Someone else changed the texts in the meantime. Copy yours and reload the page."))
        brand = cleaned.get("brand") or getattr(self.instance, "brand", None)
        if brand is None or "channels" in self.errors:
            return cleaned
        language = delivery.settings_of(brand.pk).language
        for problem in texts.text_problems(
            self.written_texts(cleaned), channels=cleaned["channels"], language=language
        ):
            self.add_error(problem.field, problem.message)
        return cleaned

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc] # missing in the stubs
        self.instance.texts = self.written_texts(self.cleaned_data)

    def typed_texts(self) -> dict[str, dict[str, str]]:
        """The texts as entered, whether valid or not."""
        names = (name for names in TEXT_FIELDS.values() for name in names)
        return self.written_texts({name: str(self.data.get(name, "")) for name in names})

    def written_texts(self, cleaned: dict[str, Any]) -> dict[str, dict[str, str]]:
        written = {
            language: {part: cleaned.get(name, "").strip() for part, name in zip(PARTS, names, strict=True)}
            for language, names in TEXT_FIELDS.items()
        }
        return {language: parts for language, parts in written.items() if any(parts.values())}


def version_of(stored: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()[:24]
