"""The form that asks why before something is done."""

from django import forms
from django.utils.translation import gettext_lazy

from portal.unfold import TextareaWidget


class WhyForm(forms.Form):
    """Why something is done; kept in the audit log."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        widget=TextareaWidget(attrs={"rows": 3}),
        help_text=gettext_lazy("Stored in the audit log."),
    )
