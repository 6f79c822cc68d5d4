"""Imports: every file gets a result, commits are complete or absent, brands are separate, and nothing runs twice."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from authcodes.errors import ImportRejected
from authcodes.imports import commit, retention, uploads
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import, ImportChange, ImportRow
from core.errors import Forbidden
from jobs import queue, runner
from jobs.models import Job
from tests.authcodes.imports.conftest import (
    LIST,
    RANGES,
    checked_import,
    csv_of,
    row_errors,
    run_commit,
    staff_member,
    stored_values,
    unchecked_import,
)
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.live_stack import wait_until

pytestmark = pytest.mark.usefixtures("media")


def test_committed_list_sets_product_location_and_notes_of_its_codes(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,Shelf 1,first", "A0002,,"))

    job = run_commit(upload)

    assert (upload.rows, upload.bad_rows, upload.codes, upload.status) == (2, 0, 2, "committed")
    assert (job.status, "2 codes assigned" in job.log) == ("done", True)
    assert stored_values(codes.exclude(product=None)) == [
        ("A0001", product.pk, "Shelf 1", "", "first", None),
        ("A0002", product.pk, "", "", "", None),
    ]


def test_committed_ranges_set_product_location_and_points_of_their_codes(brand, product, codes):
    upload = checked_import(brand, None, csv_of(RANGES, "SKU-A,A0001,A0010,Pune,7", "SKU-A,A0011,A0012,,"))

    run_commit(upload)

    assert (upload.rows, upload.codes, upload.status) == (2, 12, "committed")
    assert codes.filter(product=product, location="Pune", points_per_scan=7).count() == 10
    assert codes.filter(product=product, location="", points_per_scan=None).count() == 2


def test_a_range_excludes_codes_of_another_length_between_its_ends(brand, product, codes):
    factories.batch(brand, assigned=False, quantity=9, prefix="A", number_width=5, starting_number=11)

    run_commit(checked_import(brand, None, csv_of(RANGES, "SKU-A,A0001,A0002,,")))

    assert sorted(codes.filter(product=product).values_list("code", flat=True)) == ["A0001", "A0002"]


def test_bad_rows_are_skipped_on_request(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,", "B0001,,"))

    run_commit(upload, skip_bad=True)

    assert list(codes.filter(product=product).values_list("code", flat=True)) == ["A0001"]


def test_file_with_only_bad_rows_cannot_be_committed(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "B0001,,"))

    with pytest.raises(ImportRejected, match="every row has errors"):
        run_commit(upload, skip_bad=True)


def test_commit_fails_and_reports_codes_assigned_since_the_check(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,", "A0002,,"))
    codes.filter(code="A0002").update(product=factories.product(brand))
    before = stored_values(codes)

    job = run_commit(upload)

    assert (job.status, "1 code has been assigned to another product" in job.log) == ("failed", True)
    assert (stored_values(codes), ImportChange.objects.count()) == (before, 0)
    assert (upload.status, row_errors(upload)) == ("checked", {3: ("auth_code", "Auth code range already assigned")})


def test_commit_fails_if_codes_of_a_range_were_assigned_since_the_check(brand, product, codes):
    upload = checked_import(brand, None, csv_of(RANGES, "SKU-A,A0001,A0009,,", "SKU-A,A0010,A0020,,"))
    codes.filter(code="A0015").update(product=factories.product(brand))
    before = stored_values(codes)

    job = run_commit(upload)

    assert (job.status, stored_values(codes), upload.bad_rows, upload.status) == ("failed", before, 1, "checked")


def test_the_same_file_cannot_be_committed_twice(brand, product, codes):
    first, second = (checked_import(brand, product, csv_of(LIST, "A0001,,")) for _ in range(2))
    run_commit(first)

    job = run_commit(second)
    third = checked_import(brand, product, csv_of(LIST, "A0001,,"))

    assert (job.status, second.status) == ("failed", "checked")
    assert f"committed as import {first.pk}" in job.log
    assert (third.status, f"committed as import {first.pk}" in third.problem) == ("refused", True)


def test_running_a_commit_again_changes_nothing(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))
    run_commit(upload)
    codes.filter(code="A0001").update(product=None)
    changes = list(CodeChange.objects.values())
    second_job = queue.start(brand=brand, kind="commit-import", title="", parameters={"import_id": upload.pk}, by=None)

    runner.run(second_job.pk)

    second_job.refresh_from_db()
    assert codes.get(code="A0001").product is None
    assert list(CodeChange.objects.values()) == changes
    assert (second_job.status, "already been committed" in second_job.log) == ("done", True)


def test_running_a_check_again_replaces_its_rows(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))
    Import.objects.update(status="checking")
    Job.objects.update(status="queued")

    runner.run(Job.objects.get().pk)

    upload.refresh_from_db()
    assert (upload.status, upload.rows, ImportRow.objects.count()) == ("checked", 1, 1)


def waiting_locks():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return cursor.fetchone()[0]


@pytest.mark.django_db(transaction=True)
def test_check_taken_over_by_a_second_worker_stores_its_rows_once():
    """The first worker still runs, though its heartbeat is old: the second waits for it and finds the work done."""
    brand = factories.brand()
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    upload = unchecked_import(
        brand, factories.product(brand), csv_of(LIST, *[f"A{number:04d},," for number in range(1, 21)])
    )
    stored = []

    def attempt(number):
        if number == 2:
            Job.objects.update(alive_at=timezone.now() - timedelta(minutes=2))
        runner.run(Job.objects.get().pk)
        connection.close()

    with ThreadPoolExecutor() as workers:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE authcodes_authcode")  # what the check has to read
            first = workers.submit(attempt, 1)
            wait_until(lambda: waiting_locks() == 1)
            stored += ImportRow.objects.values_list("pk", flat=True)
            second = workers.submit(attempt, 2)
            wait_until(lambda: waiting_locks() == 2)
        first.result()
        second.result()

    upload.refresh_from_db()
    job = Job.objects.get()
    assert (upload.status, upload.codes, job.status, job.attempts) == ("checked", 20, "done", 2)
    assert set(ImportRow.objects.values_list("pk", flat=True)) == set(stored)


def test_a_superseded_check_stores_no_rows(brand, product, codes):
    upload = unchecked_import(brand, product, csv_of(LIST, "A0001,,"))
    Job.objects.update(status="running", attempts=1)
    superseded = runner.Run(Job.objects.get())
    Job.objects.update(attempts=2)

    with pytest.raises(runner.JobSupersededError):
        uploads.run_check(superseded)

    upload.refresh_from_db()
    assert (upload.status, ImportRow.objects.count()) == ("checking", 0)


@pytest.mark.django_db(transaction=True)
def test_concurrent_commits_of_one_import_start_one_job(brand):
    product, owner = factories.product(brand), staff_member(brand)
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"), by=owner)

    def confirm(_):
        return commit.commit(upload=Import.objects.get(pk=upload.pk), skip_bad=False, by=owner)

    outcomes = run_concurrently(confirm, range(12), threads=12)

    assert sum(isinstance(outcome, Job) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, ImportRejected) for outcome in outcomes) == 11
    assert Job.objects.filter(kind="commit-import").count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_commits_cannot_assign_the_same_codes_to_two_products(brand):
    owner = staff_member(brand)
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    lines = [f"A{number:04},," for number in range(1, 21)]
    uploads_of_both = [
        checked_import(brand, factories.product(brand), csv_of(LIST, *lines), by=owner) for _ in range(2)
    ]
    jobs = [commit.commit(upload=upload, skip_bad=False, by=owner) for upload in uploads_of_both]

    run_concurrently(lambda job: runner.run(job.pk), jobs, threads=2)

    assert sorted(Job.objects.filter(kind="commit-import").values_list("status", flat=True)) == ["done", "failed"]
    winner = Import.objects.get(status="committed")
    assert AuthCode.objects.filter(product=winner.product).count() == 20


@pytest.mark.parametrize(
    ("role", "allowed"), [("owner", True), ("manager", True), ("printer", False), ("support", False)]
)
def test_only_owners_and_managers_change_imports_of_other_staff(brand, product, codes, role, allowed):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"), by=staff_member(brand, "printer"))
    colleague = staff_member(brand, role)

    if allowed:
        assert commit.commit(upload=upload, skip_bad=False, by=colleague)
    else:
        for action in (
            lambda: commit.commit(upload=upload, skip_bad=False, by=colleague),
            lambda: commit.undo(upload=upload, by=colleague, at=timezone.now()),
            lambda: retention.discard(upload=upload, by=colleague),
        ):
            with pytest.raises(Forbidden):
                action()


def test_an_owner_of_another_brand_may_not_commit(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,,"))

    with pytest.raises(Forbidden):
        commit.commit(upload=upload, skip_bad=False, by=staff_member(factories.brand()))


def test_a_list_needs_a_product_of_its_brand(brand):
    for product in (None, factories.product(factories.brand())):
        with pytest.raises(ImportRejected, match="Choose the product"):
            uploads.upload(
                brand=brand, kind="list", product=product, file=ContentFile(b"x"), name="x", by=staff_member(brand)
            )


@pytest.mark.parametrize("lines", [2, 200])
def test_query_count_of_check_and_commit_does_not_grow_with_the_rows(
    brand, product, django_assert_max_num_queries, lines
):
    factories.batch(brand, assigned=False, quantity=lines, prefix="A")
    content = csv_of(LIST, *(f"A{number:04},," for number in range(1, lines + 1)))

    with django_assert_max_num_queries(105):  # 8 for the quotas, 9 for webhooks of the upload and its two jobs
        run_commit(checked_import(brand, product, content))

    assert connection.in_atomic_block
    assert AuthCode.objects.filter(product=product).count() == lines


def test_upload_that_cannot_be_stored_leaves_no_file(brand, product, monkeypatch, tmp_path):
    def locked(*_arguments, **_options):
        raise OperationalError

    monkeypatch.setattr(uploads, "start", locked)

    with pytest.raises(OperationalError):
        unchecked_import(brand, product, csv_of(LIST, "A0001,,"))

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert not Import.objects.exists()
