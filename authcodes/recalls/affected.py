"""The file of customers affected by a recall."""

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.models.batches import BatchRange
from authcodes.models.scans import Scan
from authcodes.reports.columns import CUSTOMER_IS_OURS
from brands.models.people import User
from core.errors import Invalid
from core.spreadsheets.report import Column, Format, Report
from jobs import queue, runner
from jobs.file_exports import export
from jobs.kinds import NO_FILE, JobKind
from jobs.models import Job

AFFECTED = Report(
    "affected-customers",
    {
        "customer_email": (Column.TEXT, F("user__email")),
        "auth_code": (Column.TEXT, F("code")),
        "product": (Column.TEXT, F("product__title")),
        "scan_date": (Column.MOMENT, F("scanned_at")),
        "location": (Column.TEXT, F("location")),
    },
)


def affected(batch: BatchRange) -> QuerySet[Scan]:
    """The first scan of each code of the batch by each customer whom the brand knows."""
    scans = Scan.objects.filter(auth_code__batch=batch, brand=batch.brand_id, user__isnull=False)
    known = scans.filter(CUSTOMER_IS_OURS)
    return known.order_by("auth_code_id", "user_id", "scanned_at").distinct("auth_code_id", "user_id")


def start_affected(*, batch: BatchRange, file_format: Format, by: User | None) -> Job:
    """Have a worker write the customers affected by the batch's recall, in the caller's transaction."""
    return queue.start(
        brand=batch.brand,
        kind=EXPORT.name,
        title=gettext_noop("Customers affected by the recall of %(batch)s") % {"batch": batch.range_name},
        parameters={"batch_id": batch.pk, "format": file_format},
        by=by,
    )


def run_affected(run: runner.Run) -> None:
    """The job's handler."""
    batch = BatchRange.objects.filter(pk=run.parameters["batch_id"], brand=run.job.brand).first()
    if batch is None:
        message = _("This batch no longer exists.")
        raise Invalid(message)
    export(run=run, report=AFFECTED, rows=affected(batch))


EXPORT = JobKind(
    name="export-affected",
    label=gettext_lazy("Export customers affected by a recall"),
    run=run_affected,
    on_cancel=NO_FILE,
    visible_with="authcodes.scan",
    names_customers=True,
)
