"""Rollups of the scans of closed days. Written by rollups.py alone, and derived from scans and their codes."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from core.moments import DayField


def copied(model: type[models.Model]) -> "models.ForeignKey[models.Model | None, models.Model | None]":
    """A reference copied from the scan, whose target may no longer exist."""
    return models.ForeignKey(model, models.DO_NOTHING, null=True, related_name="+", db_index=False, db_constraint=False)


class DailyRollup(models.Model):
    """A row for a brand's local day."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    day = DayField(help_text=_("In the brand's time zone."))

    class Meta:
        abstract = True


class Counts(models.Model):
    """Counts of the scans of one row."""

    accepted = models.PositiveIntegerField()
    first_scans = models.PositiveIntegerField(help_text=_("Accepted first scans of a code."))
    warnings = models.PositiveIntegerField()
    errors = models.PositiveIntegerField()
    recalled = models.PositiveIntegerField(help_text=_("Warnings from scans of a recalled batch."))
    points = models.DecimalField(max_digits=16, decimal_places=2)
    unsettled = models.PositiveIntegerField(help_text=_("Scans whose points or place are still pending."))

    class Meta:
        abstract = True


class DayRollup(DailyRollup, Counts):
    """Without places: small, however many scans there are."""

    batch = copied(BatchRange)
    campaign = copied(Campaign)
    product = copied(Product)

    class Meta:
        indexes = [
            models.Index(fields=["brand", "day"], name="day_rollup_of_brand"),
            models.Index(fields=["brand", "day"], name="day_rollup_unsettled", condition=models.Q(unsettled__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.brand_id} on {self.day}"


class PlaceRollup(DailyRollup, Counts):
    """Places only, for the list of the busiest."""

    location = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["brand", "day", "location"], name="place_rollup_once")]

    def __str__(self) -> str:
        return f"{self.brand_id} on {self.day} in {self.location}"


class HourRollup(DailyRollup):
    """How many scans were attempted in an hour of a day, whatever the outcome."""

    hour = models.PositiveSmallIntegerField(help_text=_("From 0 to 23, in the brand's time zone."))
    scans = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["brand", "day", "hour"], name="hour_rollup_once")]

    def __str__(self) -> str:
        return f"{self.brand_id} on {self.day} at {self.hour}"


class BatchPlaceRollup(DailyRollup, Counts):
    """The finest rollup: by batch, campaign, product and place."""

    batch = copied(BatchRange)
    campaign = copied(Campaign)
    product = copied(Product)
    location = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["brand", "day"], name="cell_rollup_of_brand"),
            models.Index(fields=["brand", "location", "day"], name="cell_rollup_of_place"),
            models.Index(
                fields=["brand", "campaign", "day"], name="cell_rollup_of_campaign", include=["location", "accepted"]
            ),
            models.Index(
                fields=["brand", "batch", "day"], name="cell_rollup_of_batch", include=["location", "accepted"]
            ),
        ]

    def __str__(self) -> str:
        return f"{self.brand_id} on {self.day} in {self.location}"


class UniqueScannerRollup(DailyRollup):
    """Who scanned what and where on a day. `scanned`: at least one of these codes has been accepted, then or later."""

    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    batch = copied(BatchRange)
    campaign = copied(Campaign)
    location = models.CharField(max_length=200, blank=True)
    scanned = models.BooleanField()

    class Meta:
        indexes = [
            models.Index(fields=["brand", "day"], name="scanner_of_day", include=["user", "scanned"]),
            models.Index(fields=["brand", "location", "day"], name="scanner_of_place"),
            models.Index(fields=["brand", "campaign", "day"], name="scanner_of_campaign", include=["user", "scanned"]),
            models.Index(fields=["brand", "batch", "day"], name="scanner_of_batch", include=["user", "scanned"]),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} on {self.day}"


class UniqueScanner(models.Model):
    """The customers who have scanned for a brand on any rolled-up day."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    scanned = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["brand", "user"], name="scanner_once", include=["scanned"]),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} of {self.brand_id}"


class UnscannedCodeAttempt(DailyRollup):
    """A scan of a code that has never been accepted. It is deleted once the code is accepted."""

    customer_through = ("user",)

    auth_code = copied(AuthCode)
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="+", db_index=False)
    batch = copied(BatchRange)
    campaign = copied(Campaign)
    product = copied(Product)
    location = models.CharField(max_length=200, blank=True)
    outcome = models.CharField(max_length=7)
    reason = models.CharField(max_length=20)

    class Meta:
        indexes = [models.Index(fields=["brand", "day"], name="vain_attempt_of_day")]

    def __str__(self) -> str:
        return f"{self.auth_code_id} on {self.day}"


class RollupWatermark(models.Model):
    """The watermark of a brand's rollups: every day up to `until`, in `time_zone`. Later days are read live.

    `unique_scanners`, `returned`: the customers with attempts on days up to `counted_until`, and those with attempts on
    several days.
    """

    brand = models.OneToOneField(Brand, models.CASCADE, primary_key=True, related_name="+")
    time_zone = models.CharField(max_length=64)
    until = DayField(null=True)
    counted_until = DayField(null=True)
    unique_scanners = models.PositiveIntegerField(default=0)
    returned = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("rollup watermark")

    def __str__(self) -> str:
        return f"{self.brand_id} until {self.until}"
