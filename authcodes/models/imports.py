"""Uploads that assign codes or bring them in: the file, its checked rows, and the data for undoing them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from brands.models.people import User
from brands.models.tenants import Brand
from brands.scanned import MAX_CODE_LENGTH, MAX_INPUT_LENGTH
from core.db.constraints import check
from core.languages import StoredText
from core.moments import MomentField


class Import(models.Model):
    """An uploaded CSV file, from check to commit, and possibly undo."""

    class Kind(models.TextChoices):
        LIST = "list", _("List of codes (auth_code, inventory_location, notes)")
        RANGES = "ranges", _("Ranges (product_sku, auth_code_start, auth_code_end, location, points_per_scan)")
        PRINTED = "printed", _("Codes printed elsewhere (auth_code, payload, inventory_location, notes)")

    class Status(models.TextChoices):
        CHECKING = "checking", _("Being checked")
        REJECTED = "refused", _("Rejected: the file cannot be read")
        CHECKED = "checked", _("Checked: review the preview")
        COMMITTING = "committing", _("Being committed")
        COMMITTED = "committed", _("Committed")
        UNDOING = "undoing", _("Being undone")
        UNDONE = "undone", _("Undone")
        DISCARDED = "discarded", _("Discarded")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="imports", verbose_name=_("brand"))
    kind = models.CharField(_("kind"), max_length=7, choices=Kind.choices)
    product = models.ForeignKey(
        Product,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("The product of a list of codes."),
        verbose_name=_("product"),
    )
    batch_settings = models.JSONField(
        default=dict,
        db_default={},
        editable=False,
        help_text=_("Settings of the batch that codes printed elsewhere become."),
    )
    batch = models.OneToOneField(
        BatchRange,
        models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="printed_import",
        help_text=_("The batch that codes printed elsewhere became."),
        verbose_name=_("batch"),
    )
    is_sequential = models.BooleanField(default=False, db_default=False, editable=False)
    file = models.FileField(
        _("file"),
        upload_to="imports/%Y/%m/",
        max_length=255,
        help_text=_("Deleted with its rows some weeks after the import ended."),
    )
    file_name = models.CharField(_("file name"), max_length=200)
    file_bytes = models.PositiveBigIntegerField(_("file bytes"), default=0, db_default=0, editable=False)
    sha256 = models.CharField(max_length=64, editable=False)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.CHECKING)
    problem = models.TextField(_("problem"), blank=True, help_text=_("Why the file was rejected."))
    rows = models.PositiveIntegerField(_("rows"), default=0)
    bad_rows = models.PositiveIntegerField(_("rows with errors"), default=0)
    repaired_rows = models.PositiveIntegerField(
        _("repaired rows"), default=0, help_text=_("Rows whose leading zeros were restored.")
    )
    codes = models.PositiveIntegerField(_("codes"), default=0, help_text=_("Codes in the rows without errors."))
    skip_bad = models.BooleanField(default=False)
    uploaded_by = models.ForeignKey(User, models.PROTECT, related_name="+", verbose_name=_("uploaded by"))
    uploaded_at = MomentField(_("uploaded at"), default=timezone.now, editable=False)
    committed_at = MomentField(_("committed at"), null=True, blank=True)
    undone_at = MomentField(_("undone at"), null=True, blank=True)

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")
        ordering = ["-id"]
        indexes = [models.Index(fields=["brand", "uploaded_at"], name="import_of_brand_by_day")]
        constraints = [
            check(
                "import_status_known",
                Q(
                    status__in=[
                        "checking",
                        "refused",
                        "checked",
                        "committing",
                        "committed",
                        "undoing",
                        "undone",
                        "discarded",
                    ]
                ),
            ),
            check("import_kind_known", Q(kind__in=["list", "ranges", "printed"])),
        ]

    def __str__(self) -> str:
        return self.file_name


class ImportRow(models.Model):
    """A row of an uploaded file, as written and as parsed."""

    brand_through = ("upload",)

    upload = models.ForeignKey(Import, models.CASCADE, related_name="lines", db_index=False)
    line = models.PositiveIntegerField()
    values = ArrayField(models.TextField())
    code = models.CharField(max_length=64, blank=True, db_collation="C")
    code_end = models.CharField(max_length=64, blank=True, db_collation="C")
    payload = models.CharField(max_length=MAX_INPUT_LENGTH, blank=True, db_default="", db_collation="C")
    # From a payload: the code that we would find in it, and the host of its URL.
    payload_code = models.CharField(max_length=MAX_CODE_LENGTH, blank=True, db_default="", db_collation="C")
    payload_host = models.CharField(max_length=255, blank=True, db_default="")
    sku = models.CharField(max_length=64, blank=True)
    product = models.ForeignKey(Product, models.CASCADE, null=True, related_name="+", db_index=False)
    location = models.CharField(max_length=120, blank=True)
    notes = models.TextField(blank=True)
    points_per_scan = models.PositiveIntegerField(null=True)
    codes = models.PositiveIntegerField(default=0)
    # One of our messages in English, and its values: see authcodes.imports.checks.
    error = models.CharField(max_length=300, blank=True)
    error_values = models.JSONField(default=dict, blank=True, db_default={})
    error_column = models.CharField(max_length=40, blank=True)
    repaired = models.BooleanField(default=False)

    class Meta:
        ordering = ["upload_id", "line"]
        constraints = [models.UniqueConstraint(fields=["upload", "line"], name="import_line_once")]

    def __str__(self) -> str:
        return f"line {self.line}"

    @property
    def problem(self) -> str:
        """The row's error, translated."""
        return str(StoredText(self.error, self.error_values))


class ImportChange(models.Model):
    """The values of a code before an import changed it, if it had any."""

    brand_through = ("upload",)

    upload = models.ForeignKey(Import, models.CASCADE, related_name="changes", db_index=False)
    auth_code = models.ForeignKey(AuthCode, models.CASCADE, related_name="+")
    product = models.ForeignKey(Product, models.CASCADE, null=True, related_name="+", db_index=False)
    inventory_location = models.CharField(max_length=120, blank=True)
    location = models.CharField(max_length=120, blank=True)
    notes = models.TextField(blank=True)
    points_per_scan = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "auth_code"], name="import_change_once")]

    def __str__(self) -> str:
        return f"{self.auth_code_id} before import {self.upload_id}"
