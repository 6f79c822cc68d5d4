"""A brand's catalogue of rewards, the redemptions that customers bought or won, and partner codes."""

from datetime import datetime
from decimal import Decimal
from typing import Self

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from brands.models.credentials import ApiKey
from brands.models.people import User
from brands.models.tenants import Brand, Picture
from core.db.constraints import check
from core.encryption import EncryptedTextField
from core.moments import MomentField
from core.texts import DOTS
from core.translations import TranslationsField
from loyalty.models.accounts import UserPoints
from loyalty.models.levels import BrandLevel
from loyalty.models.programme.segments import Segment, SegmentMember

CODE_LENGTH = 16
MAX_PARTNER_CODE_LENGTH = 200


class RewardQuerySet(models.QuerySet["Reward"]):
    def offered(self, at: datetime) -> Self:
        """Active rewards for points that have not ended at `at`, including those that have not begun yet."""
        return self.filter(Q(valid_until__isnull=True) | Q(valid_until__gt=at), is_active=True, cost__isnull=False)

    def for_customer(self, *, user_id: int, brand_id: int) -> Self:
        """Rewards for everyone or for the customer's segments. Customers never see the others."""
        members = SegmentMember.objects.filter(brand=brand_id, account__user=user_id)
        return self.filter(Q(segment__isnull=True) | Q(segment__in=members.values("segment")))


