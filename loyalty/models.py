"""What a customer holds: points, level and ledger; what a brand pays for; and the events that carry it all."""

import uuid
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Self

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models import Brand, User

ZERO = Decimal(0)


class RewardType(models.TextChoices):
    POINTS = "points", _("Fixed points")
    PERCENTAGE = "percentage", _("Percent of the amount")


class BrandLevel(models.Model):
    """A tier of a brand: from how many lifetime points it holds, and what a scan earns in it."""

    brand = models.ForeignKey(Brand, on_delete=models.CASCADE, related_name="levels")
    name = models.CharField(max_length=60)
    threshold = models.DecimalField(
        max_digits=12,
        decimal_places=2,
        default=ZERO,
        validators=[MinValueValidator(0)],
        help_text=_("Lifetime points from which a customer is in this level."),
    )
    scan_reward_type = models.CharField(max_length=10, choices=RewardType.choices, default=RewardType.POINTS)
    scan_reward_value = models.DecimalField(
        max_digits=10, decimal_places=2, default=Decimal(1), validators=[MinValueValidator(0)]
    )

    class Meta:
        ordering = ["brand_id", "threshold"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "name"], name="level_name_unique_in_brand"),
            models.UniqueConstraint(fields=["brand", "threshold"], name="level_threshold_unique_in_brand"),
            models.CheckConstraint(
                condition=Q(threshold__gte=0, scan_reward_value__gte=0), name="level_numbers_not_negative"
            ),
            models.CheckConstraint(condition=Q(scan_reward_type__in=RewardType.values), name="level_reward_type_known"),
        ]

    def __str__(self) -> str:
        return self.name


