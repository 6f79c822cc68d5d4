"""Page: how a brand sends notifications. Credentials are write-only."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.models.tenants import Brand
from core.errors import DomainError
from loyalty.models.notifications import Channel, NotificationSettings
from loyalty.notifications import delivery, sender_names
from loyalty.notifications.channels import push
from portal.base.badges import badge
from portal.base.fieldsets import fieldsets_without
from portal.base.forms import TenantForm
from portal.base.sidebar import MESSAGES, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import PasswordWidget, TextareaWidget, display

SECRETS = ("twilio_auth_token", "fcm_service_account")


class NotificationSettingsForm(TenantForm):
    """Leaving a secret empty keeps the stored one."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.stored = {name: getattr(self.instance, name) for name in SECRETS}
        for name in SECRETS:
            self.initial[name] = ""
            if name in self.fields:
                self.fields[name].required = False
                self.fields[name].help_text = (
                    gettext_lazy("A value is stored. Leave empty to keep it.")
                    if self.stored[name]
                    else self.fields[name].help_text
                )

    def clean_twilio_auth_token(self) -> str:
        return str(self.cleaned_data["twilio_auth_token"].strip() or self.stored["twilio_auth_token"])

    def clean_fcm_service_account(self) -> str:
        cleaned = self.cleaned_data["fcm_service_account"].strip()
        if cleaned:
            try:
                push.check_upload(cleaned)
            except DomainError as error:
                raise forms.ValidationError(error.message) from None
        return str(cleaned or self.stored["fcm_service_account"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self.check_sender_name(cleaned.get("brand") or getattr(self.instance, "brand", None), cleaned)
        needed = {
            "sms_on": ["twilio_account_sid", "twilio_auth_token", "sms_sender"],
            "push_on": ["fcm_service_account"],
        }
        for switch, names in needed.items():
            for name in names if cleaned.get(switch) else ():
                if not cleaned.get(name) and name not in self.errors:
                    self.add_error(name, _("Required while the channel is on."))
        return cleaned

    def check_sender_name(self, brand: Brand | None, cleaned: dict[str, Any]) -> None:
        name = cleaned.get("sender_name")
        if brand and name and not sender_names.is_own(brand_name=brand.name, sender_name=name):
            message = _("Begin with the brand's name, “%(name)s”. Only the operator can change the brand's name.")
            self.add_error("sender_name", message % {"name": brand.name})


@admin.register(NotificationSettings)
class NotificationSettingsAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view add change delete", "manager": "view add change"}
    sidebar = SidebarEntry(MESSAGES, 4, "notifications")
    form = NotificationSettingsForm
    list_display = ("brand", "state", "channels", "language", "merge_seconds")
    list_select_related = ("brand",)
    fieldsets = (
        (None, {"fields": ("brand", ("is_active", "language"), "merge_seconds")}),
        (gettext_lazy("E-mail"), {"fields": ("email_on", ("sender_name", "sender_address"), "reply_to")}),
        (
            gettext_lazy("SMS (Twilio)"),
            {"fields": ("sms_on", ("twilio_account_sid", "twilio_auth_token"), "sms_sender")},
        ),
        (gettext_lazy("Push (Firebase Cloud Messaging)"), {"fields": ("push_on", "fcm_service_account")}),
    )

    def formfield_for_dbfield(self, db_field: Any, request: Any, **options: Any) -> Any:
        if db_field.name == "twilio_auth_token":
            options["widget"] = PasswordWidget(attrs={"autocomplete": "new-password"}, render_value=False)
        if db_field.name == "fcm_service_account":
            options["widget"] = TextareaWidget(attrs={"rows": 4, "autocomplete": "off", "spellcheck": "false"})
        return super().formfield_for_dbfield(db_field, request, **options)

    def get_fieldsets(self, request: Any, obj: Any = None) -> Any:
        """Users without change permission see no field of a secret, not even its length."""
        result = super().get_fieldsets(request, obj)
        may_see = obj is None or self.has_change_permission(request, obj)
        return result if may_see else fieldsets_without(result, SECRETS)

    @display(description=gettext_lazy("state"))
    def state(self, own: NotificationSettings) -> SafeString:
        return badge("success", _("Sends")) if own.is_active else badge("", _("Recalls only"))

    @display(description=gettext_lazy("channels"))
    def channels(self, own: NotificationSettings) -> str:
        return ", ".join(str(Channel(name).label) for name in sorted(delivery.channels_of(own))) or "-"
