"""Page: suppressed addresses. Staff can allow another attempt for an address."""

from contextlib import suppress
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy, gettext_noop

from core.errors import Invalid
from loyalty.models.messages.addresses import SuppressedAddress
from loyalty.models.notifications import Channel
from loyalty.notifications import preferences, suppression
from portal.base.sidebar import MESSAGES, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists.bidi import display_code
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter, display


@admin.register(SuppressedAddress)
class SuppressedAddressAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view act", "manager": "view act", "support": "view"}
    sidebar = SidebarEntry(MESSAGES, 5, "unsubscribe", tab=False)
    list_display = ("address", "channel", "reason", "stopped_at")
    list_filter = (("channel", ChoicesFilter), ("stopped_at", DayFilter))
    search_fields = ("digest__exact",)
    search_help_text = gettext_lazy("A complete e-mail address or phone number. Addresses are stored only as hashes.")
    fieldsets = ((None, {"fields": (("brand", "channel"), "address", "reason", "stopped_at")}),)
    actions = ("let_try_again",)

    @display(description=gettext_lazy("address"), ordering="masked_address")
    def address(self, row: SuppressedAddress) -> SafeString:
        return display_code(row.masked_address)

    def get_search_results(
        self,
        request: HttpRequest,
        queryset: QuerySet[SuppressedAddress],
        search_term: str,
    ) -> tuple[QuerySet[SuppressedAddress], bool]:
        """Searches by digest, because only digests are stored."""
        return (queryset.filter(digest__in=digests_of(search_term)) if search_term else queryset), False

    @admin.action(description=gettext_lazy("Remove suppression"), permissions=["act"])
    def let_try_again(self, request: HttpRequest, queryset: QuerySet[SuppressedAddress]) -> None:
        chosen: list[Any] = self.chosen(request, queryset)
        self.report(request, chosen, gettext_noop("Suppression removed"))
        for address in chosen:
            suppression.remove(address=address)


def digests_of(typed: str) -> list[str]:
    """The digests of what staff typed: as an e-mail address and, in any notation, as a phone number."""
    addresses = [(Channel.EMAIL, typed)]
    with suppress(Invalid):
        addresses.append((Channel.SMS, preferences.checked_phone(typed)))
    return [suppression.digest(channel, address) for channel, address in addresses]
