"""Ledger entries, transfers between members, and merges of accounts."""

from datetime import datetime, timedelta
from decimal import Decimal

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField
from loyalty.models.accounts import UserPoints

ZERO = Decimal(0)
UNDO_WITHIN = timedelta(days=1)  # for a merge of accounts


AMOUNTS = (
    "points_earned",
    "points_redeemed",
    "points_expired",
    "points_reversed",
    "points_pending",
    "points_cleared",
)


def without(*amounts: str) -> dict[str, int]:
    """Require that all other amounts are 0."""
    return {amount: 0 for amount in AMOUNTS if amount not in amounts}


class LoyaltyTransaction(models.Model):
    """A ledger entry. Entries are never changed: a database trigger rejects UPDATE and DELETE.

    `points_pending` are points that an order will bring. `points_cleared` are pending points that ended, because they
    were released, which earns them, or because the order was returned. The database sets `brand` from the account.
    """

    customer_through = ("user_point",)
    append_only = ("note",)  # an erasure rewrites it

    class Reason(models.TextChoices):
        EARNED = "earned", _("Earned")
        REDEEMED = "redeemed", _("Redeemed")
        EXPIRED = "expired", pgettext_lazy("points", "Expired")
        REVERSED = "reversed", _("Reversed")
        PENDING = "pending", _("Pending")
        RELEASED = "released", _("Released")
        CANCELLED = "cancelled", _("Cancelled")
        MERGED = "merged", _("Merged")

    loyalty_transaction_id = models.BigAutoField(primary_key=True)
    # For the brand's lists. No foreign key of its own, because each new entry would lock the brand's row.
    brand = models.ForeignKey(
        Brand,
        models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
        editable=False,
        verbose_name=_("brand"),
    )
    user_point = models.ForeignKey(
        UserPoints, models.PROTECT, related_name="transactions", db_index=False, verbose_name=_("member")
    )
    points_earned = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO)
    points_redeemed = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO)
    points_expired = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO)
    points_reversed = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO, db_default=ZERO)
    points_pending = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO, db_default=ZERO)
    points_cleared = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO, db_default=ZERO)
    reason = models.CharField(_("reason"), max_length=50, choices=Reason.choices)
    reason_id = models.CharField(
        _("reason id"), max_length=255, help_text=_("The code for scans, otherwise a namespaced id.")
    )
    note = models.TextField(_("note"), blank=True, help_text=_("Shown to the customer."))
    details = models.JSONField(
        null=True, editable=False, help_text=_("Which rules gave the points, on what basis, and which limit cut them.")
    )
    created_at = MomentField(_("created at"), default=timezone.now, db_column="createdAt", editable=False)
    updated_at = MomentField(default=timezone.now, db_column="updatedAt", editable=False)

    class Meta:
        db_table = "loyalty_transaction"
        verbose_name = _("ledger entry")
        verbose_name_plural = _("ledger entries")
        ordering = ["-loyalty_transaction_id"]
        indexes = [
            models.Index(fields=["reason_id"], name="ledger_reason_id"),
            models.Index(fields=["brand", "-loyalty_transaction_id"], name="ledger_of_brand"),
            models.Index(fields=["user_point", "-loyalty_transaction_id"], name="ledger_newest_first"),
            # For lists of the rarer reasons. Entries that are earned do not write this index.
            models.Index(
                fields=["reason", "-loyalty_transaction_id"], name="ledger_of_reason", condition=~Q(reason="earned")
            ),
            # Entries are inserted in time order. Page summaries find a day, and a new entry does not write this index.
            BrinIndex(fields=["created_at"], name="ledger_by_moment", pages_per_range=16, autosummarize=True),
        ]
        constraints = [
            models.UniqueConstraint(fields=["user_point", "reason_id"], name="one_entry_per_reason"),
            check(
                "one_amount_for_its_reason",
                Q(reason="earned", points_earned__gte=0, **without("points_earned"))
                | Q(reason="redeemed", points_redeemed__gt=0, **without("points_redeemed"))
                | Q(reason="expired", points_expired__gt=0, **without("points_expired"))
                | Q(reason="reversed", points_reversed__gt=0, **without("points_reversed"))
                | Q(reason="pending", points_pending__gte=0, **without("points_pending"))
                | Q(
                    reason="released",
                    points_earned__gt=0,
                    points_cleared=F("points_earned"),
                    **without("points_earned", "points_cleared"),
                )
                | Q(reason="cancelled", points_cleared__gt=0, **without("points_cleared"))
                | Q(reason="merged", points_cleared=0),
            ),
            check("ledger_reason_id_given", ~Q(reason_id="")),
        ]

    def __str__(self) -> str:
        kind = "adjusted" if self.reason_id.startswith("adjust:") else self.reason
        return f"{kind} {self.amount:,.{2 if self.amount % 1 else 0}f} ({self.reason_id})"

    @property
    def change(self) -> Decimal:
        """The change of the balance, negative when points leave it."""
        return self.points_earned - self.points_redeemed - self.points_expired - self.points_reversed

    @property
    def amount(self) -> Decimal:
        """Points, always positive. `reason` determines the direction."""
        return abs(self.change) or self.points_pending or self.points_cleared


