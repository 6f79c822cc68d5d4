"""The ledger's lines."""

from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.moments import MomentField
from loyalty.models.accounts import UserPoints

ZERO = Decimal(0)


class LoyaltyTransaction(models.Model):
    """A line of the ledger. Lines are added, never changed: a database trigger refuses UPDATE and DELETE."""

    guarded_by = ("user_point",)
    append_only = ("note",)  # which an erasure rewrites

    class Reason(models.TextChoices):
        EARNED = "earned", _("Earned")
        REDEEMED = "redeemed", _("Redeemed")
        EXPIRED = "expired", _("Expired")

    loyalty_transaction_id = models.BigAutoField(primary_key=True)
    user_point = models.ForeignKey(UserPoints, on_delete=models.PROTECT, related_name="transactions", db_index=False)
    points_earned = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO)
    points_redeemed = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO)
    points_expired = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO)
    reason = models.CharField(max_length=50, choices=Reason.choices)
    reason_id = models.CharField(max_length=255, help_text=_("For scans the auth code, else a namespaced id."))
    note = models.TextField(blank=True, help_text=_("Shown to the customer."))
    details = models.JSONField(
        null=True, editable=False, help_text=_("Which rules gave the points, on what basis, and which limit cut them.")
    )
    created_at = MomentField(default=timezone.now, db_column="createdAt", editable=False)
    updated_at = MomentField(default=timezone.now, db_column="updatedAt", editable=False)

    class Meta:
        db_table = "loyalty_transaction"
        verbose_name = _("ledger entry")
        verbose_name_plural = _("ledger entries")
        ordering = ["-loyalty_transaction_id"]
        indexes = [
            models.Index(fields=["reason_id"], name="ledger_reason_id"),
            models.Index(fields=["user_point", "-loyalty_transaction_id"], name="ledger_newest_first"),
            # Lists of a reason that is rare beside what is earned, which pays nothing for it.
            models.Index(
                fields=["reason", "-loyalty_transaction_id"], name="ledger_of_reason", condition=~Q(reason="earned")
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["user_point", "reason_id"], name="one_entry_per_reason"),
            models.CheckConstraint(
                condition=Q(reason="earned", points_earned__gte=0, points_redeemed=0, points_expired=0)
                | Q(reason="redeemed", points_earned=0, points_redeemed__gt=0, points_expired=0)
                | Q(reason="expired", points_earned=0, points_redeemed=0, points_expired__gt=0),
                name="one_amount_for_its_reason",
            ),
            models.CheckConstraint(condition=~Q(reason_id=""), name="ledger_reason_id_given"),
        ]

    def __str__(self) -> str:
        kind = "adjusted" if self.reason_id.startswith("adjust:") else self.reason
        return f"{kind} {self.amount} ({self.reason_id})"

    @property
    def amount(self) -> Decimal:
        """Points, always positive; `reason` tells the direction."""
        return self.points_earned + self.points_redeemed + self.points_expired
