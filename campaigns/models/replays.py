"""Replays of drafts over past actions, and the history of earning terms other than rules."""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from core.db.constraints import check
from core.moments import MomentField
from jobs.models import Job


class EarningTerms(models.Model):
    """A brand's levels, point limits, ceiling and clock since a moment. Written only by triggers.

    `content`: `levels` (name, threshold, reward of a scan), lowest first, `daily`, `monthly`, `ceiling`, `time_zone`
    and `after_return`; `level_periods` if levels have periods.
    """

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    content = models.JSONField()
    valid_from = MomentField()

    class Meta:
        verbose_name = _("earning terms")
        verbose_name_plural = _("earning terms")
        ordering = ["-valid_from", "-id"]
        indexes = [models.Index(fields=["brand", "valid_from"], name="terms_of_brand")]

    def __str__(self) -> str:
        return f"{self.brand}: {self.valid_from}"


class Replay(models.Model):
    """A draft as it was when it was tried on a period's actions, and the job's result. Deleted when it expires.

    See campaigns/replay/drafts.py for the format of `content` and campaigns/replay/totals.py for that of `result`,
    which refers to members only by account number.
    """

    class Kind(models.TextChoices):
        RULE = "rule", _("Earning rule")
        LEVELS = "levels", _("Levels")
        CAMPAIGN = "campaign", _("Campaign")

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False, verbose_name=_("brand"))
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices, default=Kind.RULE, db_default=Kind.RULE)
    rule = models.ForeignKey(EarningRule, models.CASCADE, null=True, related_name="replays", verbose_name=_("rule"))
    campaign = models.ForeignKey(
        Campaign, models.CASCADE, null=True, related_name="replays", verbose_name=_("campaign")
    )
    name = models.CharField(_("draft"), max_length=120)
    content = models.JSONField(help_text=_("What the draft contained."))
    since = MomentField(_("from"))
    until = MomentField(_("until"))
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="+", verbose_name=_("job"))
    result = models.JSONField(null=True)
    created_by = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", db_index=False, verbose_name=_("started by")
    )
    created_at = MomentField(_("started"), default=timezone.now)
    finished_at = MomentField(_("finished"), null=True)
    expires_at = MomentField(_("kept until"), db_index=True)

    class Meta:
        verbose_name = _("replay")
        verbose_name_plural = _("replays")
        ordering = ["-id"]
        indexes = [models.Index(fields=["brand", "-id"], name="replay_of_brand")]
        constraints = [
            check("replay_period_not_empty", Q(until__gt=F("since"))),
            check(
                "replay_finished_with_result",
                Q(result__isnull=True, finished_at__isnull=True) | Q(result__isnull=False, finished_at__isnull=False),
            ),
            check(
                "replay_of_its_kind",
                Q(kind="rule", rule__isnull=False, campaign__isnull=True)
                | Q(kind="levels", rule__isnull=True, campaign__isnull=True)
                | Q(kind="campaign", rule__isnull=True, campaign__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name
