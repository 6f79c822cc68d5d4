"""Notifies every known customer who scanned a recalled code, and counts how many were notified."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from authcodes.models.batches import Recall
from authcodes.models.scans import Scan
from authcodes.recalls import scopes
from authcodes.recalls.scopes import Scope
from authcodes.reports.columns import CUSTOMER_IS_OURS
from brands.identity import roles
from brands.identity.roles import ADD
from brands.models.people import User
from core.errors import Invalid
from core.numbers import grouped
from jobs import queue, runner
from jobs.kinds import JobKind
from jobs.models import Job
from loyalty.models.notifications import Template
from loyalty.notifications import batching, delivery, stats
from loyalty.notifications.batching import NotificationRequest
from loyalty.notifications.stats import Figures

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a recall's notifications. `job`: the newest job that sent them, None if there was none."""

    figures: Figures
    job: Job | None


def start(*, recall: Recall, by: User | None) -> Job:
    """Have a worker notify the customers, in the caller's transaction. Already notified customers are skipped."""
    return queue.start(
        brand=recall.brand,
        kind=NOTIFICATION.name,
        title=gettext_noop("Notify customers of recall %(recall)s") % {"recall": recall.recall_id},
        parameters={"recall": recall.pk},
        by=by,
    )


def start_reminder(*, recall: Recall, by: User | None, at: datetime) -> Job:
    """Have a worker remind customers who were notified and have not acknowledged the recall, at most once a day.

    Raises Invalid if that was done today, in the brand's time zone.
    """
    day = recall.brand.day_at(at).isoformat()
    with transaction.atomic():
        if not Recall.objects.select_for_update(of=("self",), no_key=True).filter(pk=recall.pk):
            raise Invalid(_("This recall has been withdrawn."))
        if jobs_of(recall).filter(parameters__reminder=day).exists():
            raise Invalid(_("Customers have been reminded today. The next reminder is possible tomorrow."))
        return queue.start(
            brand=recall.brand,
            kind=NOTIFICATION.name,
            title=gettext_noop("Remind customers of recall %(recall)s") % {"recall": recall.recall_id},
            parameters={"recall": recall.pk, "reminder": day},
            by=by,
        )


def run(run: runner.Run) -> None:
    """Job handler. After a crash it continues where it stopped: no customer is notified twice."""
    result = Recall.objects.select_related("brand")
    recall = result.filter(pk=run.parameters["recall"], brand=run.job.brand).first()
    if recall is None:
        message = _("The recall was withdrawn, so nobody was notified.")
        raise Invalid(message)
    scope, day = scopes.of_recall(recall), run.parameters.get("reminder", "")
    customers = not_read(recall) if day else scanned_by(scope)
    notification = notification_of(recall, scope, day)
    run.progress(0, len(customers))
    notified = done = 0
    for chunk in chunks(customers):
        with transaction.atomic():  # a withdrawal waits for these, then stops the rest
            if not Recall.objects.select_for_update(of=("self",), no_key=True).filter(pk=recall.pk):
                break
            # Since the job started, customers may have acknowledged it, or another job may have reminded them.
            users = still_to_remind(recall, chunk, since=run.job.created_at) if day else chunk
            notified += batching.notify_many(
                brand_id=recall.brand_id, user_ids=users, notification=notification, at=timezone.now()
            )
        done += len(chunk)
        (run.progress if done < len(customers) else run.note_progress)(done, len(customers))
    summary = ngettext(
        "%(notified)s customer notified; %(before)s had been notified before.",
        "%(notified)s customers notified; %(before)s had been notified before.",
        notified,
    )
    run.log(summary % {"notified": grouped(notified), "before": grouped(done - notified)})


def may_cancel(job: Job, by: User) -> bool:
    """Anyone who may recall may cancel the notifications, whoever started them; others may not."""
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


def scanned_by(scope: Scope) -> list[int]:
    """The ids of the known customers who scanned one of the codes, without duplicates."""
    ours = Scan.objects.filter(scope.scans_condition(), CUSTOMER_IS_OURS, brand=scope.brand, user__isnull=False)
    return list(ours.order_by("user_id").values_list("user_id", flat=True).distinct())


def to_notify(recall: Recall, scope: Scope) -> list[int]:
    """Those not notified of the recall yet; all of them if the recall is not stored."""
    known = set(batching.notified_users(brand_id=scope.brand.pk, key=key_of(recall))) if recall.pk else set()
    return [each for each in scanned_by(scope) if each not in known]


def not_read(recall: Recall) -> list[int]:
    """The ids of customers who were notified and have not acknowledged the recall."""
    return stats.not_acknowledged(brand_id=recall.brand_id, key=key_of(recall))


def still_to_remind(recall: Recall, customers: list[int], *, since: datetime) -> list[int]:
    return stats.still_to_remind(brand_id=recall.brand_id, key=key_of(recall), user_ids=customers, since=since)


def chunks(ids: list[int]) -> Iterator[list[int]]:
    for begin in range(0, len(ids), AT_ONCE):
        yield ids[begin : begin + AT_ONCE]


def notification_of(recall: Recall, scope: Scope, reminder: str = "") -> NotificationRequest:
    """`reminder`: the day of a reminder; empty for the first notification."""
    values = {
        "product_name": scope.title,
        "recall_id": recall.recall_id,
        "contact": recall.contact,
        "message": recall.message,
        "messages": {language: texts["message"] for language, texts in recall.translations.items()},
    }
    key = f"{key_of(recall)}{batching.REMINDER}{reminder}" if reminder else key_of(recall)
    return NotificationRequest(Template.RECALL, key, values)


def withdraw(recall: Recall, *, at: datetime) -> int:
    """Cancel the notifications that were not handed to a channel yet, including those waiting for a retry.

    Returns how many.
    """
    spared = batching.withdraw(brand_id=recall.brand_id, key=key_of(recall), at=at)
    return spared + delivery.withdraw(brand_id=recall.brand_id, key=key_of(recall), at=at)


def key_of(recall: Recall) -> str:
    return f"recall:{recall.pk}"


def jobs_of(recall: Recall) -> "QuerySet[Job]":
    return Job.objects.filter(brand=recall.brand_id, kind=NOTIFICATION.name, parameters__recall=recall.pk)


def progress_of(recall: Recall) -> Progress:
    figures = stats.of(brand_id=recall.brand_id, key=key_of(recall))
    return Progress(figures, jobs_of(recall).order_by("-id").first())
