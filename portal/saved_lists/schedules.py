"""Scheduled reports: starts the due ones, and mails their outcome. The only code that runs them."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from brands.staff_login import mails, quota_mails, staff
from brands.staff_login.models import StaffMail
from core import languages
from core.db import row_guard
from core.db.outages import is_outage
from core.errors import DomainError, Invalid
from jobs.models import Job, ReportRecipient, ReportSchedule
from jobs.report_times import next_moment
from portal.import_export.exportable import ExportingAdmin, start_export, within
from portal.saved_lists import queries

logger = logging.getLogger(__name__)
AT_ONCE = 100
MAX_FAILURES = 3  # consecutive, before a schedule is paused


def plan(schedule: ReportSchedule, *, after: datetime) -> None:
    """Set when the schedule is due next; the caller saves it."""
    schedule.next_at = next_moment(schedule, schedule.brand.zone, after=after)
    schedule.time_zone = schedule.brand.time_zone


def run_due(*, at: datetime) -> int:
    """Start each due report once, however many workers run this and however often it was missed."""
    _follow_time_zones(at)
    due = ReportSchedule.objects.filter(is_paused=False, is_running=False, next_at__lte=at).order_by("next_at", "id")
    return _each(due, lambda schedule: _start(schedule, at))


def report_ended(*, at: datetime) -> int:
    """Mail the outcome of reports whose jobs have ended. Returns how many."""
    running = ReportSchedule.objects.filter(is_running=True).order_by("id")
    ended = running.exclude(job__status__in=Job.UNFINISHED)
    return _each(ended, lambda schedule: _report(schedule, at))


def _each(rows: "QuerySet[ReportSchedule]", work: Callable[[ReportSchedule], None]) -> int:
    """Process each row in its own transaction, which locks the row. `work` must remove the row from `rows`.

    Each brand has its share of a run, so that one with many reports does not delay the others.
    """
    brands = list(rows.order_by().values_list("brand_id", flat=True).distinct())
    return sum(_each_of_brand(rows.filter(brand=brand), work, max(1, AT_ONCE // len(brands))) for brand in brands)


def _each_of_brand(rows: "QuerySet[ReportSchedule]", work: Callable[[ReportSchedule], None], most: int) -> int:
    done = 0
    while done < most:
        with transaction.atomic():
            schedule = _locked(rows)
            if schedule is None:
                break
            work(schedule)
            done += 1
    return done


def _locked(rows: "QuerySet[ReportSchedule]") -> ReportSchedule | None:
    related = rows.select_related("brand", "owner", "saved_list", "job")
    return related.select_for_update(skip_locked=True, of=("self",)).first()


def _follow_time_zones(at: datetime) -> None:
    """Plan schedules again whose brand has changed its time zone."""
    moved = ReportSchedule.objects.exclude(time_zone=F("brand__time_zone")).order_by("id")

    def follow(schedule: ReportSchedule) -> None:
        plan(schedule, after=min(at, schedule.next_at))
        schedule.save(update_fields=["next_at", "time_zone"])

    _each(moved, follow)


def _start(schedule: ReportSchedule, at: datetime) -> None:
    plan(schedule, after=at)
    schedule.last_run_at, schedule.job = at, None
    language = staff.language_of(schedule.owner, brand_id=schedule.brand_id)
    guard = row_guard.within([schedule.brand_id], user_id=schedule.owner_id)
    try:
        with languages.override(language), transaction.atomic(), guard:
            schedule.job, schedule.is_running = start_job(schedule), True
    except DomainError as error:
        _fail(schedule, error.message, at)
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("scheduled report %s could not be started", schedule.pk)
        _fail(schedule, gettext_noop("The export could not be started."), at)
    schedule.save()


def start_job(schedule: ReportSchedule) -> Job:
    """Start the list's export, with its owner's current permissions. Raises DomainError."""
    saved, owner = schedule.saved_list, schedule.owner
    if saved is None:
        raise Invalid(_("The saved list was deleted."))
    if saved.owner_id != owner.pk and not saved.is_shared:
        raise Invalid(_("The saved list is no longer shared."))
    page = queries.page_of(saved.model_label)
    if not isinstance(page, ExportingAdmin):
        raise Invalid(_("This list cannot be exported."))
    if saved.brand_id not in within(owner, saved.model_label):
        raise Invalid(_("The owner of the schedule may no longer export this list."))
    if names := queries.rejected(owner, page, saved.query):
        called = queries.filter_names(owner, page, names)
        raise Invalid(_("These filters no longer work: %(filters)s.") % {"filters": called})
    query = queries.address_query(saved.query)
    with languages.in_english():
        title = gettext_noop("%(list)s: %(name)s") % {"list": page.export_name(query), "name": saved.name}
    return start_export(
        page,
        query=query,
        brand=schedule.brand,
        file_format=schedule.file_format,
        time_zone=schedule.brand.time_zone,
        by=owner,
        title=title,
    )


def _report(schedule: ReportSchedule, at: datetime) -> None:
    schedule.is_running = False
    job = schedule.job
    if job is None or job.status == Job.Status.CANCELLED:
        _fail(schedule, gettext_noop("The export was cancelled."), at)
    elif job.status == Job.Status.FAILED:
        _fail(schedule, gettext_noop("The export failed; its job says why."), at)
    else:
        schedule.failures, schedule.last_error = 0, ""
        _mail_recipients(schedule, job)
    schedule.save(update_fields=["is_running", "failures", "last_error", "is_paused"])


def _mail_recipients(schedule: ReportSchedule, job: Job) -> None:
    path = reverse("admin:jobs_job_change", args=[job.pk])
    label = schedule.saved_list.model_label if schedule.saved_list else ""
    for recipient in ReportRecipient.objects.filter(schedule=schedule).select_related("user"):
        if may_receive(recipient.user, schedule.brand, label):
            _mail(schedule, recipient.user, StaffMail.Kind.REPORT, ready_text, path)


def may_receive(user: User, brand: Brand, label: str) -> bool:
    """Whether the user works for the brand and may export such a list, and so open the job's file."""
    works = StaffRole.objects.filter(user=user, brand=brand).exists()
    return works and brand.pk in within(user, label)


