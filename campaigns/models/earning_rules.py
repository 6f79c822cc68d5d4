"""What actions earn: a brand's rules, their versions in force, and what those with limits have given."""

import re
from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.models.event_kinds import KIND_NAME, EventKind
from core.db.constraints import check
from core.moments import DayField, MomentField
from core.translations import TranslationsField
from loyalty.models.accounts import UserPoints

ZERO = Decimal(0)
# A rule in this group competes with the points of the member's level instead of adding to them.
LEVEL_GROUP = "level"


class EarningRule(models.Model):
    """What a kind of action earns, under which conditions and limits, and how it combines with other rules.

    `conditions` and `limits` are data that campaigns/earning reads; they are never evaluated as code. On every change
    to a rule in force, a trigger stores the new version in `EarningRuleVersion`.
    """

    class Kind(models.TextChoices):
        SCAN = "scan-auth", _("Product scanned")
        ORDER = "order-complete", _("Order completed")
        PROFILE = "log-user-profile-update", _("Profile field completed")
        LOGIN = "log-user-login", _("First login of the day")
        MILESTONE = "milestone", _("Milestone that pays points")
        WELCOME = "member-welcome", _("Member joined")
        BIRTHDAY = "member-birthday", _("Member's birthday")

    class Effect(models.TextChoices):
        """The values are those of `reward_type` in the API and in files."""

        POINTS = "points", _("Fixed points")
        PERCENTAGE = "percentage", _("Percent of the amount")
        MULTIPLIER = "multiplier", _("Multiple of what other rules give")
        BONUS = "bonus", _("Bonus on top, never multiplied")

    class Per(models.TextChoices):
        EVENT = "event", _("Once for the action")
        ITEM = "item", _("For each item that matches")

    class Basis(models.TextChoices):
        WHOLE = "whole", _("The whole amount")
        MATCHING = "matching", _("Only the items that match")

    class Stacking(models.TextChoices):
        ADD = "add", _("Adds to other rules")
        MULTIPLY = "multiply", _("Multiplies the result of other multipliers")
        BEST = "best", _("Only the best rule of its group counts")

    class State(models.TextChoices):
        """The stored state. Whether an active rule is scheduled or has ended depends on its dates: see `state_at`."""

        DRAFT = "draft", _("Draft")
        ACTIVE = "active", pgettext_lazy("earning rule", "Active")
        PAUSED = "paused", _("Paused")
        ENDED = "ended", _("Ended")

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="earning_rules", verbose_name=_("brand"))
    name = models.CharField(
        _("name"),
        max_length=120,
        blank=True,
        help_text=_("Shown to customers next to their points. Leave empty to name the rule after its kind."),
    )
    kind = models.CharField(_("when"), max_length=64, choices=Kind.choices)
    reward_type = models.CharField(_("effect"), max_length=10, choices=Effect.choices, default=Effect.POINTS)
    reward_value = models.DecimalField(
        _("value"),
        max_digits=10,
        decimal_places=2,
        validators=[MinValueValidator(0)],
        help_text=_("The points, the percentage or the multiplier."),
    )
    per = models.CharField(_("given"), max_length=5, choices=Per.choices, default=Per.EVENT, db_default=Per.EVENT)
    basis = models.CharField(
        _("percent of"), max_length=8, choices=Basis.choices, default=Basis.WHOLE, db_default=Basis.WHOLE
    )
    conditions = models.JSONField(_("conditions"), default=dict, db_default={}, blank=True)
    limits = models.JSONField(_("limits"), default=list, db_default=[], blank=True)
    stacking = models.CharField(
        _("stacking"), max_length=8, choices=Stacking.choices, default=Stacking.ADD, db_default=Stacking.ADD
    )
    group = models.CharField(
        _("group"),
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text=_("Rules that exclude each other share a group. “level” is the group of the level's points."),
    )
    priority = models.PositiveSmallIntegerField(
        _("priority"), default=100, db_default=100, help_text=_("Higher ones count first where the order matters.")
    )
    starts_at = MomentField(_("starts at"), null=True, blank=True)
    ends_at = MomentField(_("ends at"), null=True, blank=True)
    without_end = models.BooleanField(
        _("runs until somebody ends it"),
        default=False,
        db_default=False,
        help_text=_("Tick this if the rule has conditions or multiplies, and has neither an end nor a limit."),
    )
    state = models.CharField(
        _("state"), max_length=8, choices=State.choices, default=State.ACTIVE, db_default=State.ACTIVE
    )
    state_changed_at = MomentField(_("state changed at"), default=timezone.now, editable=False)
    state_changed_by = models.ForeignKey(
        User,
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        db_index=False,
        verbose_name=_("state changed by"),
    )
    translations = TranslationsField(of=("name",))

    class Meta:
        verbose_name = _("earning rule")
        verbose_name_plural = _("earning rules")
        ordering = ["brand_id", "kind", "-priority", "id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "name"], name="earning_rule_name_unique_in_brand"),
            check("earning_rule_not_negative", Q(reward_value__gte=0)),
            check("earning_rule_effect_known", Q(reward_type__in=["points", "percentage", "multiplier", "bonus"])),
            check(
                "percentage_needs_an_amount",
                ~Q(reward_type="percentage") | Q(kind__in=["order-complete", "scan-auth"]),
                message=_("Only orders and scans have an amount to take a percentage of."),
            ),
            check(
                "multiplier_above_one",
                ~Q(reward_type="multiplier") | Q(reward_value__gt=1),
                message=_("A multiplier is more than 1, such as 2 for double points."),
            ),
            check(
                "only_multipliers_multiply",
                ~Q(stacking="multiply") | Q(reward_type="multiplier"),
                message=_("Only a multiplier can multiply; let the rule add."),
            ),
            check(
                "best_of_a_group",
                ~Q(stacking="best") | ~Q(group=""),
                message=_("Name the group in which only the best rule counts."),
            ),
            check(
                "earning_rule_ends_after_start",
                Q(starts_at__isnull=True) | Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")),
                message=_("The rule must end after it starts."),
            ),
            check("earning_rule_state_known", Q(state__in=["draft", "active", "paused", "ended"])),
        ]

    def __str__(self) -> str:
        return self.name or self.kind_title

    def save(self, *args: Any, **options: Any) -> None:
        self.name = self.name or self.default_name()
        super().save(*args, **options)

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """As for any row, except that a brand's own kind is not among the choices: `clean` checks it."""
        super().clean_fields({*(exclude or ()), *({"kind"} if is_own_kind(self.kind) else ())})

    def clean(self) -> None:
        """As for any row; a rule without a name gets its default name. Raises ValidationError."""
        super().clean()
        if self.brand_id and is_own_kind(self.kind) and self.own_kind is None:
            raise ValidationError({"kind": _("Select a valid choice. The brand has no kind “%s”.") % self.kind})
        self.name = self.name.strip() or self.default_name()
        if (
            self.brand_id
            and EarningRule.objects.filter(brand=self.brand_id, name=self.name).exclude(pk=self.pk).exists()
        ):
            raise ValidationError({"name": _("An earning rule with this name already exists.")})

    def default_name(self) -> str:
        return self.kind_title

    @property
    def own_kind(self) -> EventKind | None:
        """The brand's own kind that the rule is for; None for the service's kinds."""
        if not is_own_kind(self.kind):
            return None
        return EventKind.objects.filter(brand=self.brand_id, name=self.kind).first()

    @property
    def kind_title(self) -> str:
        """The kind's label, or its name if it has none."""
        return str(dict(self.Kind.choices).get(self.kind) or self.own_kind or self.kind)

    @property
    def is_active(self) -> bool:
        """Whether the stored state is active; see `state_at` for the dates."""
        return self.state == self.State.ACTIVE

    def state_at(self, at: datetime) -> str:
        """`scheduled` before an active rule's start, `ended` after an active or paused one's end, else as stored."""
        if self.state == self.State.ACTIVE and self.starts_at and at < self.starts_at:
            return "scheduled"
        if self.state in {self.State.ACTIVE, self.State.PAUSED} and self.ends_at and at >= self.ends_at:
            return str(self.State.ENDED)
        return self.state


