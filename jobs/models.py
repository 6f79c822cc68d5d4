"""Jobs: long work that users start and watch, staged uploads, and schedules of reports."""

from datetime import datetime

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from brands.models.credentials import ApiKey
from brands.models.people import User
from brands.models.saved_lists import SavedList
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField
from core.spreadsheets.report import ReportFormat
from jobs import kinds

Moment = datetime | Combinable  # by this process's clock, or by the database's


class JobQuerySet(models.QuerySet["Job"]):
    def unfinished(self) -> "JobQuerySet":
        return self.filter(status__in=Job.UNFINISHED)

    def abandoned(self, *, silent: Moment) -> "JobQuerySet":
        """Running jobs whose workers gave their last sign of life before `silent`."""
        return self.filter(status=Job.Status.RUNNING, alive_at__lt=silent)

    def in_turn(self, *, silent: Moment, of_a_brand: int, workers: int) -> "JobQuerySet":
        """Waiting jobs, queued or abandoned, of brands with fewer than `of_a_brand` running or earlier ones.

        The last free worker is reserved for brands without a job. Urgent jobs, such as warnings of a recall, start at
        once. Brands with the fewest jobs come first. Exports of customers' data, which any number of customers may
        request, run one at a time and queue separately: while they wait, they do not delay the brand's other jobs.
        """
        urgent, for_customer = kinds.names(lambda kind: kind.is_urgent), kinds.names(lambda kind: kind.for_customer)
        is_for_customer = ExpressionWrapper(Q(kind__in=for_customer), BooleanField())
        running = Q(status=Job.Status.RUNNING, alive_at__gte=silent)
        unfinished = Job.objects.unfinished().alias(for_customer=is_for_customer)
        remaining = unfinished.filter(brand=OuterRef("brand")).exclude(kind__in=urgent)
        earlier = Q(pk__lt=OuterRef("pk"), for_customer=OuterRef("for_customer"))
        before = remaining.filter(running | earlier).order_by().values("brand")
        waiting = self.filter(Q(status=Job.Status.QUEUED) | Q(status=Job.Status.RUNNING, alive_at__lt=silent))
        in_line = waiting.alias(for_customer=is_for_customer).exclude(
            Exists(remaining.filter(running, for_customer=True)), for_customer=True
        )
        counted = in_line.alias(before=Coalesce(Subquery(before.annotate(many=Count("pk")).values("many")), 0))
        all_running = Job.objects.filter(running).order_by().values(one=Value(1)).annotate(many=Count("pk"))
        is_first_or_leaves_one = Q(before=0) | Q(running__lt=workers - 1)
        turns = counted.alias(running=Coalesce(Subquery(all_running.values("many")), 0)).filter(
            Q(is_first_or_leaves_one, before__lt=of_a_brand) | Q(kind__in=urgent)
        )
        return turns.order_by("before", "for_customer", "pk")


class Job(models.Model):
    """Generation, import, export or print as one row: what to do, its progress, and the resulting file."""

    customer_through = ("customer",)

    class Status(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", pgettext_lazy("job", "Cancelled")

    UNFINISHED = (Status.QUEUED, Status.RUNNING)

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="jobs", verbose_name=_("brand"))
    kind = models.CharField(_("kind"), max_length=32, choices=kinds.choices)
    title = models.CharField(_("title"), max_length=200, help_text=_("A short description."))
    parameters = models.JSONField(default=dict, editable=False)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.QUEUED)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    log = models.TextField(blank=True, help_text=_("Messages of the job, one per line."))
    language = models.CharField(
        _("language"),
        max_length=7,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text=_("The language of the person who started the job, and so of its messages. English if empty."),
    )
    attempts = models.PositiveIntegerField(default=0)
    interruptions = models.PositiveIntegerField(
        _("interruptions"),
        default=0,
        db_default=0,
        editable=False,
        help_text=_("Attempts that ended because the database was unavailable."),
    )
    cancel_requested = models.BooleanField(default=False)
    result = models.FileField(_("result"), upload_to="jobs/%Y/%m/", blank=True, max_length=255)
    result_name = models.CharField(max_length=200, blank=True, help_text=_("The file's name when it is downloaded."))
    result_bytes = models.PositiveBigIntegerField(_("result bytes"), default=0, db_default=0, editable=False)
    customer = models.ForeignKey(
        User,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("customer"),
        help_text=_("The customer whose data the job exports."),
        db_index=False,
    )
    created_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("created by")
    )
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    started_at = MomentField(_("started at"), null=True, blank=True)
    alive_at = MomentField(null=True, blank=True, help_text=_("The worker's last heartbeat."))
    finished_at = MomentField(_("finished at"), null=True, blank=True)
    expires_at = MomentField(
        _("expires at"), null=True, blank=True, help_text=_("The file is deleted after this time.")
    )

    objects = JobQuerySet.as_manager()

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
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
            check("job_status_known", Q(status__in=["queued", "running", "done", "failed", "cancelled"])),
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