class Reward(models.Model):
    """A reward that customers redeem for points or win at a milestone. Without a cost it can only be won.

    Stock and partner codes are shared by both. Dates, level, segment and the limit per member apply only to buying: a
    milestone's promise does not depend on them.
    """

    visible_to_customers = True

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="rewards", verbose_name=_("brand"))
    name = models.CharField(_("name"), max_length=120)
    description = models.TextField(_("description"), blank=True, max_length=2000)
    picture = models.ForeignKey(
        Picture, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("picture")
    )
    cost = models.DecimalField(
        _("cost"),
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal("0.01"))],
        help_text=_("In points. Leave empty for a reward that is not for sale, and is only won in campaigns."),
    )
    stock = models.PositiveIntegerField(
        _("stock"), null=True, blank=True, help_text=_("Number in stock. Leave empty for unlimited stock.")
    )
    limit_per_member = models.PositiveIntegerField(
        _("limit per member"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Maximum per member. Leave empty for no limit."),
    )
    valid_from = MomentField(_("valid from"), null=True, blank=True)
    valid_until = MomentField(_("valid until"), null=True, blank=True)
    minimum_level = models.ForeignKey(
        BrandLevel,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="rewards",
        help_text=_("Only for members of this level and above. Leave empty for all members."),
        verbose_name=_("minimum level"),
    )
    segment = models.ForeignKey(
        Segment,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="rewards",
        help_text=_("Only for members of this segment; nobody else sees the reward. Leave empty for all members."),
        verbose_name=_("segment"),
    )
    is_active = models.BooleanField(_("active"), default=True)
    code_days = models.PositiveIntegerField(
        _("code days"),
        null=True,
        blank=True,
        default=90,
        validators=[MinValueValidator(1)],
        help_text=_("Days until an unused code expires. Leave empty for no expiry."),
    )
    uses_pool = models.BooleanField(
        _("hands out partner codes"),
        default=False,
        db_default=False,
        help_text=_("Members get a code from this reward's pool, such as a partner's voucher. Its stock is the pool."),
    )
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    translations = TranslationsField(of=("name", "description"))

    objects = RewardQuerySet.as_manager()

    class Meta:
        verbose_name = _("reward")
        verbose_name_plural = _("rewards")
        ordering = ["-id"]
        constraints = [
            check("reward_costs_something", Q(cost__isnull=True) | Q(cost__gt=0)),
            check("stock_not_negative", Q(stock__isnull=True) | Q(stock__gte=0)),
            check("reward_limit_positive", Q(limit_per_member__isnull=True) | Q(limit_per_member__gte=1)),
            check(
                "reward_ends_after_start",
                Q(valid_from__isnull=True) | Q(valid_until__isnull=True) | Q(valid_until__gt=F("valid_from")),
                message=_("The reward must end after it starts."),
            ),
            check("reward_code_days_sensible", Q(code_days__isnull=True) | Q(code_days__range=(1, 36_500))),
            check(
                "pool_is_the_stock",
                Q(uses_pool=False) | Q(stock__isnull=True),
                message=_("Leave the stock empty: for a reward that hands out partner codes, the pool is the stock."),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Redemption(models.Model):
    """A reward that a customer redeemed for points or won at a milestone, with the code for the till."""

    customer_through = ("user_point",)

    class Status(models.TextChoices):
        ISSUED = "issued", _("Issued")
        USED = "used", _("Used")
        CANCELLED = "cancelled", _("Cancelled")

    brand = models.ForeignKey(
        Brand, models.PROTECT, related_name="redemptions", db_index=False, verbose_name=_("brand")
    )
    user_point = models.ForeignKey(
        UserPoints, models.PROTECT, related_name="redemptions", db_index=False, verbose_name=_("member")
    )
    reward = models.ForeignKey(
        Reward, models.PROTECT, null=True, blank=True, related_name="redemptions", verbose_name=_("reward")
    )
    # The id of the milestone that gave it. Campaigns depend on loyalty, so that app adds the foreign key.
    milestone_id = models.BigIntegerField(null=True, blank=True, editable=False, db_index=True)
    milestone_round = models.PositiveIntegerField(
        default=1, db_default=1, editable=False, help_text=_("The round of a repeatable campaign.")
    )
    name = models.CharField(
        _("reward"), max_length=120, help_text=_("The reward's name at the time of the redemption.")
    )
    cost = models.DecimalField(_("cost"), max_digits=10, decimal_places=2)
    balance_after = models.DecimalField(_("balance after"), max_digits=14, decimal_places=2, editable=False)
    code = models.CharField(_("code"), max_length=CODE_LENGTH, db_collation="C", editable=False)
    request_key = models.UUIDField(editable=False, help_text=_("The key of the request that created it."))
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.ISSUED)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    expires_at = MomentField(_("expires at"), null=True, blank=True)
    used_at = MomentField(_("used at"), null=True, blank=True)
    used_by = models.ForeignKey(
        User,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        verbose_name=pgettext_lazy("reward code", "used by"),
    )
    used_key = models.ForeignKey(
        ApiKey, models.SET_NULL, null=True, blank=True, related_name="+", db_index=False, verbose_name=_("API key")
    )
    used_request = models.UUIDField(null=True, blank=True, editable=False)
    cancelled_at = MomentField(_("cancelled at"), null=True, blank=True)

    class Meta:
        verbose_name = _("redemption")
        verbose_name_plural = _("redemptions")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["brand", "-id"], name="redemptions_of_a_brand"),
            models.Index(fields=["user_point", "-id"], name="redemptions_of_a_member"),
            # Finds hand-overs by one user, today and recently.
            models.Index(fields=["used_by", "used_at"], name="hand_overs", condition=Q(used_by__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(fields=["code"], name="redemption_code_unique"),
            models.UniqueConstraint(fields=["user_point", "request_key"], name="one_redemption_per_request"),
            models.UniqueConstraint(
                fields=["user_point", "milestone_id", "milestone_round"],
                condition=Q(milestone_id__isnull=False),
                name="one_redemption_per_milestone_and_round",
            ),
            check(
                "redemption_of_a_reward_or_a_milestone",
                Q(reward__isnull=False, milestone_id__isnull=True, cost__gt=0) | Q(milestone_id__isnull=False, cost=0),
            ),
            check(
                "redemption_state",
                Q(status="issued", used_at__isnull=True, cancelled_at__isnull=True)
                | Q(status="used", used_at__isnull=False, cancelled_at__isnull=True)
                | Q(status="cancelled", used_at__isnull=True, cancelled_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (#{self.pk})"


class PoolCodeQuerySet(models.QuerySet["PoolCode"]):
    def available(self, at: object) -> "PoolCodeQuerySet":
        """Codes that a member could get at `at`."""
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=at), redemption__isnull=True)


class PoolCode(models.Model):
    """A code from a partner, such as a voucher, in the pool of a reward. It is handed out once.

    The member retains it, whatever happens to the redemption: a code that was shown is never handed out again.
    """

    customer_through = ("redemption",)

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False, verbose_name=_("brand"))
    reward = models.ForeignKey(
        Reward, models.CASCADE, related_name="pool_codes", db_index=False, verbose_name=_("reward")
    )
    code = EncryptedTextField(editable=False)
    # Finds the code without revealing it: a digest with the installation's secret.
    digest = models.CharField(max_length=64, db_collation="C", editable=False)
    ending = models.CharField(_("code"), max_length=4, editable=False, help_text=_("The last characters of the code."))
    expires_at = MomentField(_("expires"), null=True, blank=True)
    redemption = models.OneToOneField(
        Redemption,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="pool_code",
        editable=False,
        verbose_name=_("redemption"),
    )
    imported_at = MomentField(_("imported at"), default=timezone.now, editable=False)

    objects = PoolCodeQuerySet.as_manager()

    class Meta:
        verbose_name = _("partner code")
        verbose_name_plural = _("partner codes")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["reward", "digest"], name="pool_code_once_per_reward"),
        ]
        indexes = [
            models.Index(fields=["brand", "-id"], name="pool_codes_of_a_brand"),
            # Finds the next code to hand out: the one that expires first.
            models.Index(
                fields=["reward", "expires_at", "id"], name="pool_codes_left", condition=Q(redemption__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{DOTS}{self.ending}"
