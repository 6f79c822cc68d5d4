"""Attempts to scan."""

import uuid
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from core.db.constraints import check
from core.moments import MomentField


class Scan(models.Model):
    """One attempt to scan, with its outcome and its true reason. Written by authcodes/scanning alone."""

    customer_through = ("user",)

    class Outcome(models.TextChoices):
        SUCCESS = "success", _("Success")
        WARNING = "warning", _("Warning")
        ERROR = "error", _("Error")

    class Reason(models.TextChoices):
        ACCEPTED = "accepted", _("Accepted")
        CAMPAIGN_INACTIVE = "campaign_inactive", _("Accepted; its campaign is not running")
        PRODUCT_INACTIVE = "product_inactive", _("Accepted; its product is no longer sold")
        LIMIT_REACHED = "limit_reached", _("Scan limit reached")
        RESERVED = "reserved", _("Reserved for a guest")
        RECALLED = "recalled", _("Batch recalled")
        UNKNOWN = "unknown", _("Unknown code")
        BAD_TAG = "bad_tag", _("Signature missing or wrong")
        OTHER_BRAND = "other_brand", _("Code of another brand")
        EXPIRED = "expired", _("Expired")
        DEACTIVATED = "deactivated", _("Deactivated")
        UNASSIGNED = "unassigned", _("No product assigned")

    class PointsStatus(models.TextChoices):
        PENDING = "pending", _("Pending")
        AWARDED = "awarded", _("Awarded")
        GUEST = "guest", _("Guest: no points")
        UNCONFIRMED = "unconfirmed", _("Waits for a confirmed e-mail address")
        LAPSED = "lapsed", _("Not claimed in time")
        ALREADY_CLAIMED = "already_claimed", _("Already claimed")
        NOT_ELIGIBLE = "not_eligible", _("Not eligible")
        LIMITED = "limited", _("Point limit reached")

    scan_id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    brand = models.ForeignKey(
        Brand, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("brand")
    )
    auth_code = models.ForeignKey(
        AuthCode, models.PROTECT, null=True, related_name="scans", db_index=False, verbose_name=_("code")
    )
    code = models.CharField(_("code"), max_length=64, help_text=_("As scanned, shortened."))
    user = models.ForeignKey(
        User, models.PROTECT, null=True, related_name="scans", db_index=False, verbose_name=_("customer")
    )
    # Copied at the time of the scan: reports need no join, and a later assignment does not rewrite history.
    batch = models.ForeignKey(
        BatchRange,
        models.DO_NOTHING,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        verbose_name=_("batch"),
    )
    product = models.ForeignKey(
        Product,
        models.DO_NOTHING,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        verbose_name=_("product"),
    )
    campaign = models.ForeignKey(
        Campaign,
        models.DO_NOTHING,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        verbose_name=_("campaign"),
    )
    outcome = models.CharField(_("outcome"), max_length=7, choices=Outcome.choices)
    reason = models.CharField(_("reason"), max_length=20, choices=Reason.choices)
    points_status = models.CharField(_("points status"), max_length=16, choices=PointsStatus.choices)
    unconfirmed = models.BooleanField(
        _("e-mail address not confirmed"),
        default=False,
        db_default=False,
        help_text=_("The brand requires a confirmed e-mail address, and the customer's was not confirmed."),
    )
    points_promised = models.DecimalField(_("points promised"), max_digits=10, decimal_places=2, default=0)
    points_awarded = models.DecimalField(_("points awarded"), max_digits=10, decimal_places=2, default=0)
    scan_count = models.PositiveIntegerField(
        _("scan count"), default=0, help_text=_("Number of scans of the code, including this one.")
    )
    latitude = models.FloatField(null=True)
    longitude = models.FloatField(null=True)
    location = models.CharField(_("location"), max_length=200, blank=True, help_text=_("City, region."))
    located_at = MomentField(null=True)
    device = models.CharField(_("device"), max_length=120, blank=True)
    app_version = models.CharField(_("app version"), max_length=40, blank=True)
    scanned_at = MomentField(_("scanned at"), default=timezone.now)

    class Meta:
        verbose_name = _("scan")
        verbose_name_plural = _("scans")
        ordering = ["-scanned_at", "-scan_id"]
        indexes = [
            models.Index(fields=["auth_code", "-scanned_at"], name="scan_of_code"),
            models.Index(fields=["user", "auth_code"], name="scan_of_user"),
            # For a customer's page, however many scans the customer has. Scans of guests are not indexed.
            models.Index(
                fields=["user", "brand", "-scanned_at", "-scan_id"],
                name="scan_of_customer",
                condition=Q(user__isnull=False),
            ),
            # Lists are filtered within this index, and the row-level guard reads the customer from it. It has no points
            # status, so that settling a scan touches no index.
            models.Index(
                fields=["brand", "-scanned_at", "-scan_id"],
                name="scan_of_brand",
                include=["auth_code", "code", "user", "batch", "product", "campaign", "outcome", "reason", "location"],
            ),
            models.Index(fields=["batch", "-scanned_at"], name="scan_of_batch"),
            models.Index(fields=["product", "-scanned_at"], name="scan_of_product"),
            # Only scans of guests and unconfirmed customers, to find the one that reserves a used-up code.
            models.Index(
                fields=["auth_code", "scanned_at"],
                name="scan_that_reserves",
                condition=Q(outcome="success") & (Q(user__isnull=True) | Q(unconfirmed=True)),
            ),
            models.Index(
                fields=["scanned_at"],
                name="scan_to_locate",
                condition=Q(latitude__isnull=False, located_at__isnull=True),
            ),
        ]
        constraints = [
            check("scan_outcome_known", Q(outcome__in=["success", "warning", "error"])),
            check(
                "scan_place_whole_and_on_earth",
                Q(latitude__isnull=True, longitude__isnull=True)
                | Q(latitude__gte=-90, latitude__lte=90, longitude__gte=-180, longitude__lte=180),
            ),
            check("only_accepted_scans_earn", Q(points_awarded=0) | Q(outcome="success")),
        ]

    def __str__(self) -> str:
        return f"{self.code}: {self.get_reason_display()}"

    @property
    def recall_in_force(self) -> Recall | None:
        """The recall in force for its code; None if the scan found no genuine code.

        A genuine code may have been expired, deactivated or unassigned: a scan now would report the recall first.
        """
        not_genuine = {self.Reason.UNKNOWN, self.Reason.BAD_TAG, self.Reason.OTHER_BRAND}
        if self.batch is None or self.reason in not_genuine or not self.batch.recalls(self.code):
            return None
        return self.batch.recall

    @property
    def current_recall(self) -> dict[str, Any] | None:
        """The recall in force, for customers."""
        recall = self.recall_in_force
        return recall.to_customers() if recall else None
