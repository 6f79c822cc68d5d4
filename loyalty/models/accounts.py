"""A customer's account at a brand: balance, totals and level; and waiting opening balances."""

from decimal import Decimal
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.expressions import Combinable
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import DayField, MomentField

ZERO = Decimal(0)


def points_column(label: Any, **options: Any) -> "models.DecimalField[str | float | Decimal | Combinable, Decimal]":
    """A column of points that is 0 in a new row, also in one that an older version of the service inserts."""
    return models.DecimalField(label, max_digits=14, decimal_places=2, default=ZERO, db_default=ZERO, **options)


class UserPoints(models.Model):
    """A customer's account at a brand. Having one means being enrolled. Only the ledger changes its numbers."""

    customer_through = ("user",)

    class Status(models.TextChoices):
        ACTIVE = "active", _("Active")
        BLOCKED = "blocked", _("Blocked")
        MERGED = "merged", _("Merged")

    user_point_id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(
        User, models.PROTECT, related_name="points_rows", db_index=False, verbose_name=_("customer")
    )
    brand = models.ForeignKey(Brand, models.PROTECT, related_name="members", db_index=False, verbose_name=_("brand"))
    points = models.DecimalField(
        _("points"), max_digits=14, decimal_places=2, default=ZERO, help_text=_("Current balance.")
    )
    points_earned = models.DecimalField(_("points earned"), max_digits=14, decimal_places=2, default=ZERO)
    points_redeemed = models.DecimalField(_("points redeemed"), max_digits=14, decimal_places=2, default=ZERO)
    points_expired = models.DecimalField(_("points expired"), max_digits=14, decimal_places=2, default=ZERO)
    points_returned = points_column(
        _("points returned"),
        help_text=_("Earned points that were refunded from cancelled redemptions. They do not count towards a level."),
    )
    points_reversed = points_column(
        _("points reversed"), help_text=_("Points of returned orders that were taken back.")
    )
    points_received = points_column(
        _("points received"), help_text=_("Earned points that other members gave. They do not count towards a level.")
    )
    points_owed = points_column(
        _("points owed"),
        help_text=_("Points of returned orders that were spent already. The next points that come in settle them."),
    )
    points_pending = points_column(
        _("points pending"), help_text=_("Earned by orders, but not yet part of the balance.")
    )
    current_level = models.CharField(
        _("current level"), max_length=60, blank=True, help_text=_("Name of the level. Empty means the lowest level.")
    )
    # For brands with level periods; see loyalty/points/level_periods.
    points_before_period = points_column(
        _("points before the period"),
        help_text=_("Lifetime points from before the period. They no longer count towards a level."),
    )
    period_from = DayField(
        _("period from"), null=True, blank=True, help_text=_("The first day whose points count towards a level.")
    )
    level_until = DayField(
        _("level until"), null=True, blank=True, help_text=_("The last day of the level, if it ends.")
    )
    level_warned_until = DayField(
        _("warned of the end on"),
        null=True,
        blank=True,
        help_text=_("The end of the level that the member was warned about."),
    )
    level_due_at = MomentField(
        _("level due at"), null=True, blank=True, help_text=_("When the level is checked again.")
    )
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.ACTIVE)
    external_id = models.CharField(
        _("external id"),
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text=_("The member's number in the brand's own systems."),
    )
    # As corrected by the brand's staff, for this brand only. Null: the name that the customer entered.
    first_name = models.CharField(_("first name"), max_length=150, null=True, blank=True)  # noqa: DJ001
    last_name = models.CharField(_("last name"), max_length=150, null=True, blank=True)  # noqa: DJ001
    enrolled_at = MomentField(_("enrolled at"), default=timezone.now, editable=False)
    updated_at = MomentField(_("updated at"), default=timezone.now, db_column="updatedAt", editable=False)
    # No index on either, because every accrual would have to write it.
    merged_into = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        db_index=False,
        help_text=_("The same person's account into which this one was merged, if any."),
        verbose_name=_("merged into"),
    )
    merged_from = ArrayField(
        models.BigIntegerField(),
        null=True,
        editable=False,
        help_text=_("The accounts that were merged into this one; empty for none."),
    )

    class Meta:
        db_table = "user_points"
        verbose_name = _("member")
        verbose_name_plural = _("members")
        ordering = ["-user_point_id"]
        # Finds recent changes. An index that names each row would be written by every accrual.
        indexes = [
            models.Index(fields=["brand", "-user_point_id"], name="members_newest_first"),
            models.Index(fields=["brand", "-user_point_id"], name="blocked_members", condition=Q(status="blocked")),
            BrinIndex(fields=["updated_at"], name="members_by_change", pages_per_range=4, autosummarize=True),
            # Accruals change none of these columns, so a HOT update does not write this index.
            models.Index(fields=["brand", "enrolled_at"], name="members_by_enrolment"),
            models.Index(fields=["brand", "level_due_at"], name="levels_due", condition=Q(level_due_at__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(fields=["user", "brand"], name="one_account_per_brand"),
            models.UniqueConstraint(
                fields=["brand", "external_id"], condition=~Q(external_id=""), name="external_id_unique_in_brand"
            ),
            check(
                "balance_is_earned_minus_spent",
                Q(points=F("points_earned") - F("points_redeemed") - F("points_expired") - F("points_reversed")),
            ),
            check(
                "points_not_negative",
                Q(points__gte=0, points_earned__gte=0, points_redeemed__gte=0, points_expired__gte=0)
                & Q(points_reversed__gte=0, points_owed__gte=0, points_pending__gte=0, points_received__gte=0),
            ),
            check("owes_only_without_balance", Q(points=0) | Q(points_owed=0)),
            check(
                "lifetime_not_negative",
                Q(
                    points_earned__gte=F("points_received")
                    + F("points_returned")
                    + F("points_reversed")
                    + F("points_owed")
                ),
            ),
            check(
                "points_returned_were_redeemed",
                Q(points_returned__gte=0, points_returned__lte=F("points_redeemed"))
                & Q(points_returned__lte=F("points_earned")),
            ),
            check("member_status_known", Q(status__in=["active", "blocked", "merged"])),
            check(
                "merged_into_another",
                Q(status="merged", merged_into__isnull=False) | ~Q(status="merged") & Q(merged_into=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.brand}"

    @property
    def audit_name(self) -> str:
        """Without the address, which could not be erased from the audit log."""
        return f"#{self.pk} at {self.brand}"

    @property
    def merged_into_user(self) -> int | None:
        """The user whose account this one was merged into."""
        return self.merged_into.user_id if self.merged_into else None

    @property
    def ledger_accounts(self) -> list[int]:
        """The accounts with the member's ledger entries: this one, and those merged into it."""
        return [self.pk, *(self.merged_from or ())]

    @property
    def names(self) -> tuple[str, str]:
        """First and last name as the brand knows them."""
        first = self.user.first_name if self.first_name is None else self.first_name
        last = self.user.last_name if self.last_name is None else self.last_name
        return first, last

    @property
    def display_name(self) -> str:
        """The name, or the address of a member without one."""
        return " ".join(self.names).strip() or self.user.email

    @property
    def lifetime(self) -> Decimal:
        """Points earned in all, which levels count.

        Without points given back after a redemption, received from other members, or reversed with returned orders.
        """
        not_earned = self.points_received + self.points_returned
        return self.points_earned - not_earned - self.points_reversed - self.points_owed

    @property
    def period_points(self) -> Decimal:
        """The points that levels count: those of the period, or all lifetime points at brands without level periods."""
        return self.lifetime - self.points_before_period

    @property
    def redeemed(self) -> Decimal:
        """Points redeemed in all, without those given back."""
        return self.points_redeemed - self.points_returned


class OpeningBalance(models.Model):
    """Imported points, stored until the member confirms the address or logs in, then credited by a ledger entry.

    Only at brands that require confirmed addresses for points.
    """

    customer_through = ("user",)

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    reason_id = models.CharField(max_length=255, help_text=_("The reason id of the future ledger entry."))
    points = models.DecimalField(max_digits=10, decimal_places=2)
    note = models.TextField(blank=True)
    created_at = MomentField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("opening balance")
        verbose_name_plural = _("opening balances")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "user", "reason_id"], name="one_opening_balance_per_reason"),
            check("opening_balance_positive", Q(points__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.points} (#{self.user_id} at {self.brand_id})"
