"""Page: members' wallet passes: the version in each wallet, the last notification and fetch, and which are outdated."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands.models.tenants import Brand
from events import publishing
from loyalty.models.wallets import WalletPass, stale
from loyalty.wallets import passes
from portal.base.badges import badge, badge_column
from portal.base.sidebar import CUSTOMERS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists.field_column import attribute_column
from portal.lists.filters import StateFilter
from portal.unfold import ChoicesFilter, display

COLOURS = {"issued": "info", "held": "success", "removed": ""}


class FreshnessFilter(StateFilter):
    title = gettext_lazy("up to date")
    parameter_name = "stale"
    states = {"yes": gettext_lazy("Stale")}

    def condition(self, value: str, brands: Sequence[Brand]) -> Q:
        return stale()


@admin.register(WalletPass)
class WalletPassAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view act", "manager": "view act", "support": "view"}
    sidebar = SidebarEntry(CUSTOMERS, 7, "wallet", tab=False)
    customer_path = "account__user"
    list_display = ("customer", "platform", "condition", "versions", "pushed_at", "fetched_at", "freshness")
    list_filter = (("platform", ChoicesFilter), ("state", ChoicesFilter), FreshnessFilter)
    list_select_related = ("account__user",)
    search_fields = ("serial__exact",)
    search_help_text = gettext_lazy("A pass's serial number, or parts of a customer's name or e-mail address.")
    fieldsets = (
        (None, {"fields": (("customer", "brand"), ("platform", "condition"), "serial")}),
        (gettext_lazy("Versions"), {"fields": (("version", "current_version"), ("changed_at", "freshness"))}),
        (gettext_lazy("Contact"), {"fields": (("pushed_version", "devices"), ("pushed_at", "fetched_at"))}),
        (gettext_lazy("Failures"), {"fields": ("last_error", "failed_at")}),
    )
    actions = ("refresh",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[WalletPass]:
        """Leaves tokens out: this page does not need them, so they are not decrypted."""
        return super().get_queryset(request).defer("token")

    customer = attribute_column("account.user", description=gettext_lazy("customer"))
    condition = badge_column("state", COLOURS, description=gettext_lazy("state"), ordering="state")

    @display(description=gettext_lazy("version in wallet"))
    def versions(self, row: WalletPass) -> str:
        return _("%(held)d of %(version)d") % {"held": row.current_version, "version": row.version}

    @display(description=gettext_lazy("up to date"))
    def freshness(self, row: WalletPass) -> SafeString | str:
        if row.state == WalletPass.State.REMOVED:
            return "—"
        if row.is_stale:
            return badge("danger", _("Stale"))
        if row.last_error:
            return badge("warning", _("Failing"))
        if row.current_version < row.version:
            return badge("info", _("On its way")) if row.state == WalletPass.State.IN_WALLET else "—"
        return badge("success", _("Yes"))

    @display(description=gettext_lazy("devices"))
    def devices(self, row: WalletPass) -> int:
        return row.devices.count()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[WalletPass], search_term: str
    ) -> tuple[QuerySet[WalletPass], bool]:
        """Searches serials as UUIDs. Django would compare them as text, which no index supports."""
        if not search_term or "@" in search_term:
            return super().get_search_results(request, queryset, search_term)
        try:
            return queryset.filter(serial=UUID(search_term.strip())), False
        except ValueError:
            return self.filter_by_customers(request, queryset, search_term), False

    @admin.action(description=gettext_lazy("Send update to wallets"), permissions=["act"])
    def refresh(self, request: HttpRequest, queryset: QuerySet[WalletPass]) -> None:
        """Give each pass a new version, so that a wallet that missed the last one fetches it too. Not removed ones."""
        chosen = self.chosen(request, queryset.defer(None).exclude(state=WalletPass.State.REMOVED))
        of_brand: dict[int, list[Any]] = defaultdict(list)
        for row in chosen:
            of_brand[row.brand_id].append(row.pk)
        now = timezone.now()
        with transaction.atomic():
            for brand_id, keys in of_brand.items():
                messages = passes.bump_versions(passes=keys, brand_id=brand_id, at=now)
                publishing.publish(messages=messages, brand_id=brand_id, at=now)
        self.report(request, chosen, gettext_noop("Update queued"))
