"""Page: a brand's API keys. Creating, rotating and revoking require a reason. A new key is shown once."""

from datetime import timedelta
from functools import partial
from ipaddress import ip_network
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.debug import sensitive_variables

from brands.access import key_calls
from brands.identity import api_keys
from brands.identity.roles import ACT
from brands.models.credentials import ApiKey
from portal.base.badges import badge
from portal.base.confirmation import ConfirmedAction, ReasonForm
from portal.base.forms import LinesField, TenantForm
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.lists.bidi import display_code
from portal.lists.local_time import moment_text
from portal.mixins.secret_page import RotateForm, SecretOnceAdmin, hours_field
from portal.unfold import CheckboxesWidget, ChoicesFilter, action, display


class RotateKeyForm(RotateForm):
    hours = hours_field(
        label=gettext_lazy("How long both keys are usable"),
        more=[(24 * 30, gettext_lazy("30 days")), (0, gettext_lazy("None (the old key stops working immediately)"))],
        help_text=gettext_lazy("Time to switch callers to the new key. Then the old key stops working."),
    )


class NetworksField(LinesField):
    """IP addresses and networks, one per line; cleaned to a list of networks such as 203.0.113.0/24."""

    def read(self, word: str) -> str:
        return network_in(word)


def network_in(word: str) -> str:
    """Raises ValidationError for an invalid network."""
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
        help_text=ApiKey._meta.get_field("networks").help_text,
    )
    reason = ReasonForm.base_fields["reason"]

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
class ApiKeyAdmin(SecretOnceAdmin):
    role_permissions: ClassVar = {"owner": "view add act", "manager": "view"}
    sidebar = SidebarEntry(SETTINGS, 3, "key")
    secret_title = gettext_lazy("Copy the new key")
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
    def beginning(self, key: ApiKey) -> SafeString:
        return display_code(f"{key.prefix}…")

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
        """An unusable key can be neither rotated nor revoked."""
        key = self.addressed_row(request, object_id)
        return key is not None and self.may(request, ACT, key) and is_usable(key)

    @action(description=gettext_lazy("Rotate"), url_path="rotate", icon="autorenew", permissions=["end"])
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        key = self.get_object(request, object_id)
        action = ConfirmedAction(
            title=_("Rotate this key?"),
            paragraphs=[_("A new key replaces this one. Both keys work for the time that you choose.")],
            form=RotateKeyForm,
            button=_("Rotate and show the new key"),
        )
        return action.respond(self, request, key, partial(self.rotated, request, key))

    @action(description=gettext_lazy("Revoke"), url_path="revoke", icon="block", permissions=["end"])
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        key = self.get_object(request, object_id)
        used = key.last_used_at and moment_text(key.last_used_at, key.brand.zone)
        action = ConfirmedAction(
            title=_("Revoke this key?"),
            paragraphs=[
                _("Calls with this key will be rejected from now on. This cannot be undone."),
                _("Last used: %(at)s") % {"at": used} if used else _("This key was never used."),
            ],
            button=_("Revoke key"),
            dangerous=True,
        )
        return action.respond(self, request, key, partial(self.revoked, request, key))

    @method_decorator(sensitive_variables("text"))
    def rotated(self, request: HttpRequest, key: ApiKey, answers: dict[str, Any]) -> HttpResponse:
        self.remember(request, [key])
        made, text = api_keys.rotate(key=key, at=timezone.now(), grace=timedelta(hours=answers["hours"]))
        self.record_action(
            request, [key], gettext_noop("Rotated: %(key)s follows") % {"key": made}, reason=answers["reason"]
        )
        self.record_action(
            request, [made], gettext_noop("Added: follows %(key)s") % {"key": key}, reason=answers["reason"]
        )
        return self.secret_page(request, made, text)

    def revoked(self, request: HttpRequest, key: ApiKey, answers: dict[str, Any]) -> None:
        self.remember(request, [key])
        api_keys.revoke(key=key, at=timezone.now())
        self.record_action(request, [key], gettext_noop("Revoked"), reason=answers["reason"])
        self.message_user(request, _("%(key)s has been revoked.") % {"key": key}, messages.SUCCESS)

    @method_decorator(sensitive_variables())
    def create(self, request: HttpRequest, obj: ApiKey, form: Any) -> ApiKey:
        made, text = api_keys.create(
            brand=obj.brand,
            kind=obj.kind,
            name=obj.name,
            at=timezone.now(),
            expires_at=obj.expires_at,
            scopes=obj.scopes,
            networks=obj.networks,
        )
        made.text = text  # type: ignore[attr-defined] # for the answer to this request, the only one to show it
        return made

    def next_address(self, row: ApiKey) -> str:
        return reverse("admin:brands_apikey_changelist")

    def secret_text(self, row: ApiKey) -> SafeString:
        message = _("This is the key {} of {}. Copy it now. It is shown only once.")
        return format_html(message, format_html("<strong>{}</strong>", row.name), row.brand)


def is_usable(key: ApiKey) -> bool:
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > timezone.now())
