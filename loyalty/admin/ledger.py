"""Page: the ledger. Read-only, because ledger entries never change."""

from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.contrib import admin
from django.db.models import F, Q, Sum
from django.db.models.functions import Coalesce
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from brands.models.audit import AuditLogEntry
from brands.models.tenants import Brand
from core.numbers import format_number
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.notifications import ledger_notes
from loyalty.points import explanations, ledger
from loyalty.programme.movements import BY_NAME, CHOICES
from portal.base.badges import badge
from portal.base.sidebar import CUSTOMERS, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.lists import local_time
from portal.lists.field_column import attribute_column
from portal.lists.filters import DayFilter, StateFilter
from portal.unfold import ChoicesFilter, display

COLOURS = {
    "earned": "success",
    "redeemed": "info",
    "expired": "warning",
    "reversed": "danger",
    "pending": "",
    "released": "success",
    "cancelled": "",
    "merged": "info",
}


class MovementFilter(StateFilter):
    """By movement, as in the accounting reports."""

    title = _("movement")
    parameter_name = "movement"
    states: ClassVar = CHOICES

    def condition(self, value: str, brands: Sequence[Brand]) -> Q:
        return BY_NAME[value].condition


@admin.register(LoyaltyTransaction)
class LedgerAdmin(ExportingAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(CUSTOMERS, 3, "receipt_long")
    list_name = _("points ledger")
    export_kind = "export-ledger"
    customer_path = "user_point__user"
    pages_by_key = True
    list_display = ("when", "customer", "kind", "points", "reason_id", "note_text")
    list_filter = (("reason", ChoicesFilter), MovementFilter, ("created_at", DayFilter))
    list_select_related = ("user_point__user", "user_point__brand")
    sortable_by = ("when",)
    search_fields = ("reason_id__exact",)
    search_help_text = _("A code, another reason's id, or parts of a customer's name or e-mail address.")
    fields = (
        "customer",
        ("kind", "points", "balance_after"),
        ("reason_id", "adjusted_by"),
        "note_text",
        "why",
        "created_at",
    )

    @display(description=_("created at"), ordering="loyalty_transaction_id")
    def when(self, line: LoyaltyTransaction) -> SafeString:
        """Sorted by primary key, because entries are numbered in the order they are created."""
        return local_time.display_moment(line.created_at, line.user_point.brand.zone)

    customer = attribute_column("user_point.user", description=_("customer"))

    @display(description=_("reason"), ordering="reason")
    def kind(self, line: LoyaltyTransaction) -> SafeString:
        return state_of(line)

    @display(description=_("balance after"))
    def balance_after(self, line: LoyaltyTransaction) -> str:
        later = LoyaltyTransaction.objects.filter(user_point=line.user_point_id, pk__gt=line.pk)
        moved = later.aggregate(
            sum=Coalesce(
                Sum(F("points_earned") - F("points_redeemed") - F("points_expired") - F("points_reversed")), Decimal(0)
            )
        )
        balance = UserPoints.objects.values_list("points", flat=True).get(pk=line.user_point_id)
        return format_number(balance - Decimal(moved["sum"]))

    @display(description=_("adjusted by"))
    def adjusted_by(self, line: LoyaltyTransaction) -> str:
        return adjusters([line.user_point_id], [line]).get(line.pk, "-")

    @display(description=_("note"))
    def note_text(self, line: LoyaltyTransaction) -> str:
        return note_of(line) or "-"

    @display(description=_("explanation of the points"))
    def why(self, line: LoyaltyTransaction) -> SafeString | str:
        """The share of each rule, as the customer sees it."""
        return format_html_join(SafeString("<br>"), "{}", ((text,) for text in why_of(line))) or "-"

    @display(description=_("points"))
    def points(self, line: LoyaltyTransaction) -> str:
        return format_number(points_of(line))


def state_of(line: LoyaltyTransaction) -> SafeString:
    """Distinguishes staff adjustments from points that scans earned."""
    if is_adjustment(line):
        return badge("", gettext("Adjusted"))
    return badge(COLOURS[line.reason], line.get_reason_display())


def why_of(line: LoyaltyTransaction) -> list[str]:
    """Which rules gave the points, on what basis, and which limits reduced them."""
    return explanations.texts_of(line.details, get_language() or settings.LANGUAGE_CODE)


def note_of(line: LoyaltyTransaction) -> str:
    """Translates the system's own notes, which are stored in English. Notes typed by people are not translated."""
    names = (line.details or {}).get("names")
    return ledger_notes.text_in(line.note, get_language() or settings.LANGUAGE_CODE, names)


def is_adjustment(line: LoyaltyTransaction) -> bool:
    return line.reason_id.startswith(ledger.ADJUSTED)


def adjusters(accounts: Sequence[int], lines: Sequence[LoyaltyTransaction]) -> dict[int, str]:
    """For each entry of these accounts, who adjusted it, according to the audit log."""
    numbers = [line.pk for line in lines if is_adjustment(line)]
    if not numbers:
        return {}
    entries = AuditLogEntry.objects.filter(
        kind="loyalty.userpoints", row_id__in=[str(each) for each in accounts], user__isnull=False
    )
    named = entries.filter(**{"changes__ledger line__1__in": numbers}).select_related("user")
    return {entry.changes["ledger line"][1]: entry.user.get_full_name() for entry in named if entry.user}


def points_of(line: LoyaltyTransaction) -> Decimal:
    """The signed points: negative when they leave the balance. Includes pending points, which change no balance."""
    sign = 1 if line.points_earned or line.points_pending else -1
    return sign * line.amount
