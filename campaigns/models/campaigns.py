"""Campaigns with milestones, each customer's progress, and the rewards reached."""

from datetime import datetime
from decimal import Decimal
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField
from core.translations import TranslationsField
from loyalty.models.rewards import Reward

ZERO = Decimal(0)


class CampaignQuerySet(models.QuerySet["Campaign"]):
    def running(self, at: datetime) -> Self:
        """Campaigns that are switched on and whose dates include `at`."""
        return self.filter(
            Q(starts_at__isnull=True) | Q(starts_at__lte=at),
            Q(ends_at__isnull=True) | Q(ends_at__gt=at),
            is_active=True,
        )


class Campaign(models.Model):
    """A goal that customers of a brand work towards, one qualifying action at a time.

    `conditions` select the actions that count, in the format of earning rules (see campaigns/earning).
    """

    visible_to_customers = True

    class Type(models.TextChoices):
        SCAN = "authenticator_scan", _("Product scans")
        ORDER = "order", _("Orders")
        PROFILE = "profile", _("Profile changes")
        LOGIN = "login", _("Logins")

    class StepBy(models.TextChoices):
        COUNT = "count", _("Actions, one by one")
        AMOUNT = "amount", _("Money spent")
        PRODUCTS = "products", _("Different products")

    campaign_id = models.BigAutoField(primary_key=True)
    brand = models.ForeignKey(Brand, models.PROTECT, related_name="campaigns", verbose_name=_("brand"))
    campaign_name = models.CharField(_("campaign name"), max_length=120)
    type = models.CharField(_("type"), max_length=32, choices=Type.choices, default=Type.SCAN)
    target_value = models.PositiveIntegerField(
        _("target value"), validators=[MinValueValidator(1)], help_text=_("The goal, for example a count of scans.")
    )
    step_by = models.CharField(
        _("counts"),
        max_length=8,
        choices=StepBy.choices,
        default=StepBy.COUNT,
        db_default=StepBy.COUNT,
        help_text=_("What brings a customer nearer to the goal. It cannot be changed once somebody has begun."),
    )
    is_repeatable = models.BooleanField(
        _("repeatable"),
        default=False,
        db_default=False,
        help_text=_("If ticked, members who reach the goal start a new round and can earn the rewards again."),
    )
    conditions = models.JSONField(_("conditions"), default=dict, db_default={}, blank=True)
    budget = models.DecimalField(
        _("budget in points"),
        max_digits=14,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal("0.01"))],
        help_text=_(
            "The most points that all milestones may pay together. A milestone that costs more than what is left pays "
            "nothing. Leave empty for no limit."
        ),
    )
    starts_at = MomentField(_("starts at"), null=True, blank=True)
    ends_at = MomentField(_("ends at"), null=True, blank=True)
    is_active = models.BooleanField(_("active"), default=True)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    translations = TranslationsField(of=("campaign_name",))

    objects = CampaignQuerySet.as_manager()

    class Meta:
        verbose_name = _("campaign")
        verbose_name_plural = _("campaigns")
        ordering = ["-campaign_id"]
        constraints = [
            check("campaign_target_positive", Q(target_value__gte=1)),
            check(
                "campaign_ends_after_start",
                Q(starts_at__isnull=True) | Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")),
                message=_("The campaign must end after it starts."),
            ),
            check("campaign_type_known", Q(type__in=["authenticator_scan", "order", "profile", "login"])),
            check("campaign_step_known", Q(step_by__in=["count", "amount", "products"])),
            check(
                "campaign_step_needs_products",
                Q(step_by="count") | Q(type__in=["authenticator_scan", "order"]),
                message=_("Only scans and orders have products and amounts to count."),
            ),
            check("campaign_budget_positive", Q(budget__isnull=True) | Q(budget__gt=0)),
        ]

    def __str__(self) -> str:
        return self.campaign_name


