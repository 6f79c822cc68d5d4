"""Batches of codes and their recalls."""

from typing import Any

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from authcodes.models.products import Product
from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from core import languages
from core.db.constraints import check
from core.moments import DayField, MomentField
from core.translations import TranslationsField, text_of


class Recall(models.Model):
    """A recall: anyone who scans one of its codes is warned. Its batches store which of their codes are recalled."""

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="recalls", verbose_name=_("brand"))
    recall_id = models.CharField(
        _("recall number"), max_length=64, help_text=_("The number by which customers and authorities know the recall.")
    )
    contact = models.CharField(
        _("contact"), max_length=200, help_text=_("Phone, e-mail or page for affected customers.")
    )
    message = models.TextField(_("message"), max_length=5000, help_text=_("What the customer should do."))
    translations = TranslationsField(of=("message",))
    reason = models.TextField(_("reason"), help_text=_("For staff only."))
    recalled_by = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", editable=False, verbose_name=_("recalled by")
    )
    recalled_at = MomentField(_("recalled at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("recall")
        verbose_name_plural = _("recalls")
        ordering = ["-recalled_at", "-id"]

    def __str__(self) -> str:
        return self.recall_id

    def to_customers(self) -> dict[str, Any]:
        """The recall for customers, in the language of the response."""
        message = self.message
        if self.translations:
            message = text_of(self.translations, "message", message, languages.decide())
        return {"id": self.recall_id, "contact": self.contact, "message": message}


class BatchRange(models.Model):
    """A run of sequential codes, `<prefix><zero-padded number>`, with their common settings.

    A batch printed elsewhere has the codes of a file in any order: its prefix and numbers mean nothing.
    """

    class ErrorCorrection(models.TextChoices):
        L = "L", _("L: 7 % may be damaged")
        M = "M", _("M: 15 % (recommended)")
        Q = "Q", _("Q: 25 %")
        H = "H", _("H: 30 %")

    class AfterCampaign(models.TextChoices):
        POINTS = "points", _("Scans earn their usual points")
        NOTHING = "nothing", _("Scans earn nothing")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="batches", verbose_name=_("brand"))
    range_name = models.CharField(_("batch name"), max_length=120)
    product = models.ForeignKey(
        Product, models.PROTECT, null=True, blank=True, related_name="batches", verbose_name=_("product")
    )
    quantity = models.PositiveIntegerField(_("quantity"), validators=[MinValueValidator(1)])
    printed_elsewhere = models.BooleanField(
        _("printed elsewhere"),
        default=False,
        db_default=False,
        editable=False,
        help_text=_("Another company printed its codes, and an import brought them in."),
    )
    prefix = models.CharField(_("prefix"), max_length=32, blank=True, db_collation="C")
    starting_number = models.PositiveBigIntegerField(_("starting number"), default=1)
    number_width = models.PositiveSmallIntegerField(
        _("number width"), default=10, help_text=_("Digits of the zero-padded number.")
    )
    points_per_scan = models.PositiveIntegerField(
        _("points per scan"),
        null=True,
        blank=True,
        help_text=_("Leave empty to use the product's points, else the member level's, else 1 point."),
    )
    scan_limit = models.PositiveIntegerField(
        _("scan limit"),
        null=True,
        blank=True,
        default=1,
        validators=[MinValueValidator(1)],
        help_text=_("Leave empty to allow unlimited scans."),
    )
    expiration_date = DayField(
        _("expiration date"), null=True, blank=True, help_text=_("The last day, in the brand's time zone.")
    )
    campaign = models.ForeignKey(
        Campaign, models.PROTECT, null=True, blank=True, related_name="batches", verbose_name=_("campaign")
    )
    after_campaign = models.CharField(
        _("after the campaign"),
        max_length=7,
        choices=AfterCampaign.choices,
        default=AfterCampaign.POINTS,
        db_default=AfterCampaign.POINTS,
        help_text=_("What scans earn while the campaign is not running: switched off, ended or not started."),
    )
    tag_version = models.PositiveSmallIntegerField(
        _("tag version"),
        null=True,
        blank=True,
        editable=False,
        help_text=_("Signed batch: version of the secret behind its tags."),
    )
    error_correction = models.CharField(
        _("error correction"),
        max_length=1,
        choices=ErrorCorrection.choices,
        default=ErrorCorrection.M,
        help_text=_(
            "How much of a QR code can be damaged without making it unreadable. A higher level makes the code's "
            "modules smaller."
        ),
    )
    first_code = models.CharField(_("first code"), max_length=64, db_collation="C", editable=False)
    last_code = models.CharField(_("last code"), max_length=64, db_collation="C", editable=False)
    generated_count = models.PositiveIntegerField(_("codes generated"), default=0, editable=False)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+", editable=False, verbose_name=_("created by")
    )

    # Each scan reads these with the batch. They name the first and last code if only a part of the batch is recalled.
    recall = models.ForeignKey(
        Recall,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="batches",
        db_index=False,
        editable=False,
        verbose_name=_("recall"),
    )
    recalled_at = MomentField(_("recalled at"), null=True, editable=False)
    recalled_from = models.CharField(
        _("recalled from"), max_length=64, blank=True, default="", db_default="", db_collation="C", editable=False
    )
    recalled_to = models.CharField(
        _("recalled to"), max_length=64, blank=True, default="", db_default="", db_collation="C", editable=False
    )

    class Meta:
        verbose_name = _("batch")
        verbose_name_plural = _("batches")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["first_code"], name="batch_first_code"),
            models.Index(fields=["recall"], name="batch_of_recall", condition=Q(recall__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(fields=["brand", "range_name"], name="range_name_unique_in_brand"),
            # A batch whose import was undone has no codes left.
            check("batch_quantity_positive", Q(quantity__gte=1) | Q(printed_elsewhere=True)),
            check("batch_printed_elsewhere_plain", Q(printed_elsewhere=False) | Q(tag_version__isnull=True)),
            check("batch_scan_limit_positive", Q(scan_limit__isnull=True) | Q(scan_limit__gte=1)),
            check("batch_number_width_1_to_18", Q(number_width__gte=1, number_width__lte=18)),
            check("batch_error_correction_known", Q(error_correction__in=["L", "M", "Q", "H"])),
            check("batch_after_campaign_known", Q(after_campaign__in=["points", "nothing"])),
            check("batch_progress_in_range", Q(generated_count__gte=0, generated_count__lte=F("quantity"))),
            check(
                "batch_recalled_whole_or_in_order",
                Q(recall__isnull=True, recalled_at__isnull=True, recalled_from="", recalled_to="")
                | Q(recall__isnull=False, recalled_at__isnull=False, recalled_from="", recalled_to="")
                | Q(
                    recall__isnull=False,
                    recalled_at__isnull=False,
                    recalled_from__gt="",
                    recalled_to__gte=F("recalled_from"),
                ),
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

    @property
    def is_recalled_in_part(self) -> bool:
        return bool(self.recalled_to)

    def recalls(self, code: str) -> bool:
        """Whether a code of the batch is recalled."""
        if self.recall_id is None:
            return False
        return not self.recalled_to or self.recalled_from <= code <= self.recalled_to
