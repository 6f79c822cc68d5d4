"""Imports: every file is answered, nothing is half done, no brand sees another's codes, and all happens once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.db import connection, transaction
from django.utils import timezone

from authcodes.errors import ImportRejected
from authcodes.imports import commit, retention, uploads
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import, ImportChange, ImportRow
from core.errors import Forbidden
from jobs import queue, runner
from jobs.models import Job
from tests.authcodes.imports.conftest import LIST, RANGES, committed, csv_of, errors, held, member, unchecked, uploaded
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.live_stack import wait_until

pytestmark = pytest.mark.usefixtures("media")


def test_a_list_gives_its_codes_product_place_and_notes(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,Shelf 1,first", "A0002,,"))

    job = committed(upload)

    assert (upload.rows, upload.bad_rows, upload.codes, upload.status) == (2, 0, 2, "committed")
    assert (job.status, "2 codes assigned" in job.log) == ("done", True)
    assert held(codes.exclude(product=None)) == [
        ("A0001", product.pk, "Shelf 1", "", "first", None),
        ("A0002", product.pk, "", "", "", None),
    ]


def test_ranges_give_their_codes_product_place_and_points(brand, product, codes):
    upload = uploaded(brand, None, csv_of(RANGES, "SKU-A,A0001,A0010,Pune,7", "SKU-A,A0011,A0012,,"))

    committed(upload)

    assert (upload.rows, upload.codes, upload.status) == (2, 12, "committed")
    assert codes.filter(product=product, location="Pune", points_per_scan=7).count() == 10
    assert codes.filter(product=product, location="", points_per_scan=None).count() == 2


def test_a_range_touches_no_code_of_another_length_between_its_ends(brand, product, codes):
    factories.batch(brand, assigned=False, quantity=9, prefix="A", number_width=5, starting_number=11)

    committed(uploaded(brand, None, csv_of(RANGES, "SKU-A,A0001,A0002,,")))

    assert sorted(codes.filter(product=product).values_list("code", flat=True)) == ["A0001", "A0002"]


def test_bad_rows_are_skipped_on_demand(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,", "B0001,,"))

    committed(upload, skip_bad=True)

    assert list(codes.filter(product=product).values_list("code", flat=True)) == ["A0001"]


def test_only_bad_rows_cannot_be_committed(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "B0001,,"))

    with pytest.raises(ImportRejected, match="every row has errors"):
        committed(upload, skip_bad=True)


def test_codes_assigned_meanwhile_fail_the_commit_and_show_in_the_preview(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,", "A0002,,"))
    codes.filter(code="A0002").update(product=factories.product(brand))
    before = held(codes)

    job = committed(upload)

    assert (job.status, "1 code has been assigned to another product" in job.log) == ("failed", True)
    assert (held(codes), ImportChange.objects.count()) == (before, 0)
    assert (upload.status, errors(upload)) == ("checked", {3: ("auth_code", "Auth code range already assigned")})


def test_ranges_assigned_meanwhile_fail_the_commit(brand, product, codes):
    upload = uploaded(brand, None, csv_of(RANGES, "SKU-A,A0001,A0009,,", "SKU-A,A0010,A0020,,"))
    codes.filter(code="A0015").update(product=factories.product(brand))
    before = held(codes)

    job = committed(upload)

    assert (job.status, held(codes), upload.bad_rows, upload.status) == ("failed", before, 1, "checked")


def test_the_same_file_is_not_committed_twice(brand, product, codes):
    first, second = (uploaded(brand, product, csv_of(LIST, "A0001,,")) for _ in range(2))
    committed(first)

    job = committed(second)
    third = uploaded(brand, product, csv_of(LIST, "A0001,,"))

    assert (job.status, second.status) == ("failed", "checked")
    assert f"committed as import {first.pk}" in job.log
    assert (third.status, f"committed as import {first.pk}" in third.problem) == ("refused", True)


def test_a_commit_that_is_run_again_does_nothing_more(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"))
    committed(upload)
    again = queue.start(brand=brand, kind="commit-import", title="", parameters={"import_id": upload.pk}, by=None)

    runner.run(again.pk)

    again.refresh_from_db()
    assert (again.status, "already been committed" in again.log) == ("done", True)


def test_a_check_that_is_run_again_begins_anew(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"))
    Import.objects.update(status="checking")
    Job.objects.update(status="queued")

    runner.run(Job.objects.get().pk)

    upload.refresh_from_db()
    assert (upload.status, upload.rows, ImportRow.objects.count()) == ("checked", 1, 1)


def refused_locks():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return cursor.fetchone()[0]


@pytest.mark.django_db(transaction=True)
def test_a_check_whose_job_is_taken_over_while_it_goes_on_is_neither_repeated_nor_lost():
    """A worker that gave no sign for long, though it lives: the other one waits for it, and finds its work done."""
    brand = factories.brand()
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    upload = unchecked(brand, factories.product(brand), csv_of(LIST, *[f"A{number:04d},," for number in range(1, 21)]))
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
            wait_until(lambda: refused_locks() == 1)
            stored += ImportRow.objects.values_list("pk", flat=True)
            second = workers.submit(attempt, 2)
            wait_until(lambda: refused_locks() == 2)
        first.result()
        second.result()

    upload.refresh_from_db()
    job = Job.objects.get()
    assert (upload.status, upload.codes, job.status, job.attempts) == ("checked", 20, "done", 2)
    assert set(ImportRow.objects.values_list("pk", flat=True)) == set(stored)


def test_a_check_that_was_taken_over_stores_no_more_rows(brand, product, codes):
    upload = unchecked(brand, product, csv_of(LIST, "A0001,,"))
    Job.objects.update(status="running", attempts=1)
    older = runner.Run(Job.objects.get())
    Job.objects.update(attempts=2)

    with pytest.raises(runner.JobSupersededError):
        uploads.run_check(older)

    upload.refresh_from_db()
    assert (upload.status, ImportRow.objects.count()) == ("checking", 0)


@pytest.mark.django_db(transaction=True)
def test_a_commit_confirmed_by_many_at_once_happens_once(brand):
    product, owner = factories.product(brand), member(brand)
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"), by=owner)

    def confirm(_):
        return commit.commit(upload=Import.objects.get(pk=upload.pk), skip_bad=False, by=owner)

    outcomes = at_once(confirm, range(12), threads=12)

    assert sum(isinstance(outcome, Job) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, ImportRejected) for outcome in outcomes) == 11
    assert Job.objects.filter(kind="commit-import").count() == 1


@pytest.mark.django_db(transaction=True)
def test_imports_that_want_the_same_codes_for_two_products_cannot_both_have_them(brand):
    owner = member(brand)
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    lines = [f"A{number:04},," for number in range(1, 21)]
    both = [uploaded(brand, factories.product(brand), csv_of(LIST, *lines), by=owner) for _ in range(2)]
    ready = [commit.commit(upload=upload, skip_bad=False, by=owner) for upload in both]

    at_once(lambda job: runner.run(job.pk), ready, threads=2)

    assert sorted(Job.objects.filter(kind="commit-import").values_list("status", flat=True)) == ["done", "failed"]
    winner = Import.objects.get(status="committed")
    assert AuthCode.objects.filter(product=winner.product).count() == 20


@pytest.mark.parametrize(("role", "may"), [("owner", True), ("manager", True), ("printer", False), ("support", False)])
def test_only_owners_and_managers_commit_what_somebody_else_uploaded(brand, product, codes, role, may):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"), by=member(brand, "printer"))
    other = member(brand, role)

    if may:
        assert commit.commit(upload=upload, skip_bad=False, by=other)
    else:
        for act in (
            lambda: commit.commit(upload=upload, skip_bad=False, by=other),
            lambda: commit.undo(upload=upload, by=other, at=timezone.now()),
            lambda: retention.discard(upload=upload, by=other),
        ):
            with pytest.raises(Forbidden):
                act()


def test_an_owner_of_another_brand_may_not_commit(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,"))

    with pytest.raises(Forbidden):
        commit.commit(upload=upload, skip_bad=False, by=member(factories.brand()))


def test_a_list_needs_a_product_of_its_brand(brand):
    for product in (None, factories.product(factories.brand())):
        with pytest.raises(ImportRejected, match="Choose the product"):
            uploads.upload(
                brand=brand, kind="list", product=product, file=ContentFile(b"x"), name="x", by=member(brand)
            )


@pytest.mark.parametrize("lines", [2, 200])
def test_checking_and_committing_a_list_take_as_many_statements_for_any_number_of_rows(
    brand, product, django_assert_max_num_queries, lines
):
    factories.batch(brand, assigned=False, quantity=lines, prefix="A")
    content = csv_of(LIST, *(f"A{number:04},," for number in range(1, lines + 1)))

    with django_assert_max_num_queries(104):  # 8 ask the quotas, 9 webhooks of the upload and its two jobs
        committed(uploaded(brand, product, content))

    assert connection.in_atomic_block
    assert AuthCode.objects.filter(product=product).count() == lines
