"""The fields of a brand that say whether levels end, and when."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

# The minimum number of days of each calendar period, and of one month of a rolling period.
MIN_DAYS = {"year": 365, "half_year": 181, "quarter": 90}
MIN_DAYS_OF_MONTH = 28


def shorter_than_period() -> models.Q:
    """The condition that the days around the end of a level are fewer than the minimum days of its period."""
    result = models.Q()
    for kind, days in {**MIN_DAYS, "rolling": models.F("level_period_months") * MIN_DAYS_OF_MONTH}.items():
        result |= models.Q(level_period=kind, level_grace_days__lt=days, level_warning_days__lt=days)
    return result


class LevelPeriodModel(models.Model):
    """Which points count towards a level, and how long members keep it."""

    class LevelPeriod(models.TextChoices):
        LIFETIME = "lifetime", _("Permanently: all points ever earned count")
        YEAR = "year", _("By calendar year, from 1 January")
        HALF_YEAR = "half_year", _("By half-year, from 1 January and 1 July")
        QUARTER = "quarter", _("By quarter, from 1 January on")
        ROLLING = "rolling", _("By the last months, for each member")

    level_period = models.CharField(
        _("members reach levels"),
        max_length=9,
        choices=LevelPeriod.choices,
        default=LevelPeriod.LIFETIME,
        db_default=LevelPeriod.LIFETIME.value,
        help_text=_("By a period: a level ends, and members must earn the points of a period again."),
    )
    level_period_months = models.PositiveSmallIntegerField(
        _("number of months"),
        default=12,
        db_default=12,
        validators=[MinValueValidator(1), MaxValueValidator(60)],
        help_text=_("Only if the last months count."),
    )
    level_grace_days = models.PositiveSmallIntegerField(
        _("grace days"),
        default=0,
        db_default=0,
        help_text=_("For this many days after the end, members keep the level and can still earn what is missing."),
    )
    level_warning_days = models.PositiveSmallIntegerField(
        _("days of warning"),
        default=30,
        db_default=30,
        help_text=_(
            "This many days in advance, members who are about to lose a level are notified of what is missing. "
            "Enter 0 to send no notification."
        ),
    )

    class Meta:
        abstract = True