class PointTransfer(models.Model):
    """A transfer of points. The ledger has an entry on either side, `transfer:<id>`."""

    customer_through = ("sender", "receiver")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False, verbose_name=_("brand"))
    sender = models.ForeignKey(UserPoints, models.PROTECT, related_name="sent_transfers", verbose_name=_("sender"))
    receiver = models.ForeignKey(
        UserPoints, models.PROTECT, related_name="received_transfers", verbose_name=_("receiver")
    )
    points = models.DecimalField(_("points"), max_digits=10, decimal_places=2)
    balance_after = models.DecimalField(
        _("balance after"), max_digits=14, decimal_places=2, help_text=_("The sender's balance after the transfer.")
    )
    request_key = models.UUIDField(unique=True, editable=False)
    created_at = MomentField(_("given at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("transfer")
        verbose_name_plural = _("transfers")
        ordering = ["-id"]
        indexes = [models.Index(fields=["brand", "-id"], name="transfers_of_brand")]
        constraints = [
            check("transfer_moves_points", Q(points__gt=0)),
            check("transfer_to_another", ~Q(sender=F("receiver"))),
        ]

    def __str__(self) -> str:
        return f"transfer {self.pk}"


class AccountMerge(models.Model):
    """A merge of two accounts of one person: `source` leads to `target` until the merge is undone.

    The ledger has an entry on either side. `carried` has the carried totals as text; `moved` has what the undo needs to
    know about rows that changed owners.
    """

    customer_through = ("target", "source")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False)
    target = models.ForeignKey(UserPoints, models.PROTECT, related_name="merges", verbose_name=_("kept"))
    source = models.ForeignKey(UserPoints, models.PROTECT, related_name="ended_by_merges", verbose_name=_("ended"))
    note = models.TextField(_("reason"), blank=True)
    points = models.DecimalField(_("points"), max_digits=14, decimal_places=2)
    settled = models.DecimalField(
        _("settled"), max_digits=14, decimal_places=2, help_text=_("Owed points that the merge settled.")
    )
    carried = models.JSONField(editable=False)
    moved = models.JSONField(editable=False)
    level_before = models.CharField(max_length=60, blank=True, editable=False)
    level_after = models.CharField(max_length=60, blank=True, editable=False)
    request_key = models.UUIDField(unique=True, editable=False)
    created_at = MomentField(_("merged at"), default=timezone.now, editable=False)
    undone_at = MomentField(_("undone at"), null=True, editable=False)

    class Meta:
        verbose_name = _("merge")
        verbose_name_plural = _("merges")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["source"], condition=Q(undone_at=None), name="merged_once"),
            check("merged_with_another", ~Q(target=F("source"))),
        ]

    def __str__(self) -> str:
        return f"#{self.source_id} into #{self.target_id}"

    @property
    def undo_ends_at(self) -> datetime:
        return self.created_at + UNDO_WITHIN
