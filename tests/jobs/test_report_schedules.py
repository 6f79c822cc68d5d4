"""Scheduled reports run once each, as their owner; recipients are notified, and owners of failures."""

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core import mail
from django.db.models import QuerySet
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from brands.models.saved_lists import SavedList
from brands.models.tenants import Brand
from brands.staff_login import mails
from brands.staff_login.models import StaffMail
from jobs import runner
from jobs.models import Job, ReportSchedule
from jobs.report_times import next_moment
from portal.saved_lists import schedules
from tests.jobs.schedules import LABEL, NOON, saved_list, schedule
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


HOUR = timedelta(hours=1)


@pytest.fixture
def owner(brand):
    return staff(brand, email="owner@example.com")


def run(at=NOON):
    """Run the due reports and their jobs; return the mails that follow as (to, subject, third line)."""
    mail.outbox.clear()
    schedules.run_due(at=at)
    for job in Job.objects.filter(status="queued"):
        runner.run(job.pk)
    schedules.report_ended(at=at)
    mails.send_due(at=timezone.now())
    return [(each.to[0], each.subject, each.body.splitlines()[2]) for each in mail.outbox]


READY = ("owner@example.com", "A scheduled report is ready")
FAILED = ("owner@example.com", "A scheduled report failed")


def test_report_can_be_a_pdf(owner, brand, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    factories.code(brand)
    report_schedule = schedule(owner, brand, file_format="pdf")

    assert [message[:2] for message in run()] == [READY]
    report_schedule.refresh_from_db()
    with report_schedule.job.result.open("rb") as file:
        assert file.read(5) == b"%PDF-"


def test_text_of_a_mail_is_deleted_once_it_is_sent(owner, brand):
    schedule(owner, brand, saved=saved_list(owner, brand, name="Orders of Ada Lovelace"))

    [(_to, _subject, body)] = run()

    assert "Ada Lovelace" in body
    assert list(StaffMail.objects.values_list("text", flat=True)) == [""]


# --- The calendar ----------------------------------------------------------------------------------------------------
def moments(after, number=3, zone="Europe/Berlin", **fields):
    defaults = {"frequency": "daily", "hour": 2}
    times, rule = [], ReportSchedule(**{**defaults, **fields})
    for _ in range(number):
        after = next_moment(rule, ZoneInfo(zone), after=after)
        times.append(f"{after.astimezone(ZoneInfo(zone)):%d.%m. %H:%M %Z}")
    return times


@pytest.mark.parametrize(
    ("after", "rule", "expected"),
    [
        # Clocks skip two o'clock on 29 March 2026, and strike it twice on 25 October.
        ("2026-03-27T12:00", {}, ["28.03. 02:00 CET", "29.03. 03:00 CEST", "30.03. 02:00 CEST"]),
        ("2026-10-23T12:00", {}, ["24.10. 02:00 CEST", "25.10. 02:00 CEST", "26.10. 02:00 CET"]),
        ("2026-01-30T12:00", {"hour": 0}, ["31.01. 00:00 CET", "01.02. 00:00 CET", "02.02. 00:00 CET"]),
        (
            "2026-01-28T12:00",
            {"frequency": "monthly", "day": 28, "hour": 23},
            ["28.01. 23:00 CET", "28.02. 23:00 CET", "28.03. 23:00 CET"],
        ),
        (
            "2026-12-31T12:00",
            {"frequency": "monthly", "day": 1},
            ["01.01. 02:00 CET", "01.02. 02:00 CET", "01.03. 02:00 CET"],
        ),
        (
            "2028-02-27T12:00",
            {"frequency": "weekly", "weekday": 1},
            ["29.02. 02:00 CET", "07.03. 02:00 CET", "14.03. 02:00 CET"],
        ),
    ],
)
def test_reports_follow_the_brands_local_time(after, rule, expected):
    assert moments(datetime.fromisoformat(after).replace(tzinfo=UTC), **rule) == expected


def test_day_skipped_by_a_time_zone_has_no_report():
    """Samoa had no 30 December 2011."""
    after = datetime(2011, 12, 29, 12, tzinfo=UTC)

    assert moments(after, zone="Pacific/Apia", hour=12, number=2) == ["29.12. 12:00 -10", "31.12. 12:00 +14"]


def test_reports_are_planned_again_when_the_brands_time_zone_changes(brand, owner):
    report_schedule = schedule(owner, brand, next_at=NOON + 5 * HOUR)
    Brand.objects.filter(pk=brand.pk).update(time_zone="America/New_York")

    assert schedules.run_due(at=NOON) == 0
    report_schedule.refresh_from_db()
    assert (report_schedule.next_at, report_schedule.time_zone) == (
        NOON + 5 * HOUR,
        "America/New_York",
    )  # noon in New York


# --- Runs ------------------------------------------------------------------------------------------------------------
def test_due_report_is_created_and_its_recipients_get_a_link(brand, owner, settings):
    settings.PORTAL_URL = "https://portal.example.com"
    batch = factories.batch(brand, quantity=3, prefix="NW-", product=factories.product(brand))
    batch.codes.filter(code="NW-0002").update(product=None)
    report_schedule = schedule(owner, brand, saved=saved_list(owner, brand, query={"assigned": ["yes"]}))

    assert run(NOON - HOUR) == []
    assert run() == [(*READY, f"The report “Live codes” of {brand} is ready.")]

    job, [sent] = Job.objects.get(), mail.outbox
    link = f"https://portal.example.com{address('jobs.job', 'change', job.pk)}"
    file = text(browser(owner).get(address("jobs.job", "download", job.pk)))
    report_schedule.refresh_from_db()
    assert link in sent.body.splitlines()
    assert not sent.attachments
    assert "NW-0001" not in sent.body
    assert [code in file for code in ("NW-0001", "NW-0002", "NW-0003")] == [True, False, True]
    assert (job.created_by, job.parameters["time_zone"]) == (owner, brand.time_zone)
    assert (report_schedule.is_running, report_schedule.failures, report_schedule.next_at) == (
        False,
        0,
        NOON + timedelta(days=1),
    )


def test_reports_missed_during_an_outage_are_sent_once(brand, owner):
    report_schedule = schedule(owner, brand)

    assert len(run(NOON + timedelta(days=30))) == 1
    assert run(NOON + timedelta(days=30, hours=1)) == []
    report_schedule.refresh_from_db()
    assert report_schedule.next_at == NOON + timedelta(days=31)


def test_report_does_not_start_while_the_previous_one_runs(brand, owner):
    schedule(owner, brand)
    schedules.run_due(at=NOON)

    assert schedules.run_due(at=NOON + timedelta(days=1)) == 0
    assert Job.objects.count() == 1


def test_eight_workers_start_each_report_once(brand, owner):
    saved = saved_list(owner, brand)
    for _number in range(6):
        schedule(owner, brand, saved=saved)

    started = run_concurrently(lambda _worker: schedules.run_due(at=NOON), range(8), threads=8)

    assert sum(started) == 6
    assert Job.objects.count() == 6


def test_brand_with_many_reports_does_not_delay_another(brand, owner, monkeypatch):
    monkeypatch.setattr(schedules, "AT_ONCE", 4)
    saved = saved_list(owner, brand)
    for _number in range(6):
        schedule(owner, brand, saved=saved)
    other = factories.brand(name="Other", slug="other")
    schedule(staff(other, email="other@example.com"), other)

    assert schedules.run_due(at=NOON) == 3
    assert Job.objects.filter(brand=other).count() == 1
    assert schedules.run_due(at=NOON) == 4


def without_lock(monkeypatch, workers):
    """Select rows without a lock, and let all workers select before any of them continues."""
    barrier, locked = threading.Barrier(workers), schedules._locked

    def select_and_wait(rows):
        selected = locked(rows)
        with suppress(threading.BrokenBarrierError):
            barrier.wait(timeout=10)
        return selected

    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **_options: rows)
    monkeypatch.setattr(schedules, "_locked", select_and_wait)


