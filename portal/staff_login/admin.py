"""Pages: a brand's sign-in settings, and its staff invitations."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands.identity.roles import ACT, ADD, CHANGE
from brands.models.tenants import Brand
from brands.staff_login import invitations, mails, sessions
from brands.staff_login.models import Invitation, SignInSettings
from brands.tenants import callable_urls
from core.db import row_guard
from core.errors import Invalid
from portal.base.badges import badge
from portal.base.confirmation import ConfirmedAction
from portal.base.forms import TenantForm
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.lists.filters import StateFilter
from portal.staff_login.forms import RoleMixin
from portal.unfold import ChoicesFilter, PasswordWidget, action, display

# A change of one of these means another provider, or none.
PROVIDER = ("oidc_active", "oidc_issuer", "oidc_client_id")


class SignInForm(TenantForm):
    """The client secret can be set but is never shown; if left empty it stays."""

    class Meta:
        widgets = {"oidc_client_secret": PasswordWidget(attrs={"autocomplete": "off"})}

    stored_secret: str

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.stored_secret = self.initial.pop("oidc_client_secret", "")

    def clean_oidc_issuer(self) -> str:
        issuer: str = self.cleaned_data["oidc_issuer"].strip()
        if issuer:
            try:
                callable_urls.callable_address(issuer)
            except Invalid as error:
                raise ValidationError(error.message) from error
        return issuer

    def clean_oidc_client_secret(self) -> str:
        """The secret belongs to its issuer: it must not be sent to another one, and goes with the issuer."""
        typed: str = self.cleaned_data["oidc_client_secret"]
        stored_issuer = self.initial.get("oidc_issuer")
        issuer = self.cleaned_data.get("oidc_issuer", stored_issuer)
        if typed or not self.stored_secret or not issuer:
            return typed
        if issuer != stored_issuer:
            raise ValidationError(_("Enter the client secret of the new issuer."))
        return self.stored_secret


@admin.register(SignInSettings)
class SignInSettingsAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view add change", "manager": "view"}
    sidebar = SidebarEntry(SETTINGS, 7, "passkey", tab=False)
    form = SignInForm
    list_display = ("__str__", "second_factor_required", "oidc_active", "oidc_issuer")
    list_select_related = ("brand",)
    readonly_fields = ("sign_in_address", "return_address")
    fieldsets = (
        (None, {"fields": ("brand", "second_factor_required")}),
        (
            gettext_lazy("Identity provider (OpenID Connect)"),
            {
                "fields": (
                    "oidc_active",
                    "oidc_issuer",
                    ("oidc_client_id", "oidc_client_secret"),
                    ("sign_in_address", "return_address"),
                )
            },
        ),
    )

    def store(self, obj: SignInSettings, fields: set[str]) -> None:
        """Without an issuer the secret is deleted, though its field was empty before and after."""
        super().store(obj, fields if obj.oidc_issuer else fields | {"oidc_client_secret"})

    def response_change(self, request: HttpRequest, obj: SignInSettings) -> HttpResponse:
        """Called last, because the user's own session may be one of those that end."""
        response = super().response_change(request, obj)
        before: SignInSettings = self.row_before(request, obj)
        if before.oidc_active and any(getattr(before, name) != getattr(obj, name) for name in PROVIDER):
            sessions.end_of_provider(request, brand_id=obj.brand_id)
        return response

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Read-only users see no secret: Django shows read-only fields as plain text."""
        if self.may(request, CHANGE if obj else ADD, obj):
            return super().get_fieldsets(request, obj)
        provider = ("oidc_active", "oidc_issuer", "oidc_client_id", ("sign_in_address", "return_address"))
        return (self.fieldsets[0], (self.fieldsets[1][0], {"fields": provider}))

    @display(description=gettext_lazy("login address"))
    def sign_in_address(self, settings: SignInSettings) -> SafeString | str:
        return self.path_of("admin:brand_sign_in", settings)

    @display(description=gettext_lazy("redirect URI, for the provider"))
    def return_address(self, settings: SignInSettings) -> SafeString | str:
        return self.path_of("admin:brand_sign_in_done", settings)

    def path_of(self, page: str, settings: SignInSettings) -> SafeString | str:
        if not settings.pk:
            return _("Shown after you save.")
        path = reverse(page, args=[settings.brand.slug])
        return format_html(
            '<span class="once-shown">{}</span>', _("the portal's address, then %(path)s") % {"path": path}
        )


class InvitationForm(RoleMixin, TenantForm):
    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        return email.lower()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("brand") and cleaned.get("email"):
            try:
                invitations.check(brand=cleaned["brand"], email=cleaned["email"])
            except Invalid as error:
                self.add_domain_error(error)
        return cleaned


class InvitationStateFilter(StateFilter):
    title = gettext_lazy("state")
    parameter_name = "state"
    states: ClassVar = dict(Invitation.State.choices)

    def condition(self, value: str, brands: Sequence[Brand]) -> Q:
        unused, now = Q(pk__in=Invitation.objects.unused()), timezone.now()
        return {
            Invitation.State.PENDING: unused & Q(expires_at__gt=now),
            Invitation.State.ACCEPTED: Q(accepted_at__isnull=False),
            Invitation.State.EXPIRED: unused & Q(expires_at__lte=now),
            Invitation.State.REVOKED: Q(revoked_at__isnull=False),
        }[Invitation.State(value)]


STATE_COLOURS = {"pending": "info", "accepted": "success", "expired": "warning", "revoked": "danger"}


@admin.register(Invitation)
class InvitationAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view add act", "manager": "view"}
    sidebar = SidebarEntry(SETTINGS, 6, "person_add", tab=False)
    form = InvitationForm
    list_display = ("email", "role", "state", "mail", "invited_by", "created_at", "expires_at")
    list_filter = (InvitationStateFilter, ("role", ChoicesFilter))
    list_select_related = ("invited_by",)
    search_fields = ("email__istartswith",)
    readonly_fields = ("state", "mail", "invited_by", "created_at", "expires_at", "accepted_at", "revoked_at")
    fieldsets = (
        (None, {"fields": ("brand", ("email", "role"), ("state", "invited_by"), "mail")}),
        (None, {"fields": (("created_at", "expires_at"), ("accepted_at", "revoked_at"))}),
    )
    add_fieldsets = (
        (
            None,
            {
                "fields": ("brand", "email", "role"),
                "description": gettext_lazy(
                    "The person receives an e-mail with a link to set a password or log in. "
                    "They then have the role. The link is valid for 7 days. Owners can do "
                    "everything, including inviting owners."
                ),
            },
        ),
    )
    actions_detail = ("send_again", "revoke")

    @display(description=gettext_lazy("state"))
    def state(self, invitation: Invitation) -> SafeString:
        state = invitation.state(at=timezone.now())
        return badge(STATE_COLOURS[state], state.label)

    @display(description=gettext_lazy("mail"))
    def mail(self, invitation: Invitation) -> SafeString | str:
        """The state of the mail; a dash if none was sent before the invitation ended."""
        if invitation.mailed_at:
            return badge("success", _("Sent"))
        if invitation.state(at=timezone.now()) != Invitation.State.PENDING:
            return "—"
        if invitation.mail_has_failed:
            return badge("danger", _("Failed: check the address and send it again"))
        if invitation.failed_mails:
            return badge("warning", _("Failed so far; retried every minute"))
        return badge("info", _("Waiting"))

    def create(self, request: HttpRequest, obj: Invitation, form: Any) -> Invitation:
        made = invitations.create(
            brand=obj.brand, email=obj.email, role=obj.role, by=staff_user(request), at=timezone.now()
        )
        self.queue_mail(request, made)
        return made

    def queue_mail(self, request: HttpRequest, invitation: Invitation) -> None:
        with row_guard.disabled("mails to staff have no brand, and origin_of compares the hostnames of all brands"):
            mails.write_invitation(invitation=invitation, origin=mails.origin_of(request))

    def has_open_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        row = self.addressed_row(request, object_id)
        is_open = row is not None and row.accepted_at is None and row.revoked_at is None
        return is_open and self.may(request, ACT, row)

    @action(description=gettext_lazy("Send again"), url_path="send", icon="forward_to_inbox", permissions=["open"])
    def send_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        message = _(
            "A new e-mail will be sent to %(email)s. Its link is valid for 7 "
            "days. Earlier links stop working immediately."
        )
        title = _("Send the invitation again?")
        return self.confirmed(request, object_id, self.do_send_again, title, message, _("Send again"))

    @action(description=gettext_lazy("Revoke"), url_path="revoke", icon="block", permissions=["open"])
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        message = _("The link sent to %(email)s stops working immediately.")
        return self.confirmed(request, object_id, self.do_revoke, _("Revoke the invitation?"), message, _("Revoke"))

    def do_send_again(self, request: HttpRequest, invitation: Invitation) -> None:
        self.remember(request, [invitation])
        invitations.renew(invitation=invitation, by=staff_user(request), at=timezone.now())
        self.queue_mail(request, invitation)
        self.record_action(request, [invitation], gettext_noop("Sent again"))
        self.message_user(request, _("An e-mail is being sent to %(email)s.") % {"email": invitation.email})

    def do_revoke(self, request: HttpRequest, invitation: Invitation) -> None:
        self.remember(request, [invitation])
        invitations.revoke(invitation=invitation, at=timezone.now())
        self.record_action(request, [invitation], gettext_noop("Revoked"))
        self.message_user(request, _("Invitation of %(email)s revoked.") % {"email": invitation.email})

    def confirmed(
        self,
        request: HttpRequest,
        object_id: str,
        act: Callable[[HttpRequest, Invitation], None],
        title: str,
        text: str,
        button: str,
    ) -> HttpResponse:
        invitation = self.get_object(request, object_id)
        action = ConfirmedAction(
            title=title,
            paragraphs=[text % {"email": invitation.email}],
            form=forms.Form,
            button=button,
        )
        return action.respond(self, request, invitation, lambda _answers: act(request, invitation))
