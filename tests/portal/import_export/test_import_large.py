"""Files of reference data that one job checks and another imports: previews, errors, crashes, permissions."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from authcodes.models.products import Product
from brands.models.audit import AuditLogEntry
from core.errors import Invalid
from jobs import concurrent_progress, queue, runner, staged_uploads
from jobs.models import Job, StagedUpload
from portal.import_export import large_files, tables
from tests.support import factories
from tests.support.imports import confirm, counts, line_errors, problem, ticket_of, ticket_of_upload, upload, workbook
from tests.support.live_stack import Stack
from tests.support.portal import browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)
LABEL, CAMPAIGN = "authcodes.product", "campaigns.campaign"
PORTION = 3


@pytest.fixture(autouse=True)
def small_portions(settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(tables, "MAX_ROWS", PORTION)


@pytest.fixture
def brand(transactional_db):
    return factories.brand()


def csv_lines(*skus, title="Title"):
    return "sku,title\n" + "".join(f"{sku},{title}\n" for sku in skus)


def numbered_skus(quantity):
    return [f"S{number:03}" for number in range(quantity)]


def run_jobs():
    for job in Job.objects.unfinished().order_by("pk"):
        runner.run(job.pk)
    return Job.objects.latest("pk")


def checked_preview(user, brand, content):
    """The page of the preview, after the job has checked the file."""
    response = upload(user, LABEL, brand, content)
    assert response.status_code == 302, problem(response)
    run_jobs()
    return browser(user).get(response["Location"])


def stored_skus(brand):
    return set(Product.objects.filter(brand=brand).values_list("sku", flat=True))


def test_large_file_is_checked_and_imported_by_jobs(brand, owner):
    factories.product(brand, sku="S000", title="Title")
    factories.product(brand, sku="S001", title="Before")
    response = upload(owner, LABEL, brand, csv_lines(*numbered_skus(10)))
    waiting_page = browser(owner).get(response["Location"])
    assert "checked in the background" in text(waiting_page)
    assert "data-job=" in text(waiting_page)

    check_job = run_jobs()
    page = browser(owner).get(response["Location"])

    assert (check_job.status, check_job.done, check_job.total, check_job.created_by) == ("done", 10, 10, owner)
    assert counts(page) == {"New": 8, "Changed": 1, "Unchanged": 1}
    assert len(page.context_data["rows"]) == 9
    assert len(stored_skus(brand)) == 2

    confirmed = confirm(owner, LABEL, ticket_of(page))
    assert confirmed["Location"] == reverse("admin:jobs_job_change", args=[Job.objects.latest("pk").pk])
    assert len(stored_skus(brand)) == 2
    import_job = run_jobs()

    assert (import_job.status, import_job.done, import_job.total) == ("done", 10, 10), import_job.log
    assert "8 rows added, 1 changed." in import_job.log
    assert stored_skus(brand) == set(numbered_skus(10))
    entries = AuditLogEntry.objects.filter(kind=LABEL, brand=brand, user=owner)
    assert sorted(entries.values_list("action", flat=True)) == ["Added"] * 8 + ["Changed"]
    assert set(entries.values_list("reason", flat=True)) == {"Import of file.csv"}
    staged = StagedUpload.objects.get()
    assert (staged.status, staged.file_bytes, bool(staged.file)) == ("imported", 0, False)
    assert problem(confirm(owner, LABEL, ticket_of(page))).startswith("This preview has already been used")


def test_large_workbook_is_accepted(brand, owner):
    page = checked_preview(owner, brand, workbook(["sku", "title"], [[sku, "Title"] for sku in numbered_skus(7)]))

    confirm(owner, LABEL, ticket_of(page))
    assert run_jobs().status == "done"
    assert stored_skus(brand) == set(numbered_skus(7))


def test_errors_of_every_portion_are_listed_and_can_be_downloaded(brand, owner):
    content = csv_lines(*numbered_skus(8)) + "S001,Again\nX,\nY,=1+1\nY,Twice\n"

    page = checked_preview(owner, brand, content)

    assert counts(page) == {"New": 8, "Error": 4}
    assert line_errors(page) == {
        10: "Lines 3, 10 are for the same row.",
        11: "title: This field is required.",
        12: "Lines 12, 13 are for the same row.",
        13: "Lines 12, 13 are for the same row.",
    }
    file = b"".join(browser(owner).get(page.context_data["errors_address"]).streaming_content).decode("utf-8-sig")
    assert file.splitlines() == [
        "sku,title,error",
        'S001,Again,"10: Lines 3, 10 are for the same row."',
        "X,,11: title: This field is required.",
        'Y,\'=1+1,"12: Lines 12, 13 are for the same row."',
        'Y,Twice,"13: Lines 12, 13 are for the same row."',
    ]
    assert problem(confirm(owner, LABEL, ticket_of(page))) == "Lines of the file have errors. Nothing was imported."
    assert stored_skus(brand) == set()


def test_preview_does_not_depend_on_the_size_of_portions(brand, owner, monkeypatch):
    content = csv_lines(*numbered_skus(10))
    in_portions = checked_preview(owner, brand, content)
    monkeypatch.setattr(tables, "MAX_ROWS", 100)
    in_one_portion = checked_preview(owner, brand, content)

    for name in ("counts", "rows", "faulty"):
        assert in_portions.context_data[name] == in_one_portion.context_data[name]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (csv_lines(*numbered_skus(9)).encode() + b"A,a\0b\n", "line 11 contains a NUL character"),
        (csv_lines(*numbered_skus(9), title="x" * 9_000).encode() + b"A,\xff\xfe\n", "is not UTF-8 text"),
        (csv_lines(*numbered_skus(9)).encode() + b"A,B,C\n", "Line 11 has more cells than the header has columns."),
        (csv_lines(*numbered_skus(9)).encode() + b'A,"B\n', 'a quote (") is not closed'),
        (csv_lines(*numbered_skus(30)).encode(), "The file has more than 20 rows."),
    ],
)
def test_file_with_a_late_error_is_rejected_with_the_line(brand, owner, monkeypatch, content, message):
    monkeypatch.setattr("authcodes.admin.resources.ProductResource.max_rows", 20)
    response = upload(owner, LABEL, brand, content)
    assert response.status_code == 302

    job = run_jobs()
    page = browser(owner).get(response["Location"])

    assert job.status == "failed"
    assert message in job.log
    assert (page.status_code, message in problem(page)) == (400, True)
    assert stored_skus(brand) == set()


def test_file_above_the_maximum_of_rows_is_rejected_on_upload(brand, owner, monkeypatch):
    monkeypatch.setattr("campaigns.admin.resources.CampaignResource.max_rows", PORTION)
    response = upload(owner, CAMPAIGN, brand, "name,target_value\n" + "A,1\n" * 4)

    assert (response.status_code, problem(response)) == (
        400,
        "The file has more than 3 rows. Split it into smaller files.",
    )
    assert (StagedUpload.objects.count(), Job.objects.count()) == (0, 0)


# --- All or nothing


def test_killed_worker_leaves_nothing_and_the_next_attempt_imports_all(brand, owner, settings, tmp_path):
    page = checked_preview(owner, brand, csv_lines(*numbered_skus(12)))
    confirm(owner, LABEL, ticket_of(page))
    job = Job.objects.latest("pk")
    stack = Stack(tmp_path / "log", settings.REDIS_URL, constants={"MEDIA_ROOT": str(settings.MEDIA_ROOT)})
    worker = subprocess.run(
        [sys.executable, "-m", "tests.support.machinery.dying_import", str(job.pk), str(PORTION), "2"],
        env={**stack.environment(), "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        check=False,
    )
    assert worker.returncode == -signal.SIGKILL, worker.stderr.decode()
    job.refresh_from_db()
    assert (job.status, job.done > 0) == ("running", True)
    assert (stored_skus(brand), AuditLogEntry.objects.filter(kind=LABEL).count()) == (set(), 0)

    Job.objects.filter(pk=job.pk).update(alive_at=timezone.now() - timedelta(minutes=1))
    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.attempts) == ("done", 2), job.log
    assert stored_skus(brand) == set(numbered_skus(12))
    assert AuditLogEntry.objects.filter(kind=LABEL).count() == 12


def test_job_that_died_after_its_commit_does_not_import_twice(brand, owner):
    page = checked_preview(owner, brand, csv_lines(*numbered_skus(5)))
    confirm(owner, LABEL, ticket_of(page))
    job = run_jobs()
    Job.objects.filter(pk=job.pk).update(status="running", alive_at=timezone.now() - timedelta(minutes=1))

    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, "already been imported" in job.log) == ("done", True)
    assert AuditLogEntry.objects.filter(kind=LABEL).count() == 5


def cancel_from_outside(job):
    try:
        queue.cancel(job=job)
    finally:
        connection.close()


def test_cancelled_import_writes_nothing_and_can_be_confirmed_again(brand, owner, monkeypatch):
    page = checked_preview(owner, brand, csv_lines(*numbered_skus(9)))
    confirm(owner, LABEL, ticket_of(page))
    job = Job.objects.latest("pk")
    report_progress = concurrent_progress.report_progress

    @contextmanager
    def report_and_cancel(run):
        with report_progress(run) as progress:

            def progress_and_cancel(done, total):
                progress(done, total)
                with ThreadPoolExecutor(1) as thread:
                    thread.submit(cancel_from_outside, job).result()

            yield progress_and_cancel

    monkeypatch.setattr(concurrent_progress, "report_progress", report_and_cancel)
    run_jobs()

    job.refresh_from_db()
    assert (job.status, stored_skus(brand)) == ("cancelled", set())
    assert StagedUpload.objects.get().status == "checked"
    assert confirm(owner, LABEL, ticket_of(page)).status_code == 302


def test_rows_changed_since_the_preview_block_the_import(brand, owner):
    factories.product(brand, sku="S007", title="Before")
    page = checked_preview(owner, brand, csv_lines(*numbered_skus(9)))
    Product.objects.update(title="Somebody else's")
    confirm(owner, LABEL, ticket_of(page))

    job = run_jobs()

    assert (job.status, "The rows have changed since the preview." in job.log) == ("failed", True)
    assert stored_skus(brand) == {"S007"}
    assert StagedUpload.objects.get().status == "rejected"
    assert AuditLogEntry.objects.filter(kind=LABEL).count() == 0


def test_row_added_while_the_import_runs_fails_the_job_with_a_message(brand, owner, monkeypatch):
    page = checked_preview(owner, brand, csv_lines(*numbered_skus(6)))
    confirm(owner, LABEL, ticket_of(page))
    rows = Product.objects.none()
    monkeypatch.setattr("portal.import_export.checks._taken", lambda *_args: {})
    monkeypatch.setattr("portal.import_export.resource.TenantResource.rows", lambda _self: rows)
    factories.product(brand, sku="S005", title="Faster")

    job = run_jobs()

    assert (job.status, "A colleague has changed this at the same time." in job.log) == ("failed", True), job.log
    assert stored_skus(brand) == {"S005"}


def test_import_fails_when_the_role_was_removed_in_the_meantime(brand, owner):
    page = checked_preview(owner, brand, csv_lines(*numbered_skus(6)))
    confirm(owner, LABEL, ticket_of(page))
    owner.staff_roles.update(role="support")

    assert run_jobs().status == "failed"
    assert stored_skus(brand) == set()


# --- Ownership of an upload


def test_only_the_uploader_can_view_confirm_and_download_a_large_file(brand, owner):
    page = checked_preview(owner, brand, csv_lines(*numbered_skus(6)) + "X,\n")
    job = Job.objects.latest("pk")
    other_brand = factories.brand()

    for user in (staff(brand), staff(other_brand)):
        response = confirm(user, LABEL, ticket_of(page))
        assert (response.status_code, problem(response)) == (400, "This preview is not valid. Upload the file again.")
        assert browser(user).get(page.context_data["errors_address"]).status_code == 400
        download = browser(user).get(reverse("admin:jobs_job_download", args=[job.pk]))
        assert download.status_code in {302, 403, 404}
    assert browser(owner).get(reverse("admin:jobs_job_download", args=[job.pk])).status_code == 200


def test_later_upload_replaces_a_waiting_one_but_not_an_import_that_runs(brand, owner):
    first = checked_preview(owner, brand, csv_lines(*numbered_skus(5)))
    confirm(owner, LABEL, ticket_of(first))
    second = upload(owner, LABEL, brand, csv_lines("A", "B", "C", "D"))
    third = upload(owner, LABEL, brand, csv_lines("E"))
    run_jobs()

    assert stored_skus(brand) == set(numbered_skus(5))
    assert confirm(owner, LABEL, ticket_of_upload(second)).status_code == 400
    assert confirm(owner, LABEL, ticket_of(browser(owner).get(third["Location"]))).status_code == 302
    assert stored_skus(brand) == {*numbered_skus(5), "E"}


def test_job_of_a_replaced_file_logs_that_it_was_replaced(brand, owner):
    upload(owner, LABEL, brand, csv_lines(*numbered_skus(5)))
    upload(owner, LABEL, brand, csv_lines("E"))

    job = run_jobs()

    assert (job.status, "replaced by a later one" in job.log) == ("done", True)


def test_cancelled_check_is_rejected_and_its_expired_file_purged(brand, owner):
    response = upload(owner, LABEL, brand, csv_lines(*numbered_skus(5)))
    queue.cancel(job=Job.objects.get())

    page = browser(owner).get(response["Location"])

    assert (page.status_code, problem(page)) == (400, "The check did not finish. Upload the file again.")
    staged = StagedUpload.objects.get()
    assert staged_uploads.purge(at=staged.expires_at) == 1
    assert not staged.file.storage.exists(staged.file.name)


def test_import_cannot_start_before_the_check_has_finished(brand, owner):
    upload(owner, LABEL, brand, csv_lines(*numbered_skus(5)))
    staged = StagedUpload.objects.select_related("brand", "user").get()

    with pytest.raises(Invalid, match="still being checked"):
        large_files.start_import(staged, digest="", request_id="")
