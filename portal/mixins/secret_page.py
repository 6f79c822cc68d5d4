"""Pages that show a secret once: when its row is created, or gets a new one. It is never stored in the clear."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from portal.base.confirmation import ReasonForm
from portal.base.links import admin_address
from portal.base.tenant_admin import TenantAdmin
from portal.shell import saved_drafts
from portal.unfold import SelectWidget

OVERLAPS = [(24, gettext_lazy("1 day")), (1, gettext_lazy("1 hour")), (24 * 7, gettext_lazy("7 days"))]


def hours_field(*, label: Any, more: Sequence[tuple[int, Any]], help_text: Any) -> forms.TypedChoiceField:
    """How long a secret stays valid after it is replaced; `more`: further choices for its kind."""
    return forms.TypedChoiceField(
        label=label, choices=[*OVERLAPS, *more], coerce=int, widget=SelectWidget, help_text=help_text
    )


class RotateForm(ReasonForm):
    """The reason for replacing a secret, below the `hours` that a subclass declares with `hours_field`."""

    field_order = ["hours", "reason"]


class SecretOnceAdmin(TenantAdmin):
    """`create` sets the secret on the row's `text`, for the answer to this request, the only one to show it."""

    secret_title: Any

    def secret_text(self, row: Any) -> SafeString:
        """Whose secret it is, and its purpose."""
        raise NotImplementedError

    def next_address(self, row: Any) -> str:
        """The next page after the secret has been copied."""
        return admin_address(self.opts.label_lower, "change", row.pk)

    def other_ways(self, request: HttpRequest, row: Any) -> list[tuple[Any, str]]:
        """Common next steps, each with its address."""
        return []

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> HttpResponse:
        return self.secret_page(request, obj, obj.text)

    @method_decorator(sensitive_variables("text"))
    @method_decorator(never_cache)
    def secret_page(self, request: HttpRequest, row: Any, text: str) -> HttpResponse:
        """Answers directly instead of redirecting: no cookie, session or cache ever holds the secret."""
        saved_drafts.mark_saved(request)
        context = {
            "title": self.secret_title,
            "explanation": self.secret_text(row),
            "text": text,
            "next_address": self.next_address(row),
            "other_ways": self.other_ways(request, row),
        }
        return self.render_page(request, "admin/portal/secret_page.html", context)