def is_own_kind(kind: str) -> bool:
    """Whether this is not one of the service's kinds and has the form of a brand's own."""
    return kind not in EarningRule.Kind.values and re.match(KIND_NAME, kind) is not None


class EarningRuleSet(models.Model):
    """How often the rules in force at a brand have changed. Written only by a trigger."""

    brand = models.OneToOneField(Brand, models.CASCADE, primary_key=True, related_name="+")
    version = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.brand}: {self.version}"


class EarningRuleVersion(models.Model):
    """A rule as of a version of its brand's set; `content` is null if the rule went out of force.

    Written only by a trigger and never changed, so that past decisions can be replayed.
    """

    append_only = ()

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False)
    rule_id = models.BigIntegerField()
    number = models.PositiveIntegerField(help_text=_("Counts the rule's own versions."))
    set_version = models.PositiveIntegerField()
    content = models.JSONField(null=True)
    written_at = MomentField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "rule_id", "set_version"], name="one_version_in_a_set"),
        ]

    def __str__(self) -> str:
        return f"{self.rule_id}, version {self.number}"


class EarningRuleBudgetUse(models.Model):
    """What a rule has given in all, if it has a limit for the rule. `notified_at`: when owners were notified."""

    brand_through = ("rule",)

    rule = models.OneToOneField(EarningRule, models.CASCADE, primary_key=True, related_name="budget_use")
    points = models.DecimalField(max_digits=14, decimal_places=2, default=ZERO, db_default=ZERO)
    events = models.PositiveBigIntegerField(default=0, db_default=0)
    used_up_at = MomentField(null=True)
    notified_at = MomentField(null=True)

    class Meta:
        constraints = [check("rule_budget_not_negative", Q(points__gte=0, events__gte=0))]

    def __str__(self) -> str:
        return f"{self.rule}: {self.points}"


class EarningRuleUse(models.Model):
    """What a rule has given one member in the period that began on `started`; each period starts at zero."""

    brand_through = ("rule",)
    customer_through = ("account",)

    class Period(models.TextChoices):
        DAY = "day", _("a day")
        WEEK = "week", _("a week")
        MONTH = "month", _("a month")
        EVER = "ever", _("in all")

    rule = models.ForeignKey(EarningRule, models.CASCADE, related_name="+", db_index=False)
    account = models.ForeignKey(UserPoints, models.CASCADE, related_name="+")
    period = models.CharField(max_length=5, choices=Period.choices)
    started = DayField()
    points = models.DecimalField(max_digits=14, decimal_places=2, default=ZERO)
    events = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "account", "period"], name="one_use_per_period"),
            check("rule_use_not_negative", Q(points__gte=0, events__gte=0)),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.points} {self.get_period_display()}"
