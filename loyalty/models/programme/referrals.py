"""Referrals: members refer friends with a code of their own, and the brand rewards both."""

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField
from loyalty.models.accounts import UserPoints, points_column

ZERO = Decimal(0)
CODE_LENGTH = 8


class ReferralProgramme(models.Model):
    """What a brand gives for referrals, for which first action, and the maximum in all."""

    class Action(models.TextChoices):
        SCAN = "scan", _("The friend's first scan that earns points")
        ORDER = "order", _("The friend's first order that earns points")
        EITHER = "either", _("The friend's first scan or order that earns points")

    brand = models.OneToOneField(Brand, models.CASCADE, related_name="referral_programme", verbose_name=_("brand"))
    is_active = models.BooleanField(
        _("active"),
        default=False,
        help_text=_("Members can refer friends. Waiting referrals are kept while this is off."),
    )
    referrer_points = models.DecimalField(
        _("points for the member"),
        max_digits=10,
        decimal_places=2,
        validators=[MinValueValidator(0)],
        help_text=_("For each friend."),
    )
    friend_points = models.DecimalField(
        _("points for the friend"), max_digits=10, decimal_places=2, validators=[MinValueValidator(0)]
    )
    action = models.CharField(
        _("given after"), max_length=6, choices=Action.choices, default=Action.EITHER, db_default=Action.EITHER.value
    )
    monthly_limit = models.PositiveIntegerField(
        _("friends in a month"),
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(10_000)],
        help_text=_(
            "The maximum number of friends in a month for whom a member gets points, in the brand's time zone."
        ),
    )
    total_limit = models.PositiveIntegerField(
        _("friends in all"),
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(100_000)],
        help_text=_("The maximum number of friends for whom a member gets points."),
    )
    budget = models.DecimalField(
        _("budget"),
        max_digits=14,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("Points for members and friends together. Leave empty for no limit."),
    )
    points_rewarded = points_column(_("points rewarded"), editable=False)
    days_for_code = models.PositiveSmallIntegerField(
        _("days for the code"),
        default=14,
        validators=[MaxValueValidator(90)],
        help_text=_(
            "How many days after joining a friend can still enter a code. Enter 0 to allow it at registration only."
        ),
    )
    days_for_action = models.PositiveSmallIntegerField(
        _("days for the first action"),
        default=90,
        validators=[MinValueValidator(1), MaxValueValidator(365)],
        help_text=_("The number of days after which a referral without the first action lapses."),
    )

    class Meta:
        verbose_name = _("referral programme")
        verbose_name_plural = _("referral programmes")
        ordering = ["brand_id"]
        constraints = [
            check(
                "referral_points_not_negative", Q(referrer_points__gte=0, friend_points__gte=0, points_rewarded__gte=0)
            ),
            check(
                "referral_gives_something",
                Q(referrer_points__gt=0) | Q(friend_points__gt=0),
                message=_("Enter points for the member, for the friend, or for both."),
            ),
            check("referral_action_known", Q(action__in=["scan", "order", "either"])),
        ]

    def __str__(self) -> str:
        return str(self.brand)

    @property
    def points(self) -> Decimal:
        """The points that one referral takes from the budget."""
        return self.referrer_points + self.friend_points


class ReferralCode(models.Model):
    """The code with which a member refers friends. It is random, so it reveals nothing about the member."""

    customer_through = ("account",)

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    account = models.OneToOneField(UserPoints, models.CASCADE, related_name="referral_code")
    code = models.CharField(max_length=CODE_LENGTH)
    created_at = MomentField(default=timezone.now)

    class Meta:
        verbose_name = _("referral code")
        verbose_name_plural = _("referral codes")
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["brand", "code"], name="referral_code_unique_in_brand")]

    def __str__(self) -> str:
        return self.code


class Referral(models.Model):
    """A friend who joined with a member's code. The ledger has an entry on either side, `referral:<id>`."""

    customer_through = ("referrer", "friend")

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        REWARDED = "rewarded", _("Rewarded")
        REJECTED = "rejected", _("Rejected")
        LAPSED = "lapsed", _("Lapsed")
        REVERSED = "reversed", _("Reversed")

    class Why(models.TextChoices):
        NONE = "", "-"
        EMAIL = "email", _("Same e-mail address")
        PHONE = "phone", _("Same phone number")
        DEVICE = "device", _("Same device")
        BLOCKED = "blocked", _("A blocked member")
        MONTH = "month", _("The member's monthly limit")
        TOTAL = "total", _("The member's limit")
        BUDGET = "budget", _("The programme's budget")
        RETURN = "return", _("The order was returned")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False, verbose_name=_("brand"))
    referrer = models.ForeignKey(
        UserPoints, models.PROTECT, related_name="referrals", db_index=False, verbose_name=_("member")
    )
    friend = models.OneToOneField(UserPoints, models.PROTECT, related_name="referral", verbose_name=_("friend"))
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.WAITING)
    why = models.CharField(_("why"), max_length=8, choices=Why.choices, default=Why.NONE, blank=True)
    referrer_points = models.DecimalField(_("points for the member"), max_digits=10, decimal_places=2, default=ZERO)
    friend_points = models.DecimalField(_("points for the friend"), max_digits=10, decimal_places=2, default=ZERO)
    action = models.CharField(
        _("first action"),
        max_length=255,
        blank=True,
        default="",
        help_text=_("The reason id of the action's ledger entry."),
    )
    created_at = MomentField(_("joined at"), default=timezone.now, editable=False)
    rewarded_at = MomentField(_("rewarded at"), null=True, editable=False)
    decided_at = MomentField(_("decided at"), null=True, editable=False)

    class Meta:
        verbose_name = _("referral")
        verbose_name_plural = _("referrals")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["brand", "-id"], name="referrals_of_brand"),
            models.Index(fields=["referrer", "-id"], name="referrals_of_member"),
            models.Index(fields=["brand", "id"], name="referrals_waiting", condition=Q(state="waiting")),
        ]
        constraints = [
            check("referral_of_another", ~Q(referrer=F("friend"))),
            check("referral_state_known", Q(state__in=["waiting", "rewarded", "rejected", "lapsed", "reversed"])),
            check(
                "referral_rewarded_with_points",
                Q(state__in=["rewarded", "reversed"], rewarded_at__isnull=False)
                | Q(
                    state__in=["waiting", "rejected", "lapsed"],
                    rewarded_at__isnull=True,
                    referrer_points=0,
                    friend_points=0,
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"referral {self.pk}"
