"""Page: the ledger. For reading: its lines are never changed."""

from decimal import Decimal

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from brands.lists import ChoicesFilter
from brands.models import User
from brands.portal import TenantAdmin, badge
from brands.unfolded import display
from loyalty.models import LoyaltyTransaction

SIGNS = {"earned": 1, "redeemed": -1, "expired": -1}
COLOURS = {"earned": "success", "redeemed": "info", "expired": "warning"}


@admin.register(LoyaltyTransaction)
class LedgerPage(TenantAdmin):
    brand_path = "user_point__brand"
    customer_path = "user_point__user"
    pages_by_key = True
    list_display = ("created_at", "customer", "kind", "points", "reason_id", "note")
    list_filter = (("reason", ChoicesFilter),)
    list_select_related = ("user_point__user",)
    search_fields = ("reason_id__exact",)
    search_help_text = _("An auth code, another reason's id, or a customer's e-mail address.")
    fields = ("customer", ("kind", "points"), "reason_id", "note", "created_at")

    @display(description=_("customer"))
    def customer(self, line: LoyaltyTransaction) -> User:
        return line.user_point.user

    @display(description=_("reason"), ordering="reason")
    def kind(self, line: LoyaltyTransaction) -> SafeString:
        return badge(COLOURS[line.reason], line.get_reason_display())

    @display(description=_("points"))
    def points(self, line: LoyaltyTransaction) -> Decimal:
        return SIGNS[line.reason] * line.amount
