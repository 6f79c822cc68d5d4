"""Recall notices: tells every known customer who scanned a recalled batch, and how many of them know by now."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.models.batches import BatchRange, Recall
from authcodes.models.scans import Scan
from authcodes.reports.columns import CUSTOMER_IS_OURS
from brands.identity import roles
from brands.identity.roles import ADD
from brands.models.people import User
from core.errors import Invalid
from jobs import queue, runner
from jobs.kinds import JobKind
from jobs.models import Job
from loyalty.models.notifications import Template
from loyalty.notifications import batching, stats
from loyalty.notifications.batching import NotificationRequest
from loyalty.notifications.stats import Figures

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a recall's notices are; `job` is the newest that sent them, None where nobody asked for that."""

    figures: Figures
    job: Job | None


def start(*, recall: Recall, by: User | None) -> Job:
    """Have a worker tell the customers, in the caller's transaction. Who was told already is left out."""
    return queue.start(
        brand=recall.batch.brand,
        kind=NOTIFICATION.name,
        title=gettext_noop("Notify customers of recall %(recall)s?") % {"recall": recall.recall_id},
        parameters={"recall": recall.pk},
        by=by,
    )


def run(run: runner.Run) -> None:
    """The job's handler. Started again after a crash it goes on where it was: nobody is told twice."""
    result = Recall.objects.select_related("batch__product")
    recall = result.filter(pk=run.parameters["recall"], batch__brand=run.job.brand).first()
    if recall is None:
        message = _("The recall was withdrawn, so nobody was notified.")
        raise Invalid(message)
    customers = scanned_by(recall.batch)
    run.progress(0, len(customers))
    notified = done = 0
    for chunk in chunks(customers):
        if not Recall.objects.filter(pk=recall.pk).exists():
            break
        brand_id = recall.batch.brand_id
        notified += batching.notify_many(
            brand_id=brand_id, user_ids=chunk, notification=notification_of(recall), at=timezone.now()
        )
        done += len(chunk)
        (run.progress if done < len(customers) else run.note_progress)(done, len(customers))
    summary = gettext_noop("%(notified)s customers notified; %(before)s had been notified before.")
    run.log(summary % {"notified": f"{notified:,}", "before": f"{done - notified:,}"})


def may_cancel(job: Job, by: User) -> bool:
    """Who may recall may stop telling of it, whoever began; and nobody else."""
    return job.brand_id in roles.brand_scope(by, ADD, "authcodes.recall")


NOTIFICATION = JobKind(
    name="notify-recall",
    label=gettext_lazy("Notify customers of a recall"),
    run=run,
    on_cancel=gettext_lazy(
        "Customers notified so far stay notified. Restart from the recall's page to notify the rest."
    ),
    may_cancel=may_cancel,
    is_urgent=True,
)


def scanned_by(batch: BatchRange) -> list[int]:
    """The customers whom the brand knows and who scanned a code of the batch, by id."""
    scans = Scan.objects.filter(Q(auth_code__batch=batch, brand=batch.brand_id, user__isnull=False), CUSTOMER_IS_OURS)
    return list(scans.order_by("user_id").values_list("user_id", flat=True).distinct())


def to_notify(recall: Recall) -> list[int]:
    """Those of them who were not told of the recall yet; of one that is not stored, all."""
    known = set(batching.notified_users(brand_id=recall.batch.brand_id, key=key_of(recall))) if recall.pk else set()
    return [each for each in scanned_by(recall.batch) if each not in known]


def chunks(ids: list[int]) -> Iterator[list[int]]:
    for begin in range(0, len(ids), AT_ONCE):
        yield ids[begin : begin + AT_ONCE]


def notification_of(recall: Recall) -> NotificationRequest:
    batch = recall.batch
    values = {
        "product_name": batch.product.title if batch.product else batch.range_name,
        "recall_id": recall.recall_id,
        "contact": recall.contact,
        "message": recall.message,
    }
    return NotificationRequest(Template.RECALL, key_of(recall), values)


def withdraw(recall: Recall, *, at: datetime) -> int:
    """Cancel the notifications that no channel has taken yet. Returns how many customers are not notified."""
    return batching.withdraw(brand_id=recall.batch.brand_id, key=key_of(recall), at=at)


def key_of(recall: Recall) -> str:
    return f"recall:{recall.pk}"


def progress_of(recall: Recall) -> Progress:
    jobs_of = Job.objects.filter(brand=recall.batch.brand_id, kind=NOTIFICATION.name)
    job = jobs_of.filter(parameters__recall=recall.pk).order_by("-id").first()
    return Progress(stats.of(brand_id=recall.batch.brand_id, key=key_of(recall)), job)
