"""Page: the ledger. For reading: its lines are never changed."""

from decimal import Decimal

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from brands import panels, zones
from brands.exporting import ExportingAdmin
from brands.lists import ChoicesFilter
from brands.models import Brand, User
from brands.panels import Line, Panel
from brands.portal import badge
from brands.unfolded import display
from loyalty.models import LoyaltyTransaction

SIGNS = {"earned": 1, "redeemed": -1, "expired": -1}
COLOURS = {"earned": "success", "redeemed": "info", "expired": "warning"}


@admin.register(LoyaltyTransaction)
class LedgerPage(ExportingAdmin):
    export_kind = "export-ledger"
    brand_path = "user_point__brand"
    customer_path = "user_point__user"
    pages_by_key = True
    list_display = ("when", "customer", "kind", "points", "reason_id", "note")
    list_filter = (("reason", ChoicesFilter),)
    list_select_related = ("user_point__user", "user_point__brand")
    sortable_by = ("when",)
    search_fields = ("reason_id__exact",)
    search_help_text = _("An auth code, another reason's id, or a customer's e-mail address.")
    fields = ("customer", ("kind", "points"), "reason_id", "note", "created_at")

    @display(description=_("created at"), ordering="loyalty_transaction_id")
    def when(self, line: LoyaltyTransaction) -> SafeString:
        """Lines are numbered as they come, so their key sorts them by time."""
        return zones.told(line.created_at, line.user_point.brand.zone)

    @display(description=_("customer"))
    def customer(self, line: LoyaltyTransaction) -> User:
        return line.user_point.user

    @display(description=_("reason"), ordering="reason")
    def kind(self, line: LoyaltyTransaction) -> SafeString:
        return state_of(line)

    @display(description=_("points"))
    def points(self, line: LoyaltyTransaction) -> Decimal:
        return points_of(line)


def state_of(line: LoyaltyTransaction) -> SafeString:
    return badge(COLOURS[line.reason], line.get_reason_display())


def points_of(line: LoyaltyTransaction) -> Decimal:
    """Negative where they went."""
    return SIGNS[line.reason] * line.amount


def panel(customer: User, brand: Brand) -> Panel:
    """A customer's last lines at a brand."""
    lines = LoyaltyTransaction.objects.filter(user_point__user=customer, user_point__brand=brand)
    return Panel(
        gettext("Points"),
        [
            Line(
                zones.told(line.created_at, brand.zone),
                state_of(line),
                line.note or line.reason_id,
                gettext("%(points)s points") % {"points": points_of(line)},
                panels.address_of(line),
            )
            for line in lines.order_by("-loyalty_transaction_id")[: panels.MOST]
        ],
        gettext("No points were earned or taken yet."),
        panels.list_of(LoyaltyTransaction, customer),
    )
