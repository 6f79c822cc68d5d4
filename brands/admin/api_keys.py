"""Page: a brand's API keys. A new key is shown once; nothing of it can be read later."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands import keys
from brands.lists import ChoicesFilter
from brands.models import ApiKey
from brands.portal import TenantAdmin, TenantForm, badge
from brands.unfolded import display


class ApiKeyForm(TenantForm):
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        brand, kind, expires_at = cleaned.get("brand"), cleaned.get("kind"), cleaned.get("expires_at")
        now = timezone.now()
        if expires_at and expires_at <= now:
            self.add_error("expires_at", _("This moment has passed."))
        if brand and kind and keys.usable(brand=brand, kind=kind, at=now) >= keys.USABLE_AT_ONCE:
            most = {"most": keys.USABLE_AT_ONCE}
            self.add_error("kind", _("There are %(most)d usable keys of this kind. Revoke one first.") % most)
        return cleaned


@admin.register(ApiKey)
class ApiKeyPage(TenantAdmin):
    form = ApiKeyForm
    list_display = ("name", "kind", "beginning", "state", "last_used_at", "expires_at", "created_at")
    list_filter = (("kind", ChoicesFilter),)
    search_fields = ("name", "prefix")
    readonly_fields = ("beginning", "state", "created_at", "last_used_at", "revoked_at")
    fieldsets = (
        (None, {"fields": ("brand", ("name", "kind"), "expires_at")}),
        (gettext_lazy("Use"), {"fields": (("beginning", "state"), ("created_at", "last_used_at"), "revoked_at")}),
    )
    add_fieldsets = fieldsets[:1]
    actions = ("revoke",)

    @display(description=gettext_lazy("key"))
    def beginning(self, key: ApiKey) -> str:
        return f"{key.prefix}…"

    @display(description=gettext_lazy("state"))
    def state(self, key: ApiKey) -> SafeString:
        if key.revoked_at:
            return badge("danger", _("Revoked"))
        is_over = key.expires_at and key.expires_at <= timezone.now()
        return badge("warning", _("Expired")) if is_over else badge("success", _("Usable"))

    @admin.action(description=gettext_lazy("Revoke: refuse these keys from now on"), permissions=["act"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        alive = [key for key in self.chosen(request, queryset) if key.revoked_at is None]
        for key in alive:
            keys.revoke(key=key, at=timezone.now())
        self.report(request, alive, _("Revoked"))

    def create(self, request: HttpRequest, obj: ApiKey, form: Any) -> ApiKey:  # noqa: ARG002 - the page's signature
        """The key's text goes to the next page, in a cookie that this page deletes; no server keeps it."""
        made, text = keys.create(
            brand=obj.brand, kind=obj.kind, name=obj.name, at=timezone.now(), expires_at=obj.expires_at
        )
        told = _("Copy the key now, it is never shown again: %(key)s") % {"key": text}
        self.message_user(request, told, messages.WARNING)
        return made
