"""Page: notifications that were sent, to whom, by which channel, and with what result. Read-only."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from core import languages
from core.texts import masked_mail
from loyalty.members.masking import sees_members
from loyalty.models.notifications import Channel, NotificationDelivery
from portal.base.badges import badge_column
from portal.base.sidebar import MESSAGES, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists.bidi import display_code
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter, display

COLOURS = {"queued": "info", "sent": "success", "failed": "danger", "suppressed": "", "bounced": "warning"}


class AddressColumn:
    """The address as the viewer may see it. All instances are equal, because Django creates columns twice.

    Only users who may view members see a whole e-mail address, and only while it is the customer's current one.
    """

    __name__ = "displayed_address"
    short_description = _("address")

    def __init__(self, viewer: Any) -> None:
        self.viewer = viewer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AddressColumn)

    def __hash__(self) -> int:
        return hash(self.__name__)

    def __call__(self, row: NotificationDelivery) -> SafeString:
        return displayed_address(self.viewer, row)


def displayed_address(viewer: Any, row: NotificationDelivery) -> SafeString:
    email: str = row.user.email
    is_current_address = row.channel == Channel.EMAIL and row.masked_address == masked_mail(email)[:120]
    return display_code(email if is_current_address and sees_members(viewer, row.brand_id) else row.masked_address)


@admin.register(NotificationDelivery)
class NotificationDeliveryAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(MESSAGES, 1, "outgoing_mail")
    opens_in_drawer = True
    customer_path = "user"
    pages_by_key = True
    list_display = ("created_at", "user", "template", "channel", "masked_address", "state", "attempts")
    list_filter = (
        ("status", ChoicesFilter),
        ("channel", ChoicesFilter),
        ("template", ChoicesFilter),
        ("created_at", DayFilter),
    )
    linked_filters = ("notification__key",)
    list_select_related = ("user",)
    search_fields = ("provider_id__exact",)
    search_help_text = _(
        "Parts of the customer's name or e-mail address, or the message's id at the mail, SMS or push service."
    )
    fieldsets = (
        (None, {"fields": (("brand", "user"), ("template", "language"), ("channel", "masked_address"), "state")}),
        (_("Delivery"), {"fields": (("attempts", "provider_id"), "problem", ("created_at", "finished_at"))}),
        (_("About"), {"fields": ("event_id", "covered", "is_test")}),
    )

    def column(self, request: HttpRequest, name: Any) -> Any:
        return AddressColumn(request.user) if name == "masked_address" else super().column(request, name)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Applies the same rule to the page of one delivery."""
        first, *remaining = super().get_fieldsets(request, obj)
        fields = (("brand", "user"), ("template", "language"), ("channel", AddressColumn(request.user)), "state")
        return [(first[0], {**first[1], "fields": fields}), *remaining]

    state = badge_column("status", COLOURS, description=_("status"), ordering="status")

    @display(description=_("last error"))
    def problem(self, row: NotificationDelivery) -> str:
        """The system's own reasons are stored in English and translated here. A server's answer is shown unchanged."""
        return languages.translated(row.last_error) or "-"

    @display(description=_("covered entries or events"))
    def covered(self, row: NotificationDelivery) -> str:
        """The ledger entries that the notification sums up, or the keys of the events that it is about."""
        lines = [
            (f"#{each['transaction_id']}: {each['points_earned']}",) if isinstance(each, dict) else (each,)
            for each in row.notification.covers
        ]
        return format_html_join(" · ", "{}", lines) or row.notification.key or "-"

    @display(description=_("test"))
    def is_test(self, row: NotificationDelivery) -> str:
        return str(_("Yes") if row.notification.is_test else _("No"))
