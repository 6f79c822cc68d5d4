"""Pages whose rows sign what we send: a secret is shown once, when it is made or rotated; each act asks why."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from brands.identity.roles import ACT
from brands.tenants import callable_urls
from core.errors import DomainError
from loyalty.integrations import signing_secrets
from loyalty.models.signing_secret import SigningSecretModel
from portal.base.confirmation import WhyForm
from portal.base.forms import TenantForm
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import SelectWidget, action

HOURS = [
    (24, gettext_lazy("1 day")),
    (1, gettext_lazy("1 hour")),
    (24 * 7, gettext_lazy("7 days")),
    (0, gettext_lazy("No overlap (the old secret has leaked)")),
]


class CalledForm(TenantForm):
    """What has an address that we call."""

    def clean_url(self) -> str:
        try:
            return callable_urls.callable_address(self.cleaned_data["url"])
        except DomainError as refusal:
            raise forms.ValidationError(refusal.message) from refusal


class RotateForm(WhyForm):
    hours = forms.TypedChoiceField(
        label=gettext_lazy("How long the old secret stays valid"),
        choices=HOURS,
        coerce=int,
        widget=SelectWidget,
        help_text=gettext_lazy("Time for the receiver to change over. Until it ends, both secrets verify."),
    )
    field_order = ["hours", "reason"]


class SigningSecretAdmin(TenantAdmin):
    """What the pages of webhooks and of external systems share."""

    def has_turn_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return object_id is not None and self.may(request, ACT, self.get_object(request, str(object_id)))

    @action(description=gettext_lazy("Rotate secret"), url_path="rotate", icon="autorenew", permissions=["turn"])
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        words = _("A new secret replaces the current one. It is shown once, on the next page.")
        return self.ask(
            request, object_id, RotateForm, self.rotated, text=words, button=_("Rotate and show the secret")
        )

    def ask(
        self,
        request: HttpRequest,
        object_id: str,
        form_class: type[forms.Form],
        act: Callable[[HttpRequest, Any, Any], HttpResponse],
        *,
        text: str,
        button: str,
    ) -> HttpResponse:
        """The page that says what will happen and asks what the form asks; posted, it happens, and is written down."""
        row = self.get_object(request, object_id)
        if not self.may(request, ACT, row):
            raise PermissionDenied
        form = form_class(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            try:
                with transaction.atomic():
                    return act(request, row, form.cleaned_data)
            except DomainError as refusal:
                form.add_error(None, refusal.message)
        context = {**self.about(request, row), "title": str(row), "form": form, "words": text, "button": button}
        return TemplateResponse(request, "admin/loyalty/ask_why.html", context)

    def about(self, request: HttpRequest, row: SigningSecretModel) -> dict[str, Any]:
        return {**self.admin_site.each_context(request), "opts": self.opts, "row": row}

    @method_decorator(sensitive_variables("text"))
    def rotated(self, request: HttpRequest, row: Any, context: dict[str, Any]) -> HttpResponse:
        self.remember(request, [row])
        text = signing_secrets.rotate(row=row, at=timezone.now(), grace=timedelta(hours=context["hours"]))
        self.note(request, [row], _("Secret rotated"), reason=context["reason"])
        return self.secret_page(request, row, text)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> HttpResponse:  # noqa: ARG002
        return self.secret_page(request, obj, obj.text)

    @method_decorator(sensitive_variables("text"))
    @method_decorator(never_cache)
    def secret_page(self, request: HttpRequest, row: Any, text: str) -> HttpResponse:
        """The answer itself, not a page to go to: no cookie, session or cache ever holds the secret."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        context = {
            **self.about(request, row),
            "title": _("Copy the secret"),
            "text": text,
            "next_address": reverse(name, args=[row.pk]),
        }
        return TemplateResponse(request, "admin/loyalty/secret_shown.html", context)
