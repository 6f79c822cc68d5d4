"""Page: how the staff of a brand sign in."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands import addresses
from brands.audited import CHOSEN
from brands.portal import TenantAdmin, TenantForm
from brands.refusals import Invalid
from brands.roles import ADD, CHANGE
from brands.staff_login import sessions
from brands.staff_login.models import SignInSettings
from brands.unfolded import PasswordWidget, display

# Another value of one of these is another provider, or none.
PROVIDER = ("oidc_active", "oidc_issuer", "oidc_client_id")


class SignInForm(TenantForm):
    """The client secret is written and never shown; left empty it stays."""

    class Meta:
        widgets = {"oidc_client_secret": PasswordWidget(attrs={"autocomplete": "off"})}

    kept: str  # the secret as it is stored

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.kept = self.initial.pop("oidc_client_secret", "")

    def clean_oidc_issuer(self) -> str:
        issuer: str = self.cleaned_data["oidc_issuer"].strip()
        if issuer:
            try:
                addresses.callable_address(issuer)
            except Invalid as refusal:
                raise ValidationError(refusal.message) from refusal
        return issuer

    def clean_oidc_client_secret(self) -> str:
        """Kept for the provider that it was made for: another one must not be sent it."""
        typed: str = self.cleaned_data["oidc_client_secret"]
        if typed or not self.kept:
            return typed
        if self.cleaned_data.get("oidc_issuer", self.initial.get("oidc_issuer")) != self.initial.get("oidc_issuer"):
            raise ValidationError(_("Type the client secret of the new issuer."))
        return self.kept


@admin.register(SignInSettings)
class SignInPage(TenantAdmin):
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

    def response_change(self, request: HttpRequest, obj: SignInSettings) -> HttpResponse:
        """Last, because the session of whoever does it may be one of those that end."""
        response = super().response_change(request, obj)
        before: SignInSettings = getattr(request, CHOSEN)[obj.pk]
        if before.oidc_active and any(getattr(before, name) != getattr(obj, name) for name in PROVIDER):
            sessions.end_of_provider(request, brand_id=obj.brand_id)
        return response

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Who may only look sees no secret: Django shows a field that is not for changing as it is."""
        if self.may(request, CHANGE if obj else ADD, obj):
            return super().get_fieldsets(request, obj)
        provider = ("oidc_active", "oidc_issuer", "oidc_client_id", ("sign_in_address", "return_address"))
        return (self.fieldsets[0], (self.fieldsets[1][0], {"fields": provider}))

    @display(description=gettext_lazy("sign-in address"))
    def sign_in_address(self, settings: SignInSettings) -> SafeString | str:
        return self.path_of("admin:brand_sign_in", settings)

    @display(description=gettext_lazy("redirect URI, for the provider"))
    def return_address(self, settings: SignInSettings) -> SafeString | str:
        return self.path_of("admin:brand_sign_in_done", settings)

    def path_of(self, page: str, settings: SignInSettings) -> SafeString | str:
        if not settings.pk:
            return _("Shown once this is saved.")
        path = reverse(page, args=[settings.brand.slug])
        return format_html(
            '<span class="once-shown">{}</span>', _("the portal's address, then %(path)s") % {"path": path}
        )