class Milestone(models.Model):
    """A step on the way to a campaign's goal, with the reward that a customer gets there, once in each round.

    The reward is points, a reward of the catalogue, or something that has only a name. Triggers copy `reward_name` and
    `translations` from the catalogue, so that readers of a milestone, such as accruals, need no other table.
    """

    brand_through = ("campaign",)

    milestone_id = models.BigAutoField(primary_key=True)
    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="milestones", verbose_name=_("campaign"))
    threshold = models.PositiveIntegerField(
        _("threshold"), validators=[MinValueValidator(1)], help_text=_("The progress at which it is reached.")
    )
    reward = models.ForeignKey(
        Reward,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="milestones",
        verbose_name=_("reward of the catalogue"),
        help_text=_(
            "What the milestone gives. The stock and partner codes of the catalogue apply, but the cost does not."
        ),
    )
    reward_name = models.CharField(
        _("reward name"),
        max_length=120,
        help_text=_("What the milestone gives. A reward of the catalogue has its own name."),
    )
    reward_points = models.DecimalField(
        _("reward points"),
        max_digits=10,
        decimal_places=2,
        default=0,
        validators=[MinValueValidator(0)],
        help_text=_("Points that the milestone pays."),
    )
    auto_claim = models.BooleanField(
        _("given at once"),
        default=True,
        help_text=_(
            "If ticked, points are credited or a code is issued at once. If not, the customer claims the reward."
        ),
    )
    translations = TranslationsField(of=("reward_name",))

    class Meta:
        verbose_name = _("milestone")
        verbose_name_plural = _("milestones")
        ordering = ["campaign_id", "threshold"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "threshold"], name="one_milestone_per_threshold"),
            check("milestone_threshold_positive", Q(threshold__gte=1)),
            check("milestone_reward_not_negative", Q(reward_points__gte=0)),
            check(
                "milestone_gives_points_or_a_reward",
                Q(reward__isnull=True) | Q(reward_points=0),
                message=_("A milestone gives either points or a reward of the catalogue. Clear one of the two."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reward_name} at {self.threshold}"


class CampaignBudgetUse(models.Model):
    """Points that a campaign with a budget has paid at milestones. `notified_at`: when owners were notified.

    A trigger creates the row with the campaign, and counts earlier payments when a budget is set.
    """

    campaign = models.OneToOneField(Campaign, models.CASCADE, primary_key=True, related_name="budget_use")
    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    points = models.DecimalField(max_digits=14, decimal_places=2, default=ZERO, db_default=ZERO)
    notified_at = MomentField(null=True)

    class Meta:
        constraints = [check("campaign_spent_not_negative", Q(points__gte=0))]

    def __str__(self) -> str:
        return f"{self.campaign}: {self.points}"


class UserLoyaltyCampaign(models.Model):
    """A customer's progress in a campaign: money or whole steps, towards the goal of the current round.

    `milestones_achieved` and `products` are those of this round.
    """

    brand_through = ("campaign",)
    customer_through = ("user",)

    user = models.ForeignKey(
        User, models.PROTECT, related_name="campaign_progress", db_index=False, verbose_name=_("customer")
    )
    campaign = models.ForeignKey(Campaign, models.PROTECT, related_name="progress_rows", verbose_name=_("campaign"))
    progress = models.DecimalField(_("progress"), max_digits=12, decimal_places=2, default=1)
    milestones_achieved = ArrayField(models.BigIntegerField(), default=list, help_text=_("Ids of the milestones."))
    round = models.PositiveIntegerField(default=1, db_default=1)
    products = ArrayField(models.BigIntegerField(), default=list, db_default=[], help_text=_("Ids of the products."))
    created_at = MomentField(_("created at"), default=timezone.now, db_column="createdAt", editable=False)
    updated_at = MomentField(_("updated at"), default=timezone.now, db_column="updatedAt", editable=False)

    class Meta:
        db_table = "user_loyalty_campaign"
        verbose_name = _("campaign progress")
        verbose_name_plural = _("campaign progress")
        ordering = ["-updated_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "campaign"], name="one_progress_per_campaign"),
            check("progress_not_negative", Q(progress__gte=0)),
            check("progress_round_positive", Q(round__gte=1)),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.campaign}"

    @property
    def displayed_progress(self) -> Decimal:
        """At most the goal: a brand may lower it below what was already counted."""
        return min(self.progress, Decimal(self.campaign.target_value))


class RewardClaim(models.Model):
    """A milestone's reward for one customer: available, then claimed, once in each round of the campaign.

    `points`: what the milestone paid when it was reached; older rows have none, and pay its current points.
    """

    brand_through = ("milestone",)
    customer_through = ("user",)

    class Status(models.TextChoices):
        AVAILABLE = "available", _("To be claimed")
        CLAIMED = "claimed", _("Claimed")

    milestone = models.ForeignKey(
        Milestone, models.PROTECT, related_name="claims", db_index=False, verbose_name=_("milestone")
    )
    user = models.ForeignKey(
        User, models.PROTECT, related_name="reward_claims", db_index=False, verbose_name=_("customer")
    )
    round = models.PositiveIntegerField(default=1, db_default=1)
    points = models.DecimalField(max_digits=10, decimal_places=2, null=True, editable=False)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.AVAILABLE)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    claimed_at = MomentField(_("claimed at"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("reward claim")
        verbose_name_plural = _("reward claims")
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["user", "-id"], name="claims_of_customer")]
        constraints = [
            models.UniqueConstraint(fields=["milestone", "user", "round"], name="reward_given_once_in_a_round"),
            check(
                "reward_claim_state",
                Q(status="available", claimed_at__isnull=True) | Q(status="claimed", claimed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.milestone} for {self.user}"