def test_control_without_row_locks_workers_start_a_report_several_times(brand, owner, monkeypatch):
    without_lock(monkeypatch, workers=8)
    schedule(owner, brand)

    run_concurrently(lambda _worker: schedules.run_due(at=NOON), range(8), threads=8)

    assert Job.objects.count() > 1


def test_eight_workers_send_one_mail_for_each_finished_report(brand, owner):
    schedule(owner, brand)
    schedules.run_due(at=NOON)
    runner.run(Job.objects.get().pk)

    ended = run_concurrently(lambda _worker: schedules.report_ended(at=NOON), range(8), threads=8)

    assert sum(ended) == 1
    assert StaffMail.objects.filter(kind="report").count() == 1


def test_recipients_without_permission_for_the_list_get_no_mail(brand, owner):
    people = {name: staff(brand, role="manager", email=f"{name}@example.com") for name in ("stays", "left", "support")}
    people["off"] = staff(brand, is_active=False)
    people["elsewhere"] = staff(factories.brand(name="Other", slug="other"))
    schedule(owner, brand, *people.values())
    StaffRole.objects.filter(user=people["left"]).delete()
    StaffRole.objects.filter(user=people["support"]).update(role="support")

    assert [to for to, _subject, _text in run()] == ["stays@example.com"]