class StagedUpload(models.Model):
    """A file of reference data between its preview and its confirmation; deleted with its file when it expires."""

    class Status(models.TextChoices):
        CHECKING = "checking", _("Being checked")
        CHECKED = "checked", _("Waits for confirmation")
        REJECTED = "rejected", _("Rejected")
        IMPORTING = "importing", _("Being imported")
        IMPORTED = "imported", _("Imported")

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+")
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    api_key = models.ForeignKey(ApiKey, models.CASCADE, null=True, related_name="+")
    resource = models.CharField(max_length=60, help_text="The label of the model whose rows the file holds.")
    file = models.FileField(upload_to="imports/staged/", max_length=255)
    file_name = models.CharField(max_length=200)
    file_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.CHECKED, db_default="checked")
    is_large = models.BooleanField(default=False, db_default=False, help_text="A job checks and imports it.")
    job = models.ForeignKey(
        Job, models.SET_NULL, null=True, related_name="+", help_text="The last job that worked on it."
    )
    preview = models.JSONField(default=dict, db_default={}, help_text="What the job found that checked it.")
    problem = models.TextField(blank=True, db_default="", help_text="Why it was rejected.")
    expires_at = MomentField(db_index=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "brand", "resource"],
                name="one_staged_upload_per_person",
                condition=~Q(status__in=["importing", "imported"]),
            ),
            models.UniqueConstraint(
                fields=["api_key", "brand", "resource"],
                name="one_staged_upload_per_key",
                condition=~Q(status__in=["importing", "imported"]),
            ),
            check(
                "staged_upload_has_one_uploader",
                Q(user__isnull=True, api_key__isnull=False) | Q(user__isnull=False, api_key__isnull=True),
            ),
            check(
                "staged_upload_status_known", Q(status__in=["checking", "checked", "rejected", "importing", "imported"])
            ),
        ]

    def __str__(self) -> str:
        return self.file_name


class ReportSchedule(models.Model):
    """When a saved list is exported, and who gets an e-mail once the file is available."""

    class Frequency(models.TextChoices):
        DAILY = "daily", _("Daily")
        WEEKLY = "weekly", _("Weekly")
        MONTHLY = "monthly", _("Monthly")

    class Weekday(models.IntegerChoices):
        MONDAY = 0, _("Monday")
        TUESDAY = 1, _("Tuesday")
        WEDNESDAY = 2, _("Wednesday")
        THURSDAY = 3, _("Thursday")
        FRIDAY = 4, _("Friday")
        SATURDAY = 5, _("Saturday")
        SUNDAY = 6, _("Sunday")

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", verbose_name=_("brand"))
    saved_list = models.ForeignKey(
        SavedList, models.SET_NULL, null=True, related_name="schedules", verbose_name=_("saved list")
    )
    owner = models.ForeignKey(
        User, models.CASCADE, related_name="report_schedules", editable=False, verbose_name=_("owner")
    )
    frequency = models.CharField(_("frequency"), max_length=10, choices=Frequency.choices)
    weekday = models.PositiveSmallIntegerField(
        _("weekday"), choices=Weekday.choices, default=Weekday.MONDAY, help_text=_("Only for weekly reports.")
    )
    day = models.PositiveSmallIntegerField(
        _("day of the month"),
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(28)],
        help_text=_("1 to 28. Only for monthly reports."),
    )
    hour = models.PositiveSmallIntegerField(
        _("hour"), default=7, validators=[MaxValueValidator(23)], help_text=_("0 to 23, in the brand's time zone.")
    )
    file_format = models.CharField(_("file"), max_length=4, choices=ReportFormat.choices, default=ReportFormat.CSV)
    is_paused = models.BooleanField(_("paused"), default=False, help_text=_("No report is sent until you untick this."))
    next_at = MomentField(_("next report"), editable=False)
    time_zone = models.CharField(
        _("time zone"),
        max_length=64,
        editable=False,
        help_text=_("The brand's time zone when the next report was planned."),
    )
    job = models.ForeignKey(
        Job, models.SET_NULL, null=True, related_name="+", editable=False, verbose_name=_("last job")
    )
    is_running = models.BooleanField(
        _("running"), default=False, editable=False, help_text=_("The end of its job was not reported yet.")
    )
    failures = models.PositiveSmallIntegerField(
        _("failures"),
        default=0,
        editable=False,
        help_text=_("Consecutive failures. The third one pauses the schedule."),
    )
    last_error = models.CharField(_("last error"), max_length=500, blank=True, editable=False)
    last_run_at = MomentField(_("last report"), null=True, editable=False)
    created_at = MomentField(_("created"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("scheduled report")
        verbose_name_plural = _("scheduled reports")
        ordering = ["brand_id", "-id"]
        indexes = [
            models.Index(fields=["next_at", "id"], name="report_due", condition=Q(is_paused=False, is_running=False)),
            models.Index(fields=["id"], name="report_running", condition=Q(is_running=True)),
        ]
        constraints = [
            check("report_frequency_known", Q(frequency__in=["daily", "weekly", "monthly"])),
            check("report_time_exists", Q(weekday__lte=6, day__gte=1, day__lte=28, hour__lte=23)),
            check("report_format_known", Q(file_format__in=["csv", "xlsx", "pdf"])),
        ]

    def __str__(self) -> str:
        return f"{self.saved_list or _('Deleted list')}, {self.get_frequency_display()}"


class ReportRecipient(models.Model):
    """A member of the brand's staff who gets an e-mail about each report."""

    brand_through = ("schedule",)

    schedule = models.ForeignKey(ReportSchedule, models.CASCADE, related_name="recipients")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")

    class Meta:
        ordering = ["schedule_id", "id"]
        constraints = [models.UniqueConstraint(fields=["schedule", "user"], name="report_recipient_once")]

    def __str__(self) -> str:
        return str(self.user)
