"""Print runs: which codes were printed, how, by whom and in which file; and a brand's printers and label layouts."""

from decimal import Decimal

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from authcodes.models.batches import BatchRange
from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import DayField, MomentField
from jobs.models import Job


class PrintRun(models.Model):
    """One file of QR images or labels. Written by runs.py alone; its job has the file and its progress."""

    class Output(models.TextChoices):
        LABELS = "labels", _("Label sheets (PDF)")
        PNG = "png", _("QR images, PNG (ZIP)")
        SVG = "svg", _("QR images, SVG (ZIP)")

    class QrContent(models.TextChoices):
        ADDRESS = "address", _("Web link: opens with any phone camera")
        CODE = "code", _("Code only: for apps and scanners of your own")
        GS1 = "gs1", _("GS1 Digital Link: opens with any phone camera, and tills read the GTIN")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="print_runs", db_index=False, verbose_name=_("brand"))
    batch = models.ForeignKey(
        BatchRange,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="print_runs",
        db_index=False,
        help_text=_("Empty for codes from a list, which may come from several batches."),
        verbose_name=_("batch"),
    )
    output = models.CharField(_("output"), max_length=6, choices=Output.choices)
    first_code = models.CharField(_("first code"), max_length=64, db_collation="C")
    last_code = models.CharField(_("last code"), max_length=64, db_collation="C")
    codes = models.PositiveIntegerField(_("number"), help_text=_("Number of codes."))
    settings = models.JSONField(default=dict, editable=False)
    job = models.OneToOneField(Job, models.PROTECT, related_name="print_run", verbose_name=_("job"))
    sha256 = models.CharField(_("SHA-256 of the file"), max_length=64, blank=True)
    manifest_sha256 = models.CharField(_("SHA-256 of the manifest"), max_length=64, blank=True)
    pages = models.PositiveIntegerField(_("pages"), null=True, blank=True, help_text=_("For label sheets."))
    read_back = models.PositiveIntegerField(
        _("read back"), null=True, blank=True, help_text=_("Codes that were read back from the output and matched.")
    )
    pages_read = models.PositiveIntegerField(
        _("pages read"), null=True, blank=True, help_text=_("Pages that were read back from the finished file.")
    )
    started_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("who")
    )
    started_at = MomentField(_("when"), default=timezone.now)
    due_on = DayField(_("needed by"), null=True, blank=True, help_text=_("For the print shop."))
    order_note = models.CharField(
        _("note to the print shop"),
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=_("Not printed on labels."),
    )
    done_at = MomentField(_("printed"), null=True, blank=True, help_text=_("When it was marked as done."))
    done_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("marked as done by")
    )
    request_key = models.UUIDField(
        null=True, editable=False, help_text=_("One-time key of the page that requested the print run.")
    )

    class Meta:
        verbose_name = _("print run")
        verbose_name_plural = _("print runs")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["brand", "-id"], name="print_run_of_brand"),
            models.Index(fields=["batch", "-id"], name="print_run_of_batch"),
        ]
        constraints = [
            check("print_run_output_known", Q(output__in=["labels", "png", "svg"])),
            check("print_run_range_in_order", Q(first_code__lte=F("last_code"))),
            check("print_run_not_empty", Q(codes__gte=1)),
            models.UniqueConstraint(
                fields=["brand", "request_key"],
                name="print_run_once_per_request",
                condition=Q(request_key__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.first_code if self.first_code == self.last_code else f"{self.first_code} … {self.last_code}"


class Printer(models.Model):
    """A brand's printer and its correction: the offset to the right and down, and the scale."""

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="printers", db_index=False, verbose_name=_("brand"))
    name = models.CharField(_("name"), max_length=60, help_text=_("A name that staff know, such as “Warehouse, left”."))
    offset_x = models.DecimalField(
        _("shift to the right, in mm"),
        max_digits=5,
        decimal_places=2,
        default=0,
        help_text=_("Negative values shift to the left."),
    )
    offset_y = models.DecimalField(
        _("shift down, in mm"), max_digits=5, decimal_places=2, default=0, help_text=_("Negative values shift up.")
    )
    scale = models.DecimalField(
        _("scale"),
        max_digits=6,
        decimal_places=5,
        default=Decimal(1),
        help_text=_("1 means no correction. 1.005 corrects a printer that prints 100 mm as 99.5 mm."),
    )

    class Meta:
        verbose_name = _("printer")
        verbose_name_plural = _("printers")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "name"], name="printer_name_unique_in_brand"),
            check("printer_offset_within_20_mm", Q(offset_x__range=(-20, 20), offset_y__range=(-20, 20))),
            check("printer_scale_within_a_tenth", Q(scale__range=(Decimal("0.9"), Decimal("1.1")))),
        ]

    def __str__(self) -> str:
        return self.name


class LabelLayout(models.Model):
    """A saved layout of the parts of a brand's labels. Written by layouts.py alone."""

    brand = models.ForeignKey(
        Brand, models.PROTECT, related_name="label_layouts", db_index=False, verbose_name=_("brand")
    )
    name = models.CharField(_("name"), max_length=60, help_text=_("A name that staff know, such as “Jar lids”."))
    label_width = models.DecimalField(_("label width in mm"), max_digits=8, decimal_places=4)
    label_height = models.DecimalField(_("label height in mm"), max_digits=8, decimal_places=4)
    parts = models.JSONField(_("parts"), default=dict, editable=False)
    note = models.CharField(_("label text"), max_length=80, blank=True, default="")
    is_default = models.BooleanField(_("default"), default=False, help_text=_("New prints begin with it."))

    class Meta:
        verbose_name = _("label layout")
        verbose_name_plural = _("label layouts")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "name"], name="label_layout_name_unique_in_brand"),
            models.UniqueConstraint(fields=["brand"], name="label_layout_default_once", condition=Q(is_default=True)),
        ]

    def __str__(self) -> str:
        return self.name
