"""Page: a brand's API keys. Making, rotating and revoking each ask why; a new key is shown once, and kept nowhere."""

from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_network
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from brands.access import key_calls
from brands.identity import api_keys
from brands.identity.roles import ACT
from brands.models.credentials import ApiKey
from core.errors import DomainError
from portal.base.badges import badge
from portal.base.confirmation import WhyForm
from portal.base.forms import TenantForm
from portal.base.list_fields import LinesField
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import CheckboxesWidget, ChoicesFilter, SelectWidget, action, display

HOURS = [
    (24, gettext_lazy("1 day")),
    (1, gettext_lazy("1 hour")),
    (24 * 7, gettext_lazy("7 days")),
    (24 * 30, gettext_lazy("30 days")),
    (0, gettext_lazy("None (the old key stops working immediately)")),
]


class RotateForm(WhyForm):
    hours = forms.TypedChoiceField(
        label=gettext_lazy("How long both keys are usable"),
        choices=HOURS,
        coerce=int,
        widget=SelectWidget,
        help_text=gettext_lazy("Time to switch callers to the new key. Then the old key stops working."),
    )
    field_order = ["hours", "reason"]


class NetworksField(LinesField):
    """IP addresses and networks, one on a line; cleaned, a list of networks such as 203.0.113.0/24."""

    def read(self, word: str) -> str:
        return network_in(word)


def network_in(word: str) -> str:
    """Raises ValidationError for what is no network."""
    try:
        return str(ip_network(word))
    except ValueError:
        message = _(
            "'%(network)s' is not a valid IP address or network. Enter one such as 203.0.113.7 or 203.0.113.0/24."
        )
        raise ValidationError(message % {"network": word[:50]}) from None


