"""Jobs that change many codes: once, in portions or in one transaction."""

import pytest

from authcodes.codes import bulk_changes
from authcodes.codes.bulk_changes import Assignment, CodeChangeRequest, Kind
from authcodes.codes.ranges import resolve_range
from authcodes.models.codes import AuthCode
from jobs import runner
from jobs.models import Job
from tests.authcodes.codes.conftest import assign, changes_of
from tests.support import factories


def test_job_changes_a_code_range_only_once(batch, owner):
    product = factories.product(batch.brand)
    request = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(product, "Shelf 4", 7, "note"))
    job = bulk_changes.start_change(codes=resolve_range(batch=batch, first="2", last="9"), requested=request, by=owner)

    runner.run(job.pk)
    Job.objects.update(status="queued")
    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.percent, job.kind) == ("done", 100, "change-codes")
    assert [line.partition(" ")[2] for line in job.log.splitlines()] == [
        "8 codes changed.",
        "8 codes changed.",
    ]
    assert AuthCode.objects.filter(product=product, inventory_location="Shelf 4", points_per_scan=7).count() == 8
    assert changes_of(batch) == [("assigned", "AB-0002", "AB-0009", 8)]
    assert batch.changes.get(kind="assigned").changed_by == owner


def test_job_cancelled_before_it_starts_changes_nothing(batch, owner):
    job = bulk_changes.start_change(
        codes=resolve_range(batch=batch, first="1", last="10"),
        requested=CodeChangeRequest(Kind.DEACTIVATED, "stolen"),
        by=owner,
    )
    Job.objects.update(cancel_requested=True)

    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, AuthCode.objects.deactivated().exists()) == ("cancelled", False)


class CancelledRun(runner.Run):
    """A run that is cancelled after its first portion."""

    def progress(self, done, total):
        if done:
            raise runner.JobCancelledError
        super().progress(done, total)


def test_codes_are_deactivated_in_portions_and_a_new_attempt_continues(batch, owner, monkeypatch):
    monkeypatch.setattr(bulk_changes, "CODES_AT_ONCE", 4)
    whole = resolve_range(batch=batch, first="1", last="10")
    job = bulk_changes.start_change(codes=whole, requested=CodeChangeRequest(Kind.DEACTIVATED, "stolen"), by=owner)

    Job.objects.update(status="running", attempts=1)
    with pytest.raises(runner.JobCancelledError):
        bulk_changes.run_change(CancelledRun(Job.objects.get()))
    assert changes_of(batch) == [("deactivated", "AB-0001", "AB-0004", 4)]
    assert batch.codes.deactivated().count() == 4

    Job.objects.update(status="queued")
    runner.run(job.pk)
    job.refresh_from_db()
    assert (job.status, job.log.partition(" ")[2]) == ("done", "10 codes changed.\n")
    assert changes_of(batch) == [
        ("deactivated", "AB-0009", "AB-0010", 2),
        ("deactivated", "AB-0005", "AB-0008", 4),
        ("deactivated", "AB-0001", "AB-0004", 4),
    ]
    assert len(set(batch.changes.filter(kind="deactivated").values_list("action_id"))) == 1


def test_assignment_by_a_job_is_one_transaction(batch, owner, monkeypatch):
    monkeypatch.setattr(bulk_changes, "CODES_AT_ONCE", 4)
    request = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(factories.product(batch.brand)))
    job = bulk_changes.start_change(codes=resolve_range(batch=batch, first="1", last="10"), requested=request, by=owner)

    runner.run(job.pk)

    assert changes_of(batch) == [("assigned", "AB-0001", "AB-0010", 10)]


def test_assignment_job_fails_and_changes_nothing_if_a_code_is_assigned(batch, owner):
    request = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(factories.product(batch.brand)))
    job = bulk_changes.start_change(codes=resolve_range(batch=batch, first="1", last="10"), requested=request, by=owner)
    assign(batch, 10, 10)

    runner.run(job.pk)

    job.refresh_from_db()
    assert job.status == "failed"
    assert "Auth code range already assigned" in job.log
    assert batch.codes.filter(product__isnull=False).count() == 1
