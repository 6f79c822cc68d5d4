"""Page: what was sent to whom, by which channel, and what became of it. For reading."""

from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from brands.lists import ChoicesFilter, DayFilter
from brands.portal import TenantAdmin, badge
from brands.unfolded import display
from loyalty.models import NoticeDelivery

COLOURS = {"queued": "info", "sent": "success", "failed": "danger", "suppressed": "", "bounced": "warning"}


@admin.register(NoticeDelivery)
class NoticeDeliveryPage(TenantAdmin):
    customer_path = "user"
    pages_by_key = True
    list_display = ("created_at", "user", "template", "channel", "masked_address", "state", "attempts")
    list_filter = (
        ("status", ChoicesFilter),
        ("channel", ChoicesFilter),
        ("template", ChoicesFilter),
        ("created_at", DayFilter),
    )
    linked_filters = ("notice__key",)
    list_select_related = ("user",)
    search_fields = ("provider_id__exact",)
    search_help_text = _(
        "Parts of the customer's name or e-mail address, or the message's id at the mail, SMS or push service."
    )
    fieldsets = (
        (None, {"fields": (("brand", "user"), ("template", "language"), ("channel", "masked_address"), "state")}),
        (_("Delivery"), {"fields": (("attempts", "provider_id"), "last_error", ("created_at", "finished_at"))}),
        (_("About"), {"fields": ("event_id", "covered", "is_test")}),
    )

    @display(description=_("status"), ordering="status")
    def state(self, row: NoticeDelivery) -> SafeString:
        return badge(COLOURS[row.status], row.get_status_display())

    @display(description=_("tells of"))
    def covered(self, row: NoticeDelivery) -> str:
        """The ledger lines that are summed in it, or the events that it tells of."""
        lines = [
            (f"#{each['transaction_id']}: {each['points_earned']}",) if isinstance(each, dict) else (each,)
            for each in row.notice.covers
        ]
        return format_html_join(" · ", "{}", lines) or row.notice.key or "-"

    @display(description=_("test"))
    def is_test(self, row: NoticeDelivery) -> str:
        return str(_("Yes") if row.notice.is_test else _("No"))
