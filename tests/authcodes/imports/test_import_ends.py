"""How an import ends: undone exactly as it was, discarded, let go with its job, forgotten after a while."""

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
from tests.authcodes.imports.conftest import LIST, RANGES, committed, csv_of, held, uploaded

pytestmark = pytest.mark.usefixtures("media")


def undone(upload):
    job = commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now())
    runner.run(job.pk)
    upload.refresh_from_db()
    job.refresh_from_db()
    return job


def test_undo_restores_exactly_what_was(brand, product, codes):
    codes.filter(code="A0001").update(product=product, inventory_location="Old", notes="old note", points_per_scan=3)
    codes.filter(code="A0002").update(inventory_location="Kept")
    before = held(codes)
    upload = uploaded(brand, product, csv_of(LIST, "A0001,New,new", "A0002,,", "A0003,New,new"))
    committed(upload)

    job = undone(upload)

    assert (job.status, "3 codes restored." in job.log) == ("done", True)
    assert (job.done, upload.status, held(codes)) == (3, "undone", before)


def test_undo_restores_ranges(brand, product, codes):
    codes.filter(code="A0005").update(product=product, location="Old", points_per_scan=3)
    before = held(codes)
    upload = uploaded(brand, None, csv_of(RANGES, "SKU-A,A0001,A0012,Pune,7"))
    committed(upload)

    assert held(codes) != before
    assert "12 codes" in undone(upload).log
    assert held(codes) == before


def test_undo_a_day_later_is_refused_and_changes_nothing(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,New,new", "A0002,,"))
    committed(upload)
    before = held(codes)

    with pytest.raises(ImportRejected, match="within 24 hours"):
        commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now() + timedelta(hours=25))

    upload.refresh_from_db()
    assert (held(codes), upload.status) == (before, "committed")


SINCE = {
    "after a scan": (lambda codes: codes.filter(code="A0002").update(scan_count=1), "have been scanned"),
    "after an edit": (lambda codes: codes.filter(code="A0001").update(notes="by hand"), "have been changed"),
}


@pytest.mark.parametrize("name", SINCE)
def test_undo_fails_and_changes_nothing(brand, product, codes, name):
    meanwhile, message = SINCE[name]
    upload = uploaded(brand, product, csv_of(LIST, "A0001,New,new", "A0002,,"))
    committed(upload)
    meanwhile(codes)
    before = held(codes)

    job = undone(upload)

    assert (job.status, message in job.log) == ("failed", True)
    assert (held(codes), upload.status) == (before, "committed")


def test_an_undo_whose_job_was_cancelled_is_let_go(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"))
    committed(upload)
    queue.cancel(job=commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now()))

    uploads.revive(upload)

    assert upload.status == "committed"
    assert undone(upload).status == "done"


def test_a_wish_to_cancel_what_is_committed_already_comes_too_late(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"))

    def cancelling(execute, sql, params, *rest):
        if (sql, params) == (LOCK_PAIR, [LockOfRow.CODE_CHANGES.value, brand.pk]):
            Job.objects.update(cancel_requested=True)
        return execute(sql, params, *rest)

    with connection.execute_wrapper(cancelling):
        ended = [committed(upload), undone(upload)]

    assert [(job.status, job.cancel_requested, job.done) for job in ended] == [("done", True, 1)] * 2


def test_an_undo_that_is_run_again_changes_nothing_more(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"))
    committed(upload)
    job = undone(upload)
    Job.objects.filter(pk=job.pk).update(status="queued")
    before = held(codes)

    runner.run(job.pk)

    assert "already been undone" in Job.objects.get(pk=job.pk).log
    assert held(codes) == before


def test_undo_happens_once(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"))
    committed(upload)
    undone(upload)

    with pytest.raises(ImportRejected):
        commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now())


def test_a_discarded_import_leaves_no_rows_and_cannot_be_committed(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"))

    retention.discard(upload=upload, by=upload.uploaded_by)

    assert (upload.status, ImportRow.objects.count()) == ("discarded", 0)
    with pytest.raises(ImportRejected):
        commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)


def test_an_import_whose_job_was_cancelled_is_let_go(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"))
    job = commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)
    queue.cancel(job=job)

    uploads.revive(upload)

    assert upload.status == "checked"
    assert commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)


def test_what_an_import_was_made_of_is_kept_for_a_while_and_then_goes(brand, product, codes, settings, tmp_path):
    settings.IMPORT_DAYS = 30
    codes.filter(code="A0001").update(notes="old")
    upload = uploaded(brand, product, csv_of(LIST, "A0001,Shelf,new"))
    committed(upload)
    before, now = held(codes), timezone.now()

    kept = retention.purge_old(at=now + timedelta(days=29))
    assert (kept, ImportRow.objects.count(), ImportChange.objects.count()) == (0, 1, 1)

    with TestCase.captureOnCommitCallbacks(execute=True):
        gone = retention.purge_old(at=now + timedelta(days=31))
    upload.refresh_from_db()
    assert (gone, retention.purge_old(at=now + timedelta(days=31))) == (1, 0)
    assert (ImportRow.objects.count(), ImportChange.objects.count()) == (0, 0)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert (upload.status, upload.codes, held(codes)) == ("committed", 1, before)


def test_an_old_file_that_cannot_be_deleted_is_tried_again(brand, product, codes, tmp_path):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"))
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


def test_an_import_that_waited_too_long_is_discarded_and_one_that_goes_on_stays(brand, product, codes):
    waiting, running = (uploaded(brand, product, csv_of(LIST, f"A000{n},,")) for n in (1, 2))
    commit.commit(upload=running, skip_bad=False, by=running.uploaded_by)

    assert [retention.purge_old(at=timezone.now() + timedelta(days=31)) for _ in range(2)] == [1, 0]

    waiting.refresh_from_db()
    assert waiting.status == "discarded"
    assert list(ImportRow.objects.values_list("upload_id", flat=True)) == [running.pk]


def test_workers_forget_old_imports_by_themselves(brand, product, codes):
    uploaded(brand, product, csv_of(LIST, "A0001,,"))
    Import.objects.update(uploaded_at=timezone.now() - timedelta(days=31))

    purge_files()

    assert (ImportRow.objects.count(), Import.objects.get().status) == (0, "discarded")
