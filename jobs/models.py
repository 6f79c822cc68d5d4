"""Long work that staff start and watch."""

from datetime import datetime

from django.db import models
from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.moments import MomentField

Moment = datetime | Combinable  # by this process's clock, or by the database's


class JobQuerySet(models.QuerySet["Job"]):
    def unfinished(self) -> "JobQuerySet":
        return self.filter(status__in=Job.UNFINISHED)

    def abandoned(self, *, silent: Moment) -> "JobQuerySet":
        """Those whose workers gave their last sign before `silent`."""
        return self.filter(status=Job.Status.RUNNING, alive_at__lt=silent)

    def in_turn(self, *, silent: Moment, of_a_brand: int, workers: int) -> "JobQuerySet":
        """Those that wait, queued or abandoned, unless so many of their brand run or have waited for longer.

        The last of the `workers` is left to a brand that has none. Customers are warned of a recall at once. Those of
        brands that have fewest come first. Exports of customers' data, which any number of customers may ask for, run
        one at a time and wait in a line of their own: no other job of the brand waits behind those that wait.
        """
        running = Q(status=Job.Status.RUNNING, alive_at__gte=silent)
        unfinished = Job.objects.unfinished().alias(for_customer=FOR_CUSTOMER)
        others = unfinished.filter(brand=OuterRef("brand")).exclude(kind=Job.Kind.NOTIFY_RECALL)
        earlier = Q(pk__lt=OuterRef("pk"), for_customer=OuterRef("for_customer"))
        before = others.filter(running | earlier).order_by().values("brand")
        waiting = self.filter(Q(status=Job.Status.QUEUED) | Q(status=Job.Status.RUNNING, alive_at__lt=silent))
        in_line = waiting.alias(for_customer=FOR_CUSTOMER).exclude(
            Exists(others.filter(running, for_customer=True)), for_customer=True
        )
        counted = in_line.alias(before=Coalesce(Subquery(before.annotate(many=Count("pk")).values("many")), 0))
        all_running = Job.objects.filter(running).order_by().values(one=Value(1)).annotate(many=Count("pk"))
        is_first_or_leaves_one = Q(before=0) | Q(running__lt=workers - 1)
        turns = counted.alias(running=Coalesce(Subquery(all_running.values("many")), 0)).filter(
            Q(is_first_or_leaves_one, before__lt=of_a_brand) | Q(kind=Job.Kind.NOTIFY_RECALL)
        )
        return turns.order_by("before", "for_customer", "pk")


class Job(models.Model):
    """Generation, import, export or print as one row: what to do, how far it is, and the file that came of it."""

    customer_by = ("customer",)

    class Kind(models.TextChoices):
        GENERATE = "generate", _("Generate codes")
        CHANGE_CODES = "change-codes", _("Change codes in bulk")
        CHECK_IMPORT = "check-import", _("Check an import")
        COMMIT_IMPORT = "commit-import", _("Commit an import")
        UNDO_IMPORT = "undo-import", _("Undo an import")
        EXPORT_SCANS = "export-scans", _("Export the scan report")
        EXPORT_UNSCANNED = "export-unscanned", _("Export unscanned codes")
        EXPORT_CODES = "export-codes", _("Export codes")
        EXPORT_BATCHES = "export-batches", _("Export batches")
        EXPORT_PRODUCTS = "export-products", _("Export products")
        EXPORT_MEMBERS = "export-members", _("Export members")
        EXPORT_LEDGER = "export-ledger", _("Export the points ledger")
        EXPORT_REDEMPTIONS = "export-redemptions", _("Export redemptions")
        EXPORT_CLAIMS = "export-claims", _("Export reward claims")
        EXPORT_PROGRESS = "export-progress", _("Export campaign progress")
        EXPORT_AUDIT = "export-audit", _("Export the audit log")
        EXPORT_AFFECTED = "export-affected", _("Export customers affected by a recall")
        EXPORT_CUSTOMER_DATA = "export-customer-data", _("Export a customer's data")
        NOTIFY_RECALL = "notify-recall", _("Notify customers of a recall")
        PRINT_BATCH = "print-batch", _("Print a batch's codes")
        PRINT_LIST = "print-list", _("Print codes from a list")

    class Status(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    UNFINISHED = (Status.QUEUED, Status.RUNNING)

    brand = models.ForeignKey(Brand, on_delete=models.PROTECT, related_name="jobs")
    kind = models.CharField(max_length=32, choices=Kind.choices)
    title = models.CharField(max_length=200, help_text=_("A short description."))
    parameters = models.JSONField(default=dict, editable=False)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    log = models.TextField(blank=True, help_text=_("Messages of the job, one per line."))
    attempts = models.PositiveIntegerField(default=0)
    interruptions = models.PositiveIntegerField(
        _("interruptions"),
        default=0,
        db_default=0,
        editable=False,
        help_text=_("Attempts that ended because the database was unavailable."),
    )
    cancel_requested = models.BooleanField(default=False)
    result = models.FileField(upload_to="jobs/%Y/%m/", blank=True, max_length=255)
    result_name = models.CharField(max_length=200, blank=True, help_text=_("The file's name when it is downloaded."))
    result_bytes = models.PositiveBigIntegerField(_("result bytes"), default=0, db_default=0, editable=False)
    customer = models.ForeignKey(
        User,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("customer"),
        help_text=_("Whose data it exports."),
        db_index=False,
    )
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = MomentField(default=timezone.now, editable=False)
    started_at = MomentField(null=True, blank=True)
    alive_at = MomentField(null=True, blank=True, help_text=_("The worker's last heartbeat."))
    finished_at = MomentField(null=True, blank=True)
    expires_at = MomentField(null=True, blank=True, help_text=_("The file is deleted after this time."))

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["brand", "-id"], name="job_of_brand"),
            models.Index(fields=["brand", "created_at"], name="job_of_brand_by_day"),
            models.Index(fields=["id"], name="job_unfinished", condition=Q(status__in=["queued", "running"])),
            models.Index(
                fields=["customer", "brand", "-id"], name="job_of_customer", condition=Q(customer__isnull=False)
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["brand", "customer"],
                name="job_of_customer_once",
                condition=Q(customer__isnull=False, status__in=["queued", "running"]),
            ),
            models.CheckConstraint(
                condition=Q(status__in=["queued", "running", "done", "failed", "cancelled"]), name="job_status_known"
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_unfinished(self) -> bool:
        return self.status in self.UNFINISHED

    @property
    def percent(self) -> int:
        if self.status == self.Status.DONE:
            return 100
        return min(99, self.done * 100 // self.total) if self.total else 0


# Customers ask for these, and nobody's quota bounds how many.
FOR_CUSTOMER = ExpressionWrapper(Q(kind=Job.Kind.EXPORT_CUSTOMER_DATA), BooleanField())
