"""What a product carries: products, batches of codes, the codes, their scans and recalls."""

import uuid
from datetime import datetime
from typing import Self

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models import Brand, User
from campaigns.models import Campaign


class Product(models.Model):
    """A thing a brand sells."""

    brand = models.ForeignKey(Brand, on_delete=models.PROTECT, related_name="products")
    sku = models.CharField(max_length=64)
    title = models.CharField(max_length=200)
    retail_price = models.DecimalField(
        max_digits=12, decimal_places=2, null=True, blank=True, validators=[MinValueValidator(0)]
    )
    redeem_point_value = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("Points of a scan, whatever the level says. 0 or empty: by level.")
    )
    gtin = models.CharField(
        max_length=14, blank=True, validators=[RegexValidator(r"^(\d{8}|\d{12,14})$", _("8, 12, 13 or 14 digits."))]
    )
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["title", "id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "sku"], name="sku_unique_in_brand"),
            models.CheckConstraint(
                condition=Q(retail_price__isnull=True) | Q(retail_price__gte=0), name="retail_price_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.sku})"


class BatchRange(models.Model):
    """A run of sequential codes, `<prefix><zero-padded number>`, with the settings they share."""

    brand = models.ForeignKey(Brand, on_delete=models.PROTECT, related_name="batches")
    range_name = models.CharField(max_length=120)
    product = models.ForeignKey(Product, on_delete=models.PROTECT, null=True, blank=True, related_name="batches")
    quantity = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    prefix = models.CharField(max_length=32, blank=True, db_collation="C")
    starting_number = models.PositiveBigIntegerField(default=1)
    number_width = models.PositiveSmallIntegerField(default=10, help_text=_("Digits of the zero-padded number."))
    points_per_scan = models.PositiveIntegerField(null=True, blank=True, help_text=_("Empty: product or level."))
    scan_limit = models.PositiveIntegerField(
        null=True, blank=True, default=1, validators=[MinValueValidator(1)], help_text=_("Empty: unlimited.")
    )
    expiration_date = models.DateField(null=True, blank=True, help_text=_("The last day, in the brand's time zone."))
    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, null=True, blank=True, related_name="batches")
    tag_version = models.PositiveSmallIntegerField(
        null=True, blank=True, editable=False, help_text=_("Signed batch: version of the secret behind its tags.")
    )
    first_code = models.CharField(max_length=64, db_collation="C", editable=False)
    last_code = models.CharField(max_length=64, db_collation="C", editable=False)
    generated_count = models.PositiveIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", editable=False
    )

    class Meta:
        verbose_name = _("batch range")
        ordering = ["-id"]
        indexes = [models.Index(fields=["first_code"], name="batch_first_code")]
        constraints = [
            models.UniqueConstraint(fields=["brand", "range_name"], name="range_name_unique_in_brand"),
            models.CheckConstraint(condition=Q(quantity__gte=1), name="batch_quantity_positive"),
            models.CheckConstraint(
                condition=Q(scan_limit__isnull=True) | Q(scan_limit__gte=1), name="batch_scan_limit_positive"
            ),
            models.CheckConstraint(
                condition=Q(number_width__gte=1, number_width__lte=18), name="batch_number_width_1_to_18"
            ),
            models.CheckConstraint(
                condition=Q(generated_count__gte=0, generated_count__lte=F("quantity")), name="batch_progress_in_range"
            ),
        ]

    def __str__(self) -> str:
        return self.range_name

    @property
    def is_signed(self) -> bool:
        return self.tag_version is not None

    @property
    def is_generated(self) -> bool:
        return self.generated_count == self.quantity


class AuthCodeQuerySet(models.QuerySet["AuthCode"]):
    def of_brand(self, brand: Brand) -> Self:
        return self.filter(brand=brand)

    def scanned(self) -> Self:
        return self.filter(scan_count__gt=0)

    def unscanned(self) -> Self:
        return self.filter(scan_count=0)

    def deactivated(self) -> Self:
        return self.filter(deactivated_at__isnull=False)

    def expired(self, at: datetime | None = None) -> Self:
        """Past their batch's last day, which ends at midnight in the brand's zone."""
        moment = models.Value(at, models.DateTimeField()) if at else Now()
        today = models.Func(F("brand__time_zone"), moment, function="timezone", output_field=models.DateTimeField())
        return self.alias(local_day=models.functions.Cast(today, models.DateField())).filter(
            batch__expiration_date__lt=F("local_day")
        )

    def recalled(self) -> Self:
        return self.filter(batch__recall__isnull=False)


