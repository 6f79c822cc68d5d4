"""The confirmation page of an action: it states the consequences and asks for a reason; its button runs the action."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy

from core.errors import DomainError
from portal.base.forms import add_domain_error
from portal.base.page_views import PageViews
from portal.unfold import TextareaWidget


def reason_field(help_text: Any, *, max_length: int = 500) -> forms.CharField:
    """The field for a reason, in a few lines; `help_text` says where it is stored."""
    widget = TextareaWidget(attrs={"rows": 3})
    return forms.CharField(label=gettext_lazy("Reason"), max_length=max_length, widget=widget, help_text=help_text)


class ReasonForm(forms.Form):
    """The reason for an action, stored in the audit log."""

    reason = reason_field(gettext_lazy("Shown to staff in the audit log."))


class UnnamedReasonForm(ReasonForm):
    """A reason without personal data, because it outlives the person's data."""

    reason = reason_field(gettext_lazy("Shown to staff in the audit log. Do not include personal data."))


CANCEL = gettext_lazy("Cancel")


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfirmedAction:
    """An action on a row, or on rows selected in a list. The caller has checked the user's permission."""

    title: Any
    paragraphs: Sequence[Any] = ()
    consequences: Sequence[Any] = ()  # as a list below the paragraphs
    button: Any
    form: Callable[[Any], forms.Form] = ReasonForm
    dangerous: bool = False
    cancel: Any = CANCEL
    back_to: str = ""  # where to go afterwards; if empty, to the row's page or, without a row, to this address
    resent: Sequence[tuple[str, Any]] = ()  # the POST data of a list's action, which the answer sends again
    template: str = "admin/portal/confirm.html"
    context: Mapping[str, Any] = field(default_factory=dict)

    def respond(
        self, page: PageViews, request: HttpRequest, row: Any, act: Callable[[dict[str, Any]], HttpResponse | None]
    ) -> HttpResponse:
        """Show the page or, after it is submitted, return the answer of `act`, or the previous page. A DomainError
        rolls everything back, and the form shows its message. `row`: None for several, which `consequences` names."""
        form = self.form(request.POST if self.is_answered(request) else None)
        rows_page = "" if row is None else reverse(f"admin:{page.url_name('change')}", args=[row.pk])
        back = self.back_to or rows_page or request.get_full_path()
        if form.is_valid():
            try:
                with transaction.atomic():
                    return act(form.cleaned_data) or redirect(back)
            except DomainError as error:
                add_domain_error(form, error)
        context = {
            "original": row,  # for the breadcrumb
            "row": row,
            "back": back,
            **{name: getattr(self, name) for name in IN_CONTEXT},
            "form": form,
            **self.context,
        }
        return page.render_page(request, self.template, context)

    def is_answered(self, request: HttpRequest) -> bool:
        """Whether the form was submitted. The selection in a list is also sent by POST, but without an answer."""
        return request.method == "POST" and (not self.resent or "reason" in request.POST)


IN_CONTEXT = ("title", "paragraphs", "consequences", "button", "dangerous", "cancel", "resent")
