"""Files of a recall's customers: all affected, and those whom no message reached."""

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.models.batches import Recall
from authcodes.models.scans import Scan
from authcodes.recalls import notifications, scopes
from authcodes.recalls.scopes import Scope
from authcodes.reports.columns import CUSTOMER_IS_OURS
from brands.models.people import User
from core.errors import Invalid
from core.spreadsheets.report import Column, Format, Report
from jobs import queue, runner
from jobs.file_exports import export
from jobs.kinds import NO_FILE, JobKind
from jobs.models import Job
from loyalty.models.accounts import UserPoints
from loyalty.models.notifications import Notification, NotificationPreference
from loyalty.notifications import stats

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


ACCOUNT = UserPoints.objects.filter(user=OuterRef("user"), brand=OuterRef("brand"))
PHONE = NotificationPreference.objects.filter(user=OuterRef("user"), brand=OuterRef("brand")).values("phone")[:1]
TO_CALL = Report(
    "customers-to-call",
    {
        "first_name": (Column.TEXT, Coalesce(Subquery(ACCOUNT.values("first_name")[:1]), F("user__first_name"))),
        "last_name": (Column.TEXT, Coalesce(Subquery(ACCOUNT.values("last_name")[:1]), F("user__last_name"))),
        "phone": (Column.TEXT, Subquery(PHONE)),
        "customer_email": (Column.TEXT, F("user__email")),
        "notified_at": (Column.MOMENT, F("opened_at")),
    },
)


def affected(scope: Scope) -> QuerySet[Scan]:
    """The first scan of each recalled code by each customer known to the brand."""
    scans = Scan.objects.filter(scope.scans_condition(), brand=scope.brand, user__isnull=False)
    known = scans.filter(CUSTOMER_IS_OURS)
    return known.order_by("auth_code_id", "user_id", "scanned_at").distinct("auth_code_id", "user_id")


def to_call(recall: Recall) -> QuerySet[Notification]:
    """Customers whom no channel has reached, and who have not acknowledged the recall."""
    return stats.unreached(brand_id=recall.brand_id, key=notifications.key_of(recall))


def start_affected(*, recall: Recall, file_format: Format, by: User | None) -> Job:
    """Have a worker export the affected customers, in the caller's transaction."""
    title = gettext_noop("Customers affected by recall %(recall)s") % {"recall": recall}
    return start(EXPORT, title, recall, file_format, by)


def start_to_call(*, recall: Recall, file_format: Format, by: User | None) -> Job:
    """Have a worker export the customers not reached, in the caller's transaction."""
    title = gettext_noop("Customers not reached about recall %(recall)s") % {"recall": recall}
    return start(TO_CALL_EXPORT, title, recall, file_format, by)


def start(kind: JobKind, title: str, recall: Recall, file_format: Format, by: User | None) -> Job:
    parameters = {"recall": recall.pk, "format": file_format}
    return queue.start(brand=recall.brand, kind=kind.name, title=title, parameters=parameters, by=by)


def recall_of(run: runner.Run) -> Recall:
    """Raises Invalid if the recall was withdrawn."""
    rows = Recall.objects.select_related("brand").filter(brand=run.job.brand)
    recall = rows.filter(pk=run.parameters.get("recall", 0)).first()
    if recall is None:
        message = _("This recall has been withdrawn.")
        raise Invalid(message)
    return recall


def run_affected(run: runner.Run) -> None:
    """Job handler."""
    export(run=run, report=AFFECTED, rows=affected(scopes.of_recall(recall_of(run))))


def run_to_call(run: runner.Run) -> None:
    """Job handler."""
    export(run=run, report=TO_CALL, rows=to_call(recall_of(run)))


EXPORT = JobKind(
    name="export-affected",
    label=gettext_lazy("Export customers affected by a recall"),
    run=run_affected,
    on_cancel=NO_FILE,
    visible_with="authcodes.scan",
    names_customers=True,
)
TO_CALL_EXPORT = JobKind(
    name="export-to-call",
    label=gettext_lazy("Export customers not reached about a recall"),
    run=run_to_call,
    on_cancel=NO_FILE,
    visible_with="authcodes.scan",
    names_customers=True,
)
