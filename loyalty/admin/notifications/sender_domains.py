"""Page: the domains that a brand sends e-mail from, and the DNS record that proves each domain."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from core import languages
from loyalty.models.messages.addresses import SenderDomain
from loyalty.notifications import sender_domains
from portal.base.badges import badge
from portal.base.sidebar import MESSAGES, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import display


@admin.register(SenderDomain)
class SenderDomainAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view add delete act", "manager": "view add delete act"}
    sidebar = SidebarEntry(MESSAGES, 7, "domain_verification", tab=False)
    list_display = ("domain", "state", "checked_at")
    search_fields = ("domain",)
    readonly_fields = ("state", "record", "checked_at", "created_at")
    fieldsets = (
        (None, {"fields": ("brand", "domain")}),
        (gettext_lazy("Verification"), {"fields": ("state", "record", ("checked_at", "created_at"))}),
    )
    add_fieldsets = ((None, {"fields": ("brand", "domain")}),)
    actions = ("check_again",)

    def create(self, request: HttpRequest, obj: Any, form: Any) -> SenderDomain:
        return sender_domains.create(brand=obj.brand, domain=obj.domain, at=timezone.now())

    def delete_row(self, obj: Any) -> None:
        sender_domains.remove(domain=obj)

    @admin.action(description=gettext_lazy("Check the record again"), permissions=["act"])
    def check_again(self, request: HttpRequest, queryset: QuerySet[SenderDomain]) -> None:
        chosen: list[Any] = self.chosen(request, queryset)
        sender_domains.request_checks(domains=chosen, at=timezone.now())
        self.report(request, chosen, gettext_noop("Check requested"))

    @display(description=gettext_lazy("state"))
    def state(self, domain: SenderDomain) -> SafeString:
        if domain.verified_at and domain.missing_since:
            return badge(
                "danger",
                _("Record missing. The domain stays in use until the record has been missing for 3 days"),
            )
        if domain.verified_at:
            return badge("success", _("Verified: e-mail can be sent from this domain"))
        return badge("warning", languages.translated(domain.last_error) or _("Waiting for the first check"))

    @display(description=gettext_lazy("DNS record"))
    def record(self, domain: SenderDomain) -> SafeString:
        name, value = sender_domains.record_name(domain), sender_domains.record_value(domain)
        message = _("Add this TXT record to your DNS, then choose “Check the record again” in the list.")
        return format_html("<code>{}<br>TXT {}</code><br>{}", name, value, message)
