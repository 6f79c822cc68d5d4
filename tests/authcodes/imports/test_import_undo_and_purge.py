"""The ends of an import: undone exactly, discarded, released when its job is cancelled, purged after a while."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import TestCase
from django.utils import timezone

from authcodes.errors import ImportRejected
from authcodes.imports import commit, retention, uploads
from authcodes.models.imports import Import, ImportChange, ImportRow
from authcodes.tasks import purge_files
from core.db.advisory_locks import LOCK_PAIR, LockOfRow
from jobs import queue, runner
from jobs.models import Job
from tests.authcodes.imports.conftest import (
    LIST,
    RANGES,
    checked_import,
    csv_of,
    run_commit,
    stored_values,
    unchecked_import,
)

pytestmark = pytest.mark.usefixtures("media")


def run_undo(upload):
    job = commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now())
    runner.run(job.pk)
    upload.refresh_from_db()
    job.refresh_from_db()
    return job


def test_undo_restores_the_previous_values_exactly(brand, product, codes):
    codes.filter(code="A0001").update(product=product, inventory_location="Old", notes="old note", points_per_scan=3)
    codes.filter(code="A0002").update(inventory_location="Kept")
    before = stored_values(codes)
    upload = checked_import(brand, product, csv_of(LIST, "A0001,New,new", "A0002,,", "A0003,New,new"))
    run_commit(upload)

    job = run_undo(upload)

    assert (job.status, "3 codes restored." in job.log) == ("done", True)
    assert (job.done, upload.status, stored_values(codes)) == (3, "undone", before)


def test_undo_restores_ranges(brand, product, codes):
    codes.filter(code="A0005").update(product=product, location="Old", points_per_scan=3)
    before = stored_values(codes)
    upload = checked_import(brand, None, csv_of(RANGES, "SKU-A,A0001,A0012,Pune,7"))
    run_commit(upload)

    assert stored_values(codes) != before
    assert "12 codes" in run_undo(upload).log
    assert stored_values(codes) == before


def test_undo_after_a_day_is_rejected_and_changes_nothing(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,New,new", "A0002,,"))
    run_commit(upload)
    before = stored_values(codes)

    with pytest.raises(ImportRejected, match="within 24 hours"):
        commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now() + timedelta(hours=25))

    upload.refresh_from_db()
    assert (stored_values(codes), upload.status) == (before, "committed")


CHANGES_BEFORE_UNDO = {
    "after a scan": (lambda codes: codes.filter(code="A0002").update(scan_count=1), "have been scanned"),
    "after an edit": (lambda codes: codes.filter(code="A0001").update(notes="by hand"), "have been changed"),
}


@pytest.mark.parametrize("name", CHANGES_BEFORE_UNDO)
def test_undo_after_a_scan_or_an_edit_fails_and_changes_nothing(brand, product, codes, name):
    change, message = CHANGES_BEFORE_UNDO[name]
    upload = checked_import(brand, product, csv_of(LIST, "A0001,New,new", "A0002,,"))
    run_commit(upload)
    change(codes)
    before = stored_values(codes)

    job = run_undo(upload)

    assert (job.status, message in job.log) == ("failed", True)
    assert (stored_values(codes), upload.status) == (before, "committed")


def test_code_that_was_only_looked_up_is_still_unassigned(api, brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))
    run_commit(upload)
    assert api.post("auth-codes/validate", {"code": "A0001"}).json()["valid"] is True

    assert (run_undo(upload).status, upload.status) == ("done", "undone")


def test_import_stays_committed_when_its_undo_job_is_cancelled(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))
    run_commit(upload)
    queue.cancel(job=commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now()))

    uploads.reset_stuck(upload)

    assert upload.status == "committed"
    assert run_undo(upload).status == "done"


def test_cancel_request_during_the_final_write_has_no_effect(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))

    def request_cancel(execute, sql, params, *args):
        if (sql, params) == (LOCK_PAIR, [LockOfRow.CODE_CHANGES.value, brand.pk]):
            Job.objects.update(cancel_requested=True)
        return execute(sql, params, *args)

    with connection.execute_wrapper(request_cancel):
        ended = [run_commit(upload), run_undo(upload)]

    assert [(job.status, job.cancel_requested, job.done) for job in ended] == [("done", True, 1)] * 2


def test_running_an_undo_again_changes_nothing(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))
    run_commit(upload)
    job = run_undo(upload)
    Job.objects.filter(pk=job.pk).update(status="queued")
    before = stored_values(codes)

    runner.run(job.pk)

    assert "already been undone" in Job.objects.get(pk=job.pk).log
    assert stored_values(codes) == before


def test_an_import_cannot_be_undone_twice(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))
    run_commit(upload)
    run_undo(upload)

    with pytest.raises(ImportRejected):
        commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now())


def test_a_discarded_import_leaves_no_rows_and_cannot_be_committed(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))

    retention.discard(upload=upload, by=upload.uploaded_by)

    assert (upload.status, ImportRow.objects.count()) == ("discarded", 0)
    with pytest.raises(ImportRejected):
        commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)


def test_import_can_be_committed_again_after_its_commit_job_is_cancelled(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))
    job = commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)
    queue.cancel(job=job)

    uploads.reset_stuck(upload)

    assert upload.status == "checked"
    assert commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)


def test_files_and_rows_of_imports_are_purged_after_the_retention_period(brand, product, codes, settings, tmp_path):
    settings.IMPORT_DAYS = 30
    codes.filter(code="A0001").update(notes="old")
    upload = checked_import(brand, product, csv_of(LIST, "A0001,Shelf,new"))
    run_commit(upload)
    before, now = stored_values(codes), timezone.now()

    purged_early = retention.purge_old(at=now + timedelta(days=29))
    assert (purged_early, ImportRow.objects.count(), ImportChange.objects.count()) == (0, 1, 1)

    with TestCase.captureOnCommitCallbacks(execute=True):
        purged_later = retention.purge_old(at=now + timedelta(days=31))
    upload.refresh_from_db()
    assert (purged_later, retention.purge_old(at=now + timedelta(days=31))) == (1, 0)
    assert (ImportRow.objects.count(), ImportChange.objects.count()) == (0, 0)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert (upload.status, upload.codes, stored_values(codes)) == ("committed", 1, before)


def test_file_that_could_not_be_deleted_is_deleted_by_the_next_purge(brand, product, codes, tmp_path):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))
    [path] = [path for path in tmp_path.rglob("*") if path.is_file()]
    path.unlink()
    (path / "in the way").mkdir(parents=True)
    later = timezone.now() + timedelta(days=31)

    with TestCase.captureOnCommitCallbacks(execute=True):
        retention.purge_old(at=later)
    upload.refresh_from_db()
    assert (upload.status, ImportRow.objects.count(), bool(upload.file)) == ("discarded", 0, True)

    (path / "in the way").rmdir()
    with TestCase.captureOnCommitCallbacks(execute=True):
        retention.purge_old(at=later)
    upload.refresh_from_db()
    assert (bool(upload.file), path.exists()) == (False, False)


def test_purge_discards_waiting_imports_but_not_those_being_committed(brand, product, codes):
    waiting, running = (checked_import(brand, product, csv_of(LIST, f"A000{n},,")) for n in (1, 2))
    commit.commit(upload=running, skip_bad=False, by=running.uploaded_by)

    assert [retention.purge_old(at=timezone.now() + timedelta(days=31)) for _ in range(2)] == [1, 0]

    waiting.refresh_from_db()
    assert waiting.status == "discarded"
    assert list(ImportRow.objects.values_list("upload_id", flat=True)) == [running.pk]


def test_import_whose_job_was_cancelled_is_purged_too(brand, product, codes):
    """Nobody opened it since, so its state still says that it is being checked, or committed."""
    checking = unchecked_import(brand, product, csv_of(LIST, "A0001,,"))
    committing = checked_import(brand, product, csv_of(LIST, "A0002,,"))
    jobs = [Job.objects.get(parameters__import_id=checking.pk)]
    jobs.append(commit.commit(upload=committing, skip_bad=False, by=committing.uploaded_by))
    for job in jobs:
        queue.cancel(job=job)

    assert [retention.purge_old(at=timezone.now() + timedelta(days=31)) for _ in range(3)] == [1, 1, 0]

    assert ImportRow.objects.count() == 0
    states = Import.objects.order_by("pk").values_list("status", "file")
    assert list(states) == [("refused", ""), ("discarded", "")]


def test_periodic_task_purges_old_imports(brand, product, codes):
    checked_import(brand, product, csv_of(LIST, "A0001,,"))
    Import.objects.update(uploaded_at=timezone.now() - timedelta(days=31))

    purge_files()

    assert (ImportRow.objects.count(), Import.objects.get().status) == (0, "discarded")
