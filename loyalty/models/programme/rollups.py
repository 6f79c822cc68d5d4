"""Rollups of a brand's programme: points by day, members by month.

All are derived from the ledger and the accounts. Only loyalty/programme/rollups.py writes them.
"""

from decimal import Decimal

from django.db import models
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.moments import DayField, MomentField
from loyalty.models.accounts import UserPoints


class PointsRollup(models.Model):
    """The points of one movement on a brand's local day."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False, verbose_name=_("brand"))
    day = DayField(_("day"), help_text=_("In the brand's time zone."))
    movement = models.CharField(_("movement"), max_length=20)
    points = models.DecimalField(_("points"), max_digits=18, decimal_places=2, help_text=_("Never negative."))
    entries = models.PositiveIntegerField(_("ledger entries"))

    class Meta:
        verbose_name = _("points of a day")
        verbose_name_plural = _("points by day")
        ordering = ["-day", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "day", "movement"], name="points_rollup_once"),
        ]

    def __str__(self) -> str:
        return f"{self.movement} on {date_format(self.day)}"


class ActiveMember(models.Model):
    """A member who earned or redeemed in a month. The month is given by its first day."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    user_point = models.ForeignKey(UserPoints, models.CASCADE, related_name="+", db_index=False)
    month = DayField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["brand", "month", "user_point"], name="active_member_once"),
        ]

    def __str__(self) -> str:
        return f"#{self.user_point_id} in {self.month}"


class MembersRollup(models.Model):
    """Member counts of a month: enrolled, active, and lapsed by its end."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    month = DayField()
    enrolled = models.PositiveIntegerField(default=0)
    active = models.PositiveIntegerField(default=0)
    lapsed = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["brand", "month"], name="members_rollup_once")]

    def __str__(self) -> str:
        return f"{self.brand_id} in {self.month}"


class EnrolmentRollup(models.Model):
    """The number of members who enrolled on a day, as of the watermark's `counted_until`."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    day = DayField()
    enrolled = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["brand", "day"], name="enrolment_rollup_once")]

    def __str__(self) -> str:
        return f"{self.enrolled} on {self.day}"


class CohortRollup(models.Model):
    """How many of the members who enrolled in the month `cohort` were active in `month`."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    cohort = DayField()
    month = DayField()
    active = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["brand", "cohort", "month"], name="cohort_rollup_once")]

    def __str__(self) -> str:
        return f"{self.cohort} in {self.month}"


class ExpiringRollup(models.Model):
    """The points that will expire in a month unless they are redeemed, as of the end of the last closed day."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    month = DayField()
    points = models.DecimalField(max_digits=18, decimal_places=2)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["brand", "month"], name="expiring_rollup_once")]

    def __str__(self) -> str:
        return f"{self.points} in {self.month}"


class LevelRollup(models.Model):
    """The number of members in a level, as of the watermark's `counted_at`. Empty: no level reached."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    level = models.CharField(max_length=60, blank=True)
    members = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["brand", "level"], name="level_rollup_once")]

    def __str__(self) -> str:
        return f"{self.members} in {self.level}"


class StaleDay(models.Model):
    """A closed day with a ledger entry that was committed after its rollup."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    day = DayField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["brand", "day"], name="stale_day_once")]

    def __str__(self) -> str:
        return f"{self.brand_id} on {self.day}"


class ProgrammeWatermark(models.Model):
    """How far a brand's ledger is rolled up: days up to `until`, in `time_zone`. Later entries are read live.

    Ledger entries up to number `settled` were visible at the last check for late ones. `seen` becomes settled once all
    transactions before `seen_xid` have ended. `counted_until`, `counted_at`, `expiry_rule` and `owed` belong to the
    counts made after the days. `rewarded` is the number of members with a redemption that was not undone, when counted.
    """

    brand = models.OneToOneField(Brand, models.CASCADE, primary_key=True, related_name="+")
    time_zone = models.CharField(max_length=64)
    until = DayField(null=True)
    settled = models.BigIntegerField(default=0)
    seen = models.BigIntegerField(default=0)
    seen_xid = models.BigIntegerField(default=0)
    counted_until = DayField(null=True)
    counted_at = MomentField(null=True)
    expiry_rule = models.CharField(max_length=20, blank=True)
    owed = models.DecimalField(max_digits=18, decimal_places=2, default=Decimal(0))
    rewarded = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("programme watermark")

    def __str__(self) -> str:
        return f"{self.brand_id} until {self.until}"
