"""Forms that ask staff why they do something; the audit log keeps the reason."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from portal.unfold import TextareaWidget


def reason_field(help_text: Any) -> forms.CharField:
    return forms.CharField(
        label=gettext_lazy("Reason"), max_length=500, widget=TextareaWidget(attrs={"rows": 3}), help_text=help_text
    )


class ReasonForm(forms.Form):
    """Why, in a few words."""

    reason = reason_field(gettext_lazy("Shown to staff in the audit log."))


class UnnamedReasonForm(ReasonForm):
    """Why, without a word of who it is about: the reason outlives their data."""

    reason = reason_field(gettext_lazy("Shown to staff in the audit log. Do not include personal data."))
