"""Model admins of rows with a signing secret, shown only when created or rotated. Actions ask for a reason."""

from datetime import timedelta
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.debug import sensitive_variables

from brands.tenants import callable_urls
from core.errors import DomainError
from loyalty.integrations import signing_secrets
from portal.base.confirmation import ConfirmedAction
from portal.base.forms import TenantForm
from portal.mixins.secret_page import RotateForm, SecretOnceAdmin, hours_field
from portal.unfold import action


class CalledForm(TenantForm):
    """A form with the URL of a server that the service calls."""

    def clean_url(self) -> str:
        try:
            return callable_urls.callable_address(self.cleaned_data["url"])
        except DomainError as error:
            raise forms.ValidationError(error.message) from error


class RotateSecretForm(RotateForm):
    hours = hours_field(
        label=gettext_lazy("How long the old secret stays valid"),
        more=[(0, gettext_lazy("No overlap (the old secret has leaked)"))],
        help_text=gettext_lazy("Time to switch the receiver to the new secret. Until then, both secrets are valid."),
    )


class SigningSecretAdmin(SecretOnceAdmin):
    """Shared by the model admins of webhooks and of external systems."""

    secret_title = gettext_lazy("Copy the secret")

    @action(description=gettext_lazy("Rotate secret"), url_path="rotate", icon="autorenew", permissions=["act_on_row"])
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self.get_object(request, object_id)
        action = ConfirmedAction(
            title=_("Rotate the secret?"),
            paragraphs=[_("A new secret replaces the current one. It is shown once, on the next page.")],
            form=RotateSecretForm,
            button=_("Rotate and show the secret"),
        )
        return action.respond(self, request, row, partial(self.rotated, request, row))

    @method_decorator(sensitive_variables("text"))
    def rotated(self, request: HttpRequest, row: Any, answers: dict[str, Any]) -> HttpResponse:
        self.remember(request, [row])
        text = signing_secrets.rotate(row=row, at=timezone.now(), grace=timedelta(hours=answers["hours"]))
        self.record_action(request, [row], gettext_noop("Secret rotated"), reason=answers["reason"])
        return self.secret_page(request, row, text)

    def secret_text(self, row: Any) -> SafeString:
        message = _(
            "This is the secret of {} ({}). The receiver verifies signatures with it. "
            "Copy it now. It is shown only once."
        )
        return format_html(message, format_html("<strong>{}</strong>", row), row.brand)