class EarningRule(models.Model):
    """What an order, a profile change or a login earns at a brand. Scans earn by level instead."""

    class Kind(models.TextChoices):
        ORDER = "order-complete", _("Order completed")
        PROFILE = "log-user-profile-update", _("Profile field completed")
        LOGIN = "log-user-login", _("First login of the day")

    brand = models.ForeignKey(Brand, on_delete=models.CASCADE, related_name="earning_rules")
    kind = models.CharField(max_length=32, choices=Kind.choices)
    reward_type = models.CharField(max_length=10, choices=RewardType.choices, default=RewardType.POINTS)
    reward_value = models.DecimalField(max_digits=10, decimal_places=2, validators=[MinValueValidator(0)])
    is_active = models.BooleanField(default=True)

    class Meta:
        ordering = ["brand_id", "kind"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "kind"], name="one_earning_rule_per_kind"),
            models.CheckConstraint(condition=Q(reward_value__gte=0), name="earning_rule_not_negative"),
            models.CheckConstraint(
                condition=Q(reward_type="points") | Q(reward_type="percentage", kind="order-complete"),
                name="percentage_needs_an_amount",
                violation_error_message=_("Only orders have an amount to take a percentage of."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.reward_value} {self.get_reward_type_display()}"


class UserPoints(models.Model):
    """A customer's account at a brand; having one is being enrolled. Only the ledger changes its numbers."""

    class Status(models.TextChoices):
        ACTIVE = "active", _("Active")
        BLOCKED = "blocked", _("Blocked")

    user_point_id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="points_rows")
    brand = models.ForeignKey(Brand, on_delete=models.PROTECT, related_name="members")
    points = models.DecimalField(max_digits=14, decimal_places=2, default=ZERO, help_text=_("Current balance."))
    points_earned = models.DecimalField(max_digits=14, decimal_places=2, default=ZERO)
    points_redeemed = models.DecimalField(max_digits=14, decimal_places=2, default=ZERO)
    points_expired = models.DecimalField(max_digits=14, decimal_places=2, default=ZERO)
    current_level = models.CharField(max_length=60, blank=True, help_text=_("Name of the level; empty: the lowest."))
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    enrolled_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, db_column="updatedAt", editable=False)

    class Meta:
        db_table = "user_points"
        verbose_name = _("member")
        ordering = ["-user_point_id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "brand"], name="one_account_per_brand"),
            models.CheckConstraint(
                condition=Q(points=F("points_earned") - F("points_redeemed") - F("points_expired")),
                name="balance_is_earned_minus_spent",
            ),
            models.CheckConstraint(
                condition=Q(points__gte=0, points_earned__gte=0, points_redeemed__gte=0, points_expired__gte=0),
                name="points_not_negative",
            ),
            models.CheckConstraint(condition=Q(status__in=["active", "blocked"]), name="member_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.brand}"


class LoyaltyTransaction(models.Model):
    """A line of the ledger. Lines are added, never changed: a database trigger refuses UPDATE and DELETE."""

    class Reason(models.TextChoices):
        EARNED = "earned", _("Earned")
        REDEEMED = "redeemed", _("Redeemed")
        EXPIRED = "expired", _("Expired")

    loyalty_transaction_id = models.BigAutoField(primary_key=True)
    user_point = models.ForeignKey(UserPoints, on_delete=models.PROTECT, related_name="transactions")
    points_earned = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO)
    points_redeemed = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO)
    points_expired = models.DecimalField(max_digits=10, decimal_places=2, default=ZERO)
    reason = models.CharField(max_length=50, choices=Reason.choices)
    reason_id = models.CharField(max_length=255, help_text=_("For scans the auth code, else a namespaced id."))
    note = models.TextField(blank=True, help_text=_("What the customer reads."))
    created_at = models.DateTimeField(default=timezone.now, db_column="createdAt", editable=False)
    updated_at = models.DateTimeField(default=timezone.now, db_column="updatedAt", editable=False)

    class Meta:
        db_table = "loyalty_transaction"
        ordering = ["-loyalty_transaction_id"]
        indexes = [
            models.Index(fields=["reason_id"], name="ledger_reason_id"),
            models.Index(fields=["user_point", "-loyalty_transaction_id"], name="ledger_newest_first"),
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
        return f"{self.reason} {self.amount} ({self.reason_id})"

    @property
    def amount(self) -> Decimal:
        """Points, always positive; `reason` tells the direction."""
        return self.points_earned + self.points_redeemed + self.points_expired


def default_give_up_at() -> datetime:
    return timezone.now() + timedelta(hours=settings.EVENT_RETRY_HOURS)


class EventQuerySet(models.QuerySet["Event"]):
    def pending(self) -> Self:
        return self.filter(status=Event.Status.PENDING)

    def dead(self) -> Self:
        return self.filter(status=Event.Status.DEAD)


class Event(models.Model):
    """Something that happened and what became of it: inbox and outbox in one table."""

    class Status(models.TextChoices):
        PENDING = "pending", _("Pending")
        DONE = "done", _("Done")
        REFUSED = "refused", _("Refused")
        IGNORED = "ignored", _("Ignored: no handler")
        DEAD = "dead", _("Dead: gave up")

    event_id = models.UUIDField(default=uuid.uuid4, help_text=_("The envelope's id, unique per source."))
    source = models.CharField(max_length=120)
    detail_type = models.CharField(max_length=64)
    brand = models.ForeignKey(Brand, on_delete=models.PROTECT, related_name="events")
    account = models.CharField(max_length=64, blank=True)
    region = models.CharField(max_length=64, blank=True)
    time = models.DateTimeField(default=timezone.now)
    detail = models.JSONField(help_text=_("arguments and payload; never a bearer token."))
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(
        default=timezone.now, help_text=_("When it may be delivered; a worker that holds it moves this ahead.")
    )
    give_up_at = models.DateTimeField(default=default_give_up_at, help_text=_("A failure after this moment is final."))
    outcome = models.JSONField(null=True, blank=True, help_text=_("The stored answer, or the refusal."))
    last_error = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["due_at"], name="event_due", condition=Q(status="pending")),
            models.Index(fields=["id"], name="event_dead", condition=Q(status="dead")),
        ]
        constraints = [
            models.UniqueConstraint(fields=["brand", "source", "event_id"], name="event_once_per_source"),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "done", "refused", "ignored", "dead"]), name="event_status_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.detail_type} {self.event_id}"