class ApiKeyForm(TenantForm):
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Scopes"),
        choices=ApiKey.Scope.choices,
        widget=CheckboxesWidget,
        required=False,
        initial=[ApiKey.Scope.READ.value],
        help_text=gettext_lazy("What a hub key may do. Allow only what the system needs. App keys ignore this."),
    )
    networks = NetworksField(
        label=gettext_lazy("Allowed networks"),
        required=False,
        max_length=2000,
        help_text=ApiKey._meta.get_field("networks").help_text,  # noqa: SLF001 - Django's public API of models
    )
    reason = WhyForm.base_fields["reason"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        brand, kind, expires_at = cleaned.get("brand"), cleaned.get("kind"), cleaned.get("expires_at")
        now = timezone.now()
        if kind == ApiKey.Kind.HUB and not cleaned.get("scopes") and "scopes" not in self.errors:
            self.add_error("scopes", _("Choose at least one scope: a hub key without any can do nothing."))
        if expires_at and expires_at <= now:
            self.add_error("expires_at", _("This time is in the past."))
        if brand and kind and api_keys.usable(brand=brand, kind=kind, at=now) >= api_keys.USABLE_AT_ONCE:
            most = {"most": api_keys.USABLE_AT_ONCE}
            self.add_error("kind", _("There are %(most)d usable keys of this kind. Revoke one first.") % most)
        return cleaned


@admin.register(ApiKey)
class ApiKeyAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view add act", "manager": "view"}
    sidebar = SidebarEntry(SETTINGS, 6, "key")
    form = ApiKeyForm
    list_display = ("name", "kind", "beginning", "state", "last_used_at", "expires_at", "created_at")
    list_filter = (("kind", ChoicesFilter),)
    search_fields = ("name", "prefix")
    readonly_fields = ("allowed_scopes", "calls", "beginning", "state", "created_at", "last_used_at", "revoked_at")
    fieldsets = (
        (None, {"fields": ("brand", ("name", "kind"), "allowed_scopes", "networks", "expires_at")}),
        (gettext_lazy("Use"), {"fields": (("beginning", "state"), ("created_at", "last_used_at"), "revoked_at")}),
        (gettext_lazy("Latest calls"), {"fields": ("calls",)}),
    )
    add_fieldsets = ((None, {"fields": ("brand", ("name", "kind"), "scopes", "networks", "expires_at", "reason")}),)
    actions_detail = ("rotate", "revoke")

    @display(description=gettext_lazy("key"))
    def beginning(self, key: ApiKey) -> str:
        return f"{key.prefix}…"

    @display(description=gettext_lazy("scopes"))
    def allowed_scopes(self, key: ApiKey) -> SafeString:
        labels = dict(ApiKey.Scope.choices)
        return format_html_join("", "<p>{}</p>", ((labels.get(scope, scope),) for scope in key.scopes))

    @display(description=gettext_lazy("calls"))
    def calls(self, key: ApiKey) -> SafeString:
        if key.kind != ApiKey.Kind.HUB:
            return mark_safe("—")
        return render_to_string("admin/portal/key_calls.html", {"calls": key_calls.latest(key.pk)})

    @display(description=gettext_lazy("state"))
    def state(self, key: ApiKey) -> SafeString:
        if key.revoked_at:
            return badge("danger", _("Revoked"))
        if not is_usable(key):
            return badge("warning", _("Expired"))
        return badge("success", _("Usable"))

    def has_end_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """A key that opens nothing any more can be neither rotated nor revoked."""
        if object_id is None:
            return False
        key = self.get_object(request, str(object_id))
        return self.may(request, ACT, key) and is_usable(key)

    @action(description=gettext_lazy("Rotate"), url_path="rotate", icon="autorenew", permissions=["end"])
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.ask(request, object_id, RotateForm, "admin/portal/api_key_rotate.html", self.rotated)

    @action(description=gettext_lazy("Revoke"), url_path="revoke", icon="block", permissions=["end"])
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.ask(request, object_id, WhyForm, "admin/portal/api_key_revoke.html", self.revoked)

    def ask(
        self,
        request: HttpRequest,
        object_id: str,
        form_class: type[WhyForm],
        template: str,
        act: Callable[[HttpRequest, ApiKey, Any], HttpResponse],
    ) -> HttpResponse:
        """The page that says what will happen and asks why; posted, it happens, and is written down with it."""
        key = self.get_object(request, object_id)
        if not self.may(request, ACT, key):
            raise PermissionDenied
        form = form_class(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                with transaction.atomic():
                    return act(request, key, form.cleaned_data)
            except DomainError as refusal:
                form.add_error(None, refusal.message)
        context = {**self.about(request, key), "title": _("API key %(key)s") % {"key": key}, "form": form}
        return TemplateResponse(request, template, context)

    def about(self, request: HttpRequest, key: ApiKey) -> dict[str, Any]:
        return {**self.admin_site.each_context(request), "opts": self.opts, "key": key}

    @method_decorator(sensitive_variables("text"))
    def rotated(self, request: HttpRequest, key: ApiKey, context: dict[str, Any]) -> HttpResponse:
        self.remember(request, [key])
        made, text = api_keys.rotate(key=key, at=timezone.now(), grace=timedelta(hours=context["hours"]))
        self.note(request, [key], _("Rotated: %(key)s follows") % {"key": made}, reason=context["reason"])
        self.note(request, [made], _("Added: follows %(key)s") % {"key": key}, reason=context["reason"])
        return self.secret_page(request, made, text)

    def revoked(self, request: HttpRequest, key: ApiKey, context: dict[str, Any]) -> HttpResponse:
        self.remember(request, [key])
        api_keys.revoke(key=key, at=timezone.now())
        self.note(request, [key], _("Revoked"), reason=context["reason"])
        self.message_user(request, _("%(key)s has been revoked.") % {"key": key}, messages.SUCCESS)
        return redirect("admin:brands_apikey_change", key.pk)

    @method_decorator(sensitive_variables())
    def create(self, request: HttpRequest, obj: ApiKey, form: Any) -> ApiKey:  # noqa: ARG002 - the page's signature
        made, text = api_keys.create(
            brand=obj.brand,
            kind=obj.kind,
            name=obj.name,
            at=timezone.now(),
            expires_at=obj.expires_at,
            scopes=obj.scopes,
            networks=obj.networks,
        )
        made.text = text  # type: ignore[attr-defined] # for the answer to this request, which alone shows it
        return made

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: Any = None) -> HttpResponse:  # noqa: ARG002
        return self.secret_page(request, obj, obj.text)  # type: ignore[attr-defined]

    @method_decorator(sensitive_variables("text"))
    @method_decorator(never_cache)
    def secret_page(self, request: HttpRequest, key: ApiKey, text: str) -> HttpResponse:
        """The answer itself, not a page to go to: no cookie, session or cache ever holds the key."""
        context = {
            **self.about(request, key),
            "title": _("Copy the new key"),
            "text": text,
            "next_address": reverse("admin:brands_apikey_changelist"),
        }
        return TemplateResponse(request, "admin/portal/api_key_shown.html", context)


def is_usable(key: ApiKey) -> bool:
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > timezone.now())