def _fail(schedule: ReportSchedule, reason: str, at: datetime) -> None:
    """Record why there is no report, and notify the owner. The third consecutive failure pauses the schedule.

    `reason`: in the owner's language, or marked with gettext_noop.
    """
    schedule.failures += 1
    schedule.last_error = reason[:500]
    if schedule.failures >= MAX_FAILURES:
        schedule.is_paused = True
        change = AuditedChange(schedule, schedule.brand_id, {"is_paused": (False, True)})
        audit_log.record(audit_context=AuditContext(None, at), action=audit_log.CHANGED, rows=[change])
    path = reverse("admin:jobs_reportschedule_change", args=[schedule.pk])
    for user in failure_recipients(schedule):
        _mail(schedule, user, StaffMail.Kind.REPORT_FAILED, failure_text, path)


def ready_text(schedule: ReportSchedule) -> str:
    return _("The report “%(list)s” of %(brand)s is ready.") % names_of(schedule)


def failure_text(schedule: ReportSchedule) -> str:
    parts = [_("The report “%(list)s” of %(brand)s was not sent.") % names_of(schedule)]
    if schedule.is_paused:
        message = _("It failed %(number)d times in a row and is now paused.")
        parts.append(message % {"number": schedule.failures})
    return " ".join([*parts, languages.translated(schedule.last_error)])


def failure_recipients(schedule: ReportSchedule) -> list[User]:
    """The schedule's owner or, if they no longer work for the brand, the brand's owners."""
    owner = schedule.owner
    works = owner.is_superuser or StaffRole.objects.filter(user=owner, brand=schedule.brand).exists()
    if owner.is_active and works:
        return [owner]
    return [each.user for each in quota_mails.owners_of(schedule.brand)]


def names_of(schedule: ReportSchedule) -> dict[str, Any]:
    saved = schedule.saved_list
    return {"list": saved.name if saved else _("Deleted list"), "brand": schedule.brand.name[:60]}


def _mail(
    schedule: ReportSchedule, user: User, kind: StaffMail.Kind, text_of: Callable[[ReportSchedule], str], path: str
) -> None:
    mails.write(
        user=user,
        kind=kind,
        origin=settings.PORTAL_URL,
        text=lambda: text_of(schedule),
        path=path,
        brand_id=schedule.brand_id,
    )