class AuthCode(models.Model):
    """One printed code. Its state is derived from what it holds and from its batch, never stored twice."""

    code = models.CharField(max_length=64, db_collation="C")
    brand = models.ForeignKey(Brand, on_delete=models.PROTECT, related_name="+", db_index=False)
    batch = models.ForeignKey(BatchRange, on_delete=models.PROTECT, related_name="codes")
    product = models.ForeignKey(Product, on_delete=models.PROTECT, null=True, blank=True, related_name="codes")
    points_per_scan = models.PositiveIntegerField(null=True, blank=True, help_text=_("Empty: as its batch says."))
    scan_count = models.PositiveIntegerField(default=0, editable=False)
    first_scan_at = models.DateTimeField(null=True, blank=True, editable=False)
    first_scan_location = models.CharField(max_length=200, blank=True, editable=False)
    deactivated_at = models.DateTimeField(null=True, blank=True, editable=False)
    inventory_location = models.CharField(max_length=120, blank=True)
    location = models.CharField(max_length=120, blank=True)
    notes = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = AuthCodeQuerySet.as_manager()

    class Meta:
        verbose_name = _("auth code")
        ordering = ["-id"]
        constraints = [
            # Not unique=True: that would add a second, pattern index; in "C" this one serves prefix search too.
            models.UniqueConstraint(fields=["code"], name="auth_code_unique"),
        ]

    def __str__(self) -> str:
        return self.code


class Recall(models.Model):
    """A batch called back: whoever scans one of its codes is told so."""

    batch = models.OneToOneField(BatchRange, on_delete=models.PROTECT, related_name="recall")
    recall_id = models.CharField(max_length=64, help_text=_("The number customers and authorities know it by."))
    contact = models.CharField(max_length=200, help_text=_("Phone, e-mail or page for affected customers."))
    message = models.TextField(help_text=_("What the customer should do."))
    reason = models.TextField(help_text=_("Why; for staff only."))
    recalled_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", editable=False)
    recalled_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-recalled_at", "-id"]

    def __str__(self) -> str:
        return self.recall_id


class Scan(models.Model):
    """One attempt to scan, with the answer given and its true reason. Written by scanning.py alone."""

    class Outcome(models.TextChoices):
        SUCCESS = "success", _("Success")
        WARNING = "warning", _("Warning")
        ERROR = "error", _("Error")

    class Reason(models.TextChoices):
        ACCEPTED = "accepted", _("Accepted")
        CAMPAIGN_INACTIVE = "campaign_inactive", _("Accepted; its campaign is not running")
        LIMIT_REACHED = "limit_reached", _("Scan limit reached")
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
        ALREADY_CLAIMED = "already_claimed", _("Already claimed")
        NOT_ELIGIBLE = "not_eligible", _("Not eligible")
        LIMITED = "limited", _("Point limit reached")

    scan_id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    brand = models.ForeignKey(Brand, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    auth_code = models.ForeignKey(AuthCode, on_delete=models.PROTECT, null=True, related_name="scans", db_index=False)
    code = models.CharField(max_length=64, help_text=_("As it was read, shortened."))
    user = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="scans", db_index=False)
    # Copies from the moment of the scan: reports need no join, and a later assignment does not rewrite history.
    batch = models.ForeignKey(
        BatchRange, on_delete=models.DO_NOTHING, null=True, related_name="+", db_index=False, db_constraint=False
    )
    product = models.ForeignKey(
        Product, on_delete=models.DO_NOTHING, null=True, related_name="+", db_index=False, db_constraint=False
    )
    campaign = models.ForeignKey(
        Campaign, on_delete=models.DO_NOTHING, null=True, related_name="+", db_index=False, db_constraint=False
    )
    outcome = models.CharField(max_length=7, choices=Outcome.choices)
    reason = models.CharField(max_length=20, choices=Reason.choices)
    points_status = models.CharField(max_length=16, choices=PointsStatus.choices)
    points_promised = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    points_awarded = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    scan_count = models.PositiveIntegerField(default=0, help_text=_("The code's count after this scan."))
    latitude = models.FloatField(null=True)
    longitude = models.FloatField(null=True)
    location = models.CharField(max_length=200, blank=True, help_text=_("City, region."))
    located_at = models.DateTimeField(null=True)
    device = models.CharField(max_length=120, blank=True)
    app_version = models.CharField(max_length=40, blank=True)
    scanned_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-scanned_at", "-scan_id"]
        indexes = [
            models.Index(fields=["auth_code", "-scanned_at"], name="scan_of_code"),
            models.Index(fields=["user", "auth_code"], name="scan_of_user"),
            models.Index(fields=["brand", "-scanned_at", "-scan_id"], name="scan_of_brand"),
            models.Index(
                fields=["scanned_at"],
                name="scan_to_locate",
                condition=Q(latitude__isnull=False, located_at__isnull=True),
            ),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(outcome__in=["success", "warning", "error"]), name="scan_outcome_known"),
            models.CheckConstraint(
                condition=Q(latitude__isnull=True, longitude__isnull=True)
                | Q(latitude__gte=-90, latitude__lte=90, longitude__gte=-180, longitude__lte=180),
                name="scan_place_whole_and_on_earth",
            ),
            models.CheckConstraint(
                condition=Q(points_awarded=0) | Q(outcome="success"), name="only_accepted_scans_earn"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}"
