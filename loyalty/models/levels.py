"""A brand's levels and what scans earn in them; and the history of levels that end."""

from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import DayField, MomentField
from core.translations import TranslationsField
from loyalty.models.accounts import UserPoints

ZERO = Decimal(0)


class RewardType(models.TextChoices):
    POINTS = "points", _("Fixed points")
    PERCENTAGE = "percentage", _("Percent of the amount")


class BrandLevel(models.Model):
    """A brand's level: the lifetime points it takes, and what a scan earns in it."""

    visible_to_customers = True

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="levels", verbose_name=_("brand"))
    name = models.CharField(_("name"), max_length=60)
    threshold = models.DecimalField(
        _("threshold"),
        max_digits=12,
        decimal_places=2,
        default=ZERO,
        validators=[MinValueValidator(0)],
        help_text=_("Points needed to reach this level: all points ever earned, or those of a period if levels end."),
    )
    scan_reward_type = models.CharField(
        _("scan reward type"), max_length=10, choices=RewardType.choices, default=RewardType.POINTS
    )
    scan_reward_value = models.DecimalField(
        _("scan reward value"), max_digits=10, decimal_places=2, default=Decimal(1), validators=[MinValueValidator(0)]
    )
    benefits = models.TextField(
        _("benefits"),
        max_length=1000,
        blank=True,
        default="",
        db_default="",
        help_text=_("What members of this level get, one benefit per line, as customers read it."),
    )
    translations = TranslationsField(of=("name", "benefits"))

    class Meta:
        verbose_name = _("level")
        verbose_name_plural = _("levels")
        ordering = ["brand_id", "threshold"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "name"], name="level_name_unique_in_brand"),
            models.UniqueConstraint(fields=["brand", "threshold"], name="level_threshold_unique_in_brand"),
            check("level_numbers_not_negative", Q(threshold__gte=0, scan_reward_value__gte=0)),
            check("level_reward_type_known", Q(scan_reward_type__in=RewardType.values)),
        ]

    def __str__(self) -> str:
        return self.name


class LevelChange(models.Model):
    """A change or renewal of a member's level, at a brand with level periods. Rows are never changed."""

    customer_through = ("user_point",)

    class Reason(models.TextChoices):
        REACHED = "reached", _("Reached")
        RENEWED = "renewed", _("Renewed for another period")
        LOWERED = "lowered", _("Too few points in the period")
        RETURNED = "returned", _("Order returned")

    brand = models.ForeignKey(
        Brand, models.PROTECT, related_name="+", db_index=False, db_constraint=False, verbose_name=_("brand")
    )
    user_point = models.ForeignKey(
        UserPoints, models.PROTECT, related_name="level_changes", db_index=False, verbose_name=_("member")
    )
    level_before = models.CharField(pgettext_lazy("level before a change", "from"), max_length=60, blank=True)
    level_after = models.CharField(pgettext_lazy("level after a change", "to"), max_length=60, blank=True)
    reason = models.CharField(_("reason"), max_length=8, choices=Reason.choices)
    points = models.DecimalField(
        _("points"), max_digits=14, decimal_places=2, help_text=_("The points of the period that decided this change.")
    )
    level_until = DayField(
        _("kept until"), null=True, blank=True, help_text=_("The last day of the level. None for the lowest.")
    )
    created_at = MomentField(_("at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("level change")
        verbose_name_plural = _("level changes")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["brand", "-id"], name="level_changes_of_brand"),
            models.Index(fields=["user_point", "-id"], name="level_changes_of_member"),
        ]
        constraints = [check("level_change_reason_known", Q(reason__in=["reached", "renewed", "lowered", "returned"]))]

    def __str__(self) -> str:
        return f"{self.level_before} > {self.level_after} ({self.reason})"


class LevelPeriodState(models.Model):
    """How far a brand's accounts follow its level period setting. Only the job of level periods writes it.

    Accounts up to `reached` follow `setting`. If `reached` is null, all accounts do.
    """

    brand = models.OneToOneField(Brand, models.CASCADE, primary_key=True, related_name="+")
    setting = models.CharField(max_length=120)
    extends = models.BooleanField(help_text=_("Levels stay for at least one whole period from here on."))
    reached = models.BigIntegerField(null=True)
    changed_at = MomentField()

    def __str__(self) -> str:
        return f"{self.brand_id}: {self.setting}"