# --- Failures --------------------------------------------------------------------------------------------------------
def no_filter(report_schedule):
    SavedList.objects.filter(pk=report_schedule.saved_list_id).update(query={"status": ["unscanned"], "gone": ["1"]})


def no_list(report_schedule):
    report_schedule.saved_list.delete()


def no_permission(report_schedule):
    StaffRole.objects.filter(user=report_schedule.owner).update(role="support")


def unshared(report_schedule):
    SavedList.objects.filter(pk=report_schedule.saved_list_id).update(owner=staff(report_schedule.brand))


@pytest.mark.parametrize(
    ("breaks", "reason"),
    [
        (no_filter, "These filters no longer work: gone."),
        (no_list, "The saved list was deleted."),
        (no_permission, "The owner of the schedule may no longer export this list."),
        (unshared, "The saved list is no longer shared."),
    ],
)
def test_owner_gets_one_mail_per_failure_and_the_third_pauses_the_schedule(brand, owner, breaks, reason):
    report_schedule = schedule(owner, brand, staff(brand, email="colleague@example.com"))
    breaks(report_schedule)
    name = "Deleted list" if breaks is no_list else "Live codes"
    begins = f"The report “{name}” of {brand} was not sent."

    assert run() == [(*FAILED, f"{begins} {reason}")]
    assert run() == []
    assert len(run(NOON + timedelta(days=1))) == 1
    third = run(NOON + timedelta(days=2))
    assert third == [(*FAILED, f"{begins} It failed 3 times in a row and is now paused. {reason}")]
    assert run(NOON + timedelta(days=3)) == []

    report_schedule.refresh_from_db()
    assert (report_schedule.failures, report_schedule.is_paused, report_schedule.last_error, Job.objects.count()) == (
        3,
        True,
        reason,
        0,
    )
    assert AuditLogEntry.objects.filter(kind=LABEL, user=None, brand=brand).count() == 1
    if breaks is not no_permission:
        assert reason in text(browser(owner).get(address(LABEL, "change", report_schedule.pk)))


def test_failed_job_is_reported_without_data_of_its_rows(brand, owner):
    report_schedule = schedule(owner, brand)
    schedules.run_due(at=NOON)
    Job.objects.update(status="failed", log="customer anna@example.com")

    assert run() == [
        (*FAILED, f"The report “Live codes” of {brand} was not sent. The export failed; its job says why.")
    ]
    report_schedule.refresh_from_db()
    assert (report_schedule.failures, report_schedule.is_running) == (1, False)


def test_successful_report_resets_the_failure_count(brand, owner):
    report_schedule = schedule(owner, brand, failures=2, last_error="x")

    run()

    report_schedule.refresh_from_db()
    assert (report_schedule.failures, report_schedule.last_error) == (0, "")


def test_failed_report_of_a_former_colleague_goes_to_the_brands_owner(brand, owner):
    former = staff(brand, role="manager", email="former@example.com")
    schedule(former, brand)
    StaffRole.objects.filter(user=former).delete()

    assert [to for to, _subject, _text in run()] == ["owner@example.com"]


def test_report_that_cannot_start_does_not_delay_another(brand, owner):
    bad = schedule(owner, brand, saved=saved_list(owner, brand, name="Bad", query={"q": 5}))
    good = schedule(owner, brand, next_at=NOON + HOUR / 2)

    run(NOON + HOUR)

    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.failures, good.failures, good.job is None) == (1, 0, False)
