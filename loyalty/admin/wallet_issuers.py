"""Page: a brand's certificates and keys for wallets. Uploads are checked against each other and never shown."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from brands.audit_log import HIDDEN
from brands.identity.roles import ADD, CHANGE
from core.errors import Invalid
from loyalty.models.wallets import Platform, WalletIssuer, WalletPass
from loyalty.wallets import issuers, passes
from loyalty.wallets.apple import certificates
from loyalty.wallets.apple.certificates import AppleKeys, Upload
from loyalty.wallets.google import issuer_keys
from loyalty.wallets.google.issuer_keys import GoogleKeys
from portal.base.badges import badge
from portal.base.confirmation import ConfirmedAction
from portal.base.forms import TenantForm
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import ChoicesFilter, FileWidget, PasswordWidget, TextWidget, action, display

MAX_FILE_BYTES = 100_000  # bytes; keys and certificates take a few thousand


def file_field(label: Any, text: Any) -> forms.FileField:
    return forms.FileField(label=label, help_text=text, required=False, widget=FileWidget)


class IssuerForm(TenantForm):
    """Everything that a platform needs in one upload, because old and new files do not match."""

    certificate = file_field(
        gettext_lazy("Pass Type ID certificate"), gettext_lazy(".cer, .pem, or .p12 with its key.")
    )
    key = file_field(gettext_lazy("Private key"), gettext_lazy(".pem or .key; not needed with a .p12 file."))
    password = forms.CharField(
        label=gettext_lazy("Password"),
        required=False,
        max_length=200,
        strip=False,
        widget=PasswordWidget,
        help_text=gettext_lazy("Password of the key or .p12 file, if it has one. It is not stored."),
    )
    authority = file_field(
        gettext_lazy("WWDR certificate"),
        gettext_lazy("Apple's intermediate certificate of the same generation, such as AppleWWDRCAG4.cer."),
    )
    push_key = file_field(
        gettext_lazy("APNs key"),
        gettext_lazy("Optional .p8 file. Without it, pushes are authenticated by the certificate."),
    )
    push_key_id = forms.CharField(
        label=gettext_lazy("APNs key id"),
        required=False,
        max_length=10,
        widget=TextWidget,
        help_text=gettext_lazy("Ten letters and digits."),
    )
    service_account = file_field(gettext_lazy("Service account"), gettext_lazy("The JSON key file from Google."))
    issuer_id = forms.CharField(
        label=gettext_lazy("Issuer id"),
        required=False,
        max_length=25,
        widget=TextWidget,
        help_text=gettext_lazy("From the Google Pay & Wallet Console."),
    )

    keys: AppleKeys | GoogleKeys | None = None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        platform = cleaned.get("platform") or getattr(self.instance, "platform", "")
        if not platform or self.errors:
            return cleaned
        try:
            self.keys = self.read_apple(cleaned) if platform == Platform.APPLE else self.read_google(cleaned)
            brand = cleaned.get("brand") or self.instance.brand
            issuers.check_identity(brand, platform, self.keys.identifier)
        except Invalid as error:
            self.add_domain_error(error)
        return cleaned

    def read_apple(self, cleaned: dict[str, Any]) -> AppleKeys:
        upload = Upload(
            certificate=content(cleaned, "certificate"),
            key=content(cleaned, "key"),
            authority=content(cleaned, "authority"),
            password=cleaned["password"],
            push_key=content(cleaned, "push_key"),
            push_key_id=cleaned["push_key_id"],
        )
        for name in ("certificate", "authority"):
            if not getattr(upload, name):
                raise Invalid(_("Upload this file."), details={"field": name})
        return certificates.read(upload, at=timezone.now())

    def read_google(self, cleaned: dict[str, Any]) -> GoogleKeys:
        return issuer_keys.read(content(cleaned, "service_account"), cleaned["issuer_id"])


def content(cleaned: dict[str, Any], name: str) -> bytes:
    """The bytes of an upload. Raises Invalid for a file too large to be a key or certificate."""
    upload = cleaned.get(name)
    if not upload:
        return b""
    if upload.size > MAX_FILE_BYTES:
        raise Invalid(_("This file is too large to be a key or a certificate."), details={"field": name})
    result: bytes = upload.read()
    return result


@admin.register(WalletIssuer)
class WalletIssuerAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view add change delete act", "manager": "view"}
    sidebar = SidebarEntry(SETTINGS, 9, "verified_user", tab=False)
    form = IssuerForm
    list_display = ("platform", "identifier", "account", "state", "expires_at")
    list_filter = (("platform", ChoicesFilter),)
    fieldsets = (
        (None, {"fields": ("brand", ("platform", "state"), ("identifier", "account"), ("expires_at", "uploaded_at"))}),
        (gettext_lazy("Problem"), {"fields": ("last_error", "failed_at")}),
    )
    apple_fields = (
        gettext_lazy("Apple"),
        {"fields": (("certificate", "key"), ("password", "authority"), ("push_key", "push_key_id"))},
    )
    google_fields = (gettext_lazy("Google"), {"fields": (("service_account", "issuer_id"),)})
    readonly_fields = ("state", "identifier", "account", "expires_at", "uploaded_at", "last_error", "failed_at")
    actions_detail = ("reissue",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[WalletIssuer]:
        """The list does not even decrypt secrets."""
        return super().get_queryset(request).defer("private_key", "push_key")

    def get_fieldsets(self, request: HttpRequest, obj: WalletIssuer | None = None) -> Any:
        """A new issuer offers all files, an existing one those of its platform. Read-only users see no file fields."""
        if obj is None:
            return [(None, {"fields": (("brand", "platform"),)}), self.apple_fields, self.google_fields]
        fieldsets = [self.fieldsets[0], *([self.fieldsets[1]] if obj.last_error else [])]
        if not self.may(request, CHANGE, obj):
            return fieldsets
        title, options = self.apple_fields if obj.platform == Platform.APPLE else self.google_fields
        message = _("Upload all files again to replace them: %(platform)s") % {"platform": title}
        return [*fieldsets, (message, options)]

    def get_readonly_fields(self, request: HttpRequest, obj: WalletIssuer | None = None) -> list[Any]:
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "platform"] if obj else fields

    @display(description=gettext_lazy("state"))
    def state(self, row: WalletIssuer) -> SafeString:
        days = issuers.days_left(row, timezone.now())
        if days is not None and days < 0:
            return badge("danger", _("Expired"))
        if row.last_error:
            return badge("danger", _("Failing"))
        if days is not None and days <= issuers.WARN_DAYS[0]:
            return badge(
                "warning", ngettext("Expires in %(days)d day", "Expires in %(days)d days", days) % {"days": days}
            )
        return badge("success", _("Ready"))

    def save_model(self, request: HttpRequest, obj: WalletIssuer, form: Any, change: bool) -> None:  # noqa: FBT001
        """Also notifies the wallets of passes that were waiting for these keys."""
        if not self.may(request, CHANGE if change else ADD, obj):
            raise PermissionDenied
        now = timezone.now()
        form.before = (obj.identifier, obj.expires_at) if change else None
        vars(obj).update(vars(issuers.save(brand=obj.brand, keys=form.keys, at=now)))
        passes.refresh_all(brand_id=obj.brand_id, platform=obj.platform, behind=True, at=now)

    def extra_changes(self, form: Any) -> dict[str, tuple[Any, Any]]:
        """The audit log records that the keys are new, and until when they are valid."""
        if form.before is None:
            return {}
        ends = tuple(None if at is None else str(at.date()) for at in (form.before[1], form.instance.expires_at))
        return {"private_key": (HIDDEN, HIDDEN), **({"expires_at": (ends[0], ends[1])} if ends[0] != ends[1] else {})}

    def delete_row(self, obj: WalletIssuer) -> None:
        issuers.remove(row=obj)

    @action(
        description=gettext_lazy("Update all passes"),
        url_path="reissue",
        icon="published_with_changes",
        permissions=["act_on_row"],
    )
    def reissue(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Give all passes a new version."""
        row = self.get_object(request, object_id)
        own = WalletPass.objects.filter(brand=row.brand_id, platform=row.platform)
        count = own.exclude(state=WalletPass.State.REMOVED).count()
        message = ngettext(
            "%(count)d pass will show the brand's current name, colours, logo and levels.",
            "%(count)d passes will show the brand's current name, colours, logo and levels.",
            count,
        )
        action = ConfirmedAction(
            title=_("Update all passes: %(row)s") % {"row": row},
            paragraphs=[
                message % {"count": count},
                _("Each wallet receives one update within the next few minutes. Removed passes do not change."),
            ],
            form=forms.Form,
            button=_("Update all passes"),
            cancel=_("Leave them unchanged"),
        )
        return action.respond(self, request, row, lambda _answers: self.reissued(request, row))

    def reissued(self, request: HttpRequest, row: WalletIssuer) -> None:
        self.remember(request, [row])
        issuers.change_design(brand_id=row.brand_id)
        count = passes.refresh_all(brand_id=row.brand_id, platform=row.platform, at=timezone.now())
        self.record_action(request, [row], gettext_noop("All passes updated: %(count)d") % {"count": count})
        text = ngettext("To be updated: %(count)d pass.", "To be updated: %(count)d passes.", count)
        self.message_user(request, text % {"count": count}, messages.SUCCESS)
