"""Imports: every file is answered, nothing is half done, no brand sees another's codes, and all can be taken back."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.db import connection, transaction
from django.test import TestCase
from django.utils import timezone
from django.utils.translation import override

from authcodes.errors import ImportRejected
from authcodes.imports import checks, commit, files, retention, uploads
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import, ImportChange, ImportRow
from authcodes.tasks import purge_files
from brands.models.people import StaffRole
from core.errors import Forbidden
from jobs import queue, runner
from jobs.models import Job
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.live_stack import wait_until

pytestmark = pytest.mark.usefixtures("media")

LIST = "auth_code,inventory_location,notes"
RANGES = "product_sku,auth_code_start,auth_code_end,location,points_per_scan"
HELD = ("code", "product_id", "inventory_location", "location", "notes", "points_per_scan")


@pytest.fixture
def product(brand):
    return factories.product(brand, sku="SKU-A")


@pytest.fixture
def codes(brand):
    """A0001 to A0020, of no product."""
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    return AuthCode.objects.filter(brand=brand)


def member(brand, role="owner"):
    person = factories.user(is_staff=True)
    StaffRole.objects.create(user=person, brand=brand, role=role)
    return person


def unchecked(brand, product, content, by=None):
    """An import whose check is yet to run; with a product it is a list."""
    content = content.encode() if isinstance(content, str) else content
    return uploads.upload(
        brand=brand,
        kind="list" if product else "ranges",
        product=product,
        file=ContentFile(content),
        name="codes.csv",
        by=by or member(brand),
    )


def uploaded(brand, product, content, by=None):
    """An import whose check has run."""
    made = unchecked(brand, product, content, by)
    runner.run(Job.objects.get(kind="check-import", parameters__import_id=made.pk).pk)
    made.refresh_from_db()
    return made


def csv_of(header, *lines):
    return "\n".join([header, *lines]) + "\n"


def committed(upload, *, skip_bad=False):
    job = commit.commit(upload=upload, skip_bad=skip_bad, by=upload.uploaded_by)
    runner.run(job.pk)
    upload.refresh_from_db()
    job.refresh_from_db()
    return job


def undone(upload):
    job = commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now())
    runner.run(job.pk)
    upload.refresh_from_db()
    job.refresh_from_db()
    return job


def errors(upload):
    rows = ImportRow.objects.filter(upload=upload).exclude(error="")
    return {row.line: (row.error_column, row.problem) for row in rows}


def held(codes):
    return list(codes.order_by("code").values_list(*HELD))


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


FORMAT = "Invalid CSV format"
REFUSED = {
    "empty lines only": (b"\n\r\n,,\n", "the file is empty"),
    "header only": (f"{LIST}\n".encode(), "the file has no rows below the header"),
    "latin-1": (f"{LIST}\nA0001,Café,\n".encode("latin-1"), "line 2 (byte 45) is not UTF-8 text"),
    "NUL": (f"{LIST}\nA0001,\0,\n".encode(), "line 2 contains a NUL"),
    "missing column": (b"auth_code,notes\nA0001,x\n", "missing: inventory_location"),
    "extra column": (f"{LIST},colour\nA0001,,,red\n".encode(), "not in the template: colour"),
    "duplicate column": (f"{LIST},notes\nA0001,,,\n".encode(), "more than once: notes"),
    "another order": (b"notes,auth_code,inventory_location\nx,A0001,\n", "in another order"),
    "no header": (b"A0001,Shelf,\nA0002,Shelf,\n", "missing: auth_code, inventory_location, notes"),
    "unclosed quote": (f'{LIST}\nA0001,"Shelf,\nA0002,,\n'.encode(), 'begins on line 2, a quote (")'),
    "endless unclosed quote": (f'{LIST}\nA0001,"x\n'.encode() + b"A0002,,\n" * 50_000, "line 2: the row has more than"),
    "200 KB cell": (f"{LIST}\nA0001,,".encode() + b"x" * 200_000, "line 2: the line has more than"),
    "20 KB cell": (f"{LIST}\nA0001,,".encode() + b"x" * 20_000, "line 2: the cell in column 3 has more than"),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(100), "this is a PNG image, not a CSV. Save it as CSV"),
    "XLSX": (b"PK\x03\x04" + bytes(100), "this is an Excel workbook (XLSX) or another ZIP archive"),
    "XLS": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "this is an old Excel workbook"),
    "the other template": (f"{RANGES}\nSKU-A,A0001,A0002,,\n".encode(), 'Choose the kind "Ranges (product_sku,'),
}


def test_a_list_uploaded_as_ranges_names_the_kind_to_choose(brand, product, codes):
    upload = uploaded(brand, None, csv_of(f"{LIST},error", "A0001,,,"))

    assert upload.status == "refused"
    assert 'Choose the kind "List of codes (auth_code,' in upload.problem


@pytest.mark.parametrize("name", REFUSED)
def test_an_unreadable_file_is_refused_by_name_and_writes_nothing(brand, product, codes, name):
    content, message = REFUSED[name]
    before = held(codes)

    upload = uploaded(brand, product, content)

    assert upload.status == "refused"
    assert upload.problem.startswith(FORMAT)
    assert message in upload.problem
    assert (held(codes), ImportRow.objects.count()) == (before, 0)
    with pytest.raises(ImportRejected):
        commit.commit(upload=upload, skip_bad=True, by=upload.uploaded_by)


def test_an_empty_file_is_refused_at_once(brand, product):
    with pytest.raises(ImportRejected, match="the file is empty"):
        uploaded(brand, product, b"")

    assert Import.objects.count() == 0


WRITTEN = {
    "BOM": f"\ufeff{LIST}\nA0001,é,n\n".encode(),
    "UTF-16": f"{LIST}\nA0001,é,n\n".encode("utf-16"),
    "semicolons": f"{LIST}\nA0001,é,n\n".replace(",", ";").encode(),
    "tabs and CRLF": f"{LIST}\r\nA0001,é,n\r\n".replace(",", "\t").encode(),
    "CR only": f"{LIST}\rA0001,é,n\r".encode(),
    "quotes, no last line end": b'"auth_code","inventory_location","notes"\n"A0001","\xc3\xa9","n"',
    "empty cells behind the last column": f"{LIST}\nA0001,é,n,,,\n".encode(),
    "blank lines": f"{LIST}\n\n,,\nA0001,é,n\n\n".encode(),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_as_spreadsheets_write_it_is_understood(brand, product, codes, name):
    committed(uploaded(brand, product, WRITTEN[name]))

    assert held(codes.exclude(product=None)) == [("A0001", product.pk, "é", "", "n", None)]


LIST_ERRORS = {
    "unknown": ("B0001,,", ("auth_code", "Code not found")),
    "other case": ("a0001,,", ("auth_code", "Code not found")),
    "too long": ("A" * 100 + ",,", ("auth_code", "Code not found")),
    "no code": (",Shelf,", ("auth_code", "The code is missing.")),
    "short row": ("A0001,Shelf", ("", f"{FORMAT}: this row has 2 cells instead of 3.")),
    "long row": ("A0001,Shelf,x,y", ("", f"{FORMAT}: this row has 4 cells instead of 3.")),
    "long location": (f"A0001,{'x' * 121},", ("inventory_location", "A location has at most 120 characters.")),
    "same code again": ("A0020,,", ("auth_code", "This code is already on line 2.")),
    "code of another product": ("A0019,,", ("auth_code", "Auth code range already assigned")),
    "another brand's code": ("Z0001,,", ("auth_code", "Code not found")),
    "formula": ('"=HYPERLINK(""x"")",,', ("auth_code", "Code not found")),
    "script": ("<script>alert(1)</script>,,", ("auth_code", "Code not found")),
    "shortened": (
        "1.23E+11,,",
        ("auth_code", checks.SHORTENED),
    ),
}


@pytest.mark.parametrize("name", LIST_ERRORS)
def test_a_bad_row_of_a_list_is_reported_and_nothing_is_written(brand, product, codes, name):
    line, error = LIST_ERRORS[name]
    codes.filter(code="A0019").update(product=factories.product(brand))
    factories.batch(factories.brand(), prefix="Z", assigned=False)
    before = held(codes)

    upload = uploaded(brand, product, csv_of(LIST, "A0020,,", line))

    assert (upload.status, upload.rows, upload.bad_rows) == ("checked", 2, 1)
    assert errors(upload) == {3: error}
    with pytest.raises(ImportRejected, match="1 rows have errors"):
        commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)
    assert held(codes) == before


RANGE_ERRORS = {
    "unknown SKU": ("SKU-B,A0001,A0002,,", ("product_sku", "Product SKU not found")),
    "SKU in another case": ("sku-a,A0001,A0002,,", ("product_sku", "Product SKU not found")),
    "no longer sold": ("SKU-OLD,A0001,A0002,,", ("product_sku", "This product is no longer sold")),
    "no SKU": (",A0001,A0002,,", ("product_sku", "Product SKU not found")),
    "another brand's SKU": ("SKU-Z,A0001,A0002,,", ("product_sku", "Product SKU not found")),
    "another brand's codes": ("SKU-A,Z0001,Z0001,,", ("auth_code_start", "Code not found")),
    "unknown start": ("SKU-A,A0000,A0002,,", ("auth_code_start", "Code not found")),
    "unknown end": ("SKU-A,A0001,A0021,,", ("auth_code_end", "Code not found")),
    "no end": ("SKU-A,A0001,,,", ("auth_code_end", "The code is missing.")),
    "reversed": ("SKU-A,A0005,A0004,,", ("auth_code_end", "The range ends before it starts.")),
    "another shape": ("SKU-A,A0001,C00001,,", ("auth_code_end", "Start and end must have the same length.")),
    "two batches": ("SKU-A,A0001,D0001,,", ("auth_code_end", "Start and end belong to different batches.")),
    "codes in use": (
        "SKU-A,A0010,A0019,,",
        ("auth_code_start", "Auth code range already assigned"),
    ),
    "half a point": (
        "SKU-A,A0001,A0002,,0.5",
        ("points_per_scan", "The points must be a whole number from 0 to 2,147,483,647."),
    ),
    "negative points": (
        "SKU-A,A0001,A0002,,-1",
        ("points_per_scan", "The points must be a whole number from 0 to 2,147,483,647."),
    ),
    "too many points": (
        "SKU-A,A0001,A0002,,2147483648",
        ("points_per_scan", "The points must be a whole number from 0 to 2,147,483,647."),
    ),
}


@pytest.mark.parametrize("name", RANGE_ERRORS)
def test_a_bad_range_is_reported_and_nothing_is_written(brand, product, codes, name):
    line, error = RANGE_ERRORS[name]
    stranger = factories.brand()
    factories.product(stranger, sku="SKU-Z")
    factories.product(brand, sku="SKU-OLD", is_active=False)
    factories.batch(stranger, prefix="Z", assigned=False)
    factories.batch(brand, prefix="C", assigned=False, number_width=5)
    factories.batch(brand, prefix="D", assigned=False)
    codes.filter(code="A0019").update(product=factories.product(brand))
    before = held(codes)

    upload = uploaded(brand, None, csv_of(RANGES, "SKU-A,A0020,A0020,,", line))

    assert (upload.bad_rows, errors(upload)) == (1, {3: error})
    with pytest.raises(ImportRejected):
        commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)
    assert held(codes) == before


def test_list_for_a_product_no_longer_sold_is_refused(brand, codes):
    old = factories.product(brand, is_active=False)

    with pytest.raises(ImportRejected, match="no longer sold"):
        unchecked(brand, old, csv_of(LIST, "A0001,,"))


def test_ranges_that_overlap_inside_the_file_are_reported(brand, product, codes):
    upload = uploaded(brand, None, csv_of(RANGES, "SKU-A,A0001,A0010,,", "SKU-A,A0011,A0020,,", "SKU-A,A0003,A0004,,"))

    assert errors(upload) == {4: ("auth_code_start", "This range overlaps with the one on line 2.")}


@pytest.fixture
def numbers(brand):
    """000001 to 000020, and 123450000000 alone of its neighbourhood."""
    factories.batch(brand, assigned=False, quantity=20, prefix="", number_width=6)
    factories.batch(brand, assigned=False, quantity=1, prefix="", number_width=12, starting_number=123450000000)
    return AuthCode.objects.filter(brand=brand)


def test_eaten_zeros_and_shortened_numbers_are_repaired_where_one_code_fits(brand, product, numbers):
    upload = uploaded(brand, product, csv_of(LIST, "7,,", '"1,2345e11",,'))

    committed(upload)

    assert (upload.repaired_rows, upload.bad_rows) == (2, 0)
    assert sorted(numbers.filter(product=product).values_list("code", flat=True)) == ["000007", "123450000000"]


def test_the_ends_of_a_range_are_repaired_too(brand, product, numbers):
    committed(uploaded(brand, None, csv_of(RANGES, "SKU-A,3,12,,")))

    assert numbers.filter(product=product, code__range=("000003", "000012")).count() == 10


def test_eaten_zeros_are_reported_where_two_codes_fit(brand, product, numbers):
    factories.batch(brand, assigned=False, quantity=20, prefix="", number_width=8)

    upload = uploaded(brand, product, csv_of(LIST, "7,,"))

    assert errors(upload) == {2: ("auth_code", checks.AMBIGUOUS)}


def test_a_code_as_written_is_not_trusted_where_a_longer_one_may_have_lost_its_zeros(brand, product, numbers):
    factories.batch(brand, assigned=False, quantity=1, prefix="", number_width=2, starting_number=10)

    doubtful = uploaded(brand, product, csv_of(LIST, "10,,"))
    with_zeros = uploaded(brand, product, csv_of(LIST, "10,,", "000011,,"))

    assert errors(doubtful) == {2: ("auth_code", checks.AMBIGUOUS)}
    assert (errors(with_zeros), with_zeros.repaired_rows) == ({}, 0)


def test_a_repaired_code_may_not_be_in_the_file_twice(brand, product, numbers):
    upload = uploaded(brand, product, csv_of(LIST, "000007,,", "7,,"))

    assert errors(upload) == {3: ("auth_code", "This code is already on line 2.")}


def test_a_shortened_number_is_never_guessed(brand, product):
    factories.batch(brand, assigned=False, quantity=20, prefix="", number_width=12, starting_number=123450000000)

    upload = uploaded(brand, product, csv_of(LIST, "1.2345E+11,,"))

    assert errors(upload) == {2: ("auth_code", checks.SHORTENED)}


def test_a_number_whose_end_was_rounded_off_is_reported_unless_others_kept_theirs(brand, product):
    factories.batch(brand, assigned=False, quantity=20, prefix="", number_width=17, starting_number=12345678901234500)

    doubtful = uploaded(brand, product, csv_of(LIST, "12345678901234500,,"))
    with_others = uploaded(brand, product, csv_of(LIST, "12345678901234500,,", "12345678901234519,,"))

    assert errors(doubtful) == {2: ("auth_code", checks.ROUNDED_OFF)}
    assert errors(with_others) == {}


def test_bad_rows_are_skipped_on_demand(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,", "B0001,,"))

    committed(upload, skip_bad=True)

    assert list(codes.filter(product=product).values_list("code", flat=True)) == ["A0001"]


def test_only_bad_rows_cannot_be_committed(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "B0001,,"))

    with pytest.raises(ImportRejected, match="no row is without errors"):
        committed(upload, skip_bad=True)


def test_codes_assigned_meanwhile_fail_the_commit_and_show_in_the_preview(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,,", "A0002,,"))
    codes.filter(code="A0002").update(product=factories.product(brand))
    before = held(codes)

    job = committed(upload)

    assert (job.status, "1 codes have been assigned to another product" in job.log) == ("failed", True)
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

    def cancelling(execute, sql, *rest):
        if sql == uploads.TURN:
            Job.objects.update(cancel_requested=True)
        return execute(sql, *rest)

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


def error_rows(upload):
    return list(csv.reader(io.StringIO("".join(files.error_csv(upload)))))


def test_the_error_file_is_the_original_with_an_error_column_and_comes_back_when_corrected(brand, product, codes):
    upload = uploaded(brand, product, csv_of(LIST, "A0001,=1+1,+note", "B0001,Shelf,", "A0003,x,y,z"))
    rows = error_rows(upload)

    assert rows == [
        ["auth_code", "inventory_location", "notes", "error"],
        ["A0001", "'=1+1", "'+note", ""],
        ["B0001", "Shelf", "", "Code not found"],
        ["A0003", "x", "y", f"{FORMAT}: this row has 4 cells instead of 3.", "z"],
    ]

    rows[2][0], rows[3] = "A0002", rows[3][:4]
    committed(uploaded(brand, product, "\n".join(",".join(row) for row in rows)))
    assert held(codes.exclude(product=None)) == [
        ("A0001", product.pk, "=1+1", "", "+note", None),
        ("A0002", product.pk, "Shelf", "", "", None),
        ("A0003", product.pk, "x", "", "y", None),
    ]


def test_cells_with_quotes_backslashes_and_line_ends_are_stored_as_they_are(brand, product, codes):
    note = 'a "quoted" \\ back\\slash {brace}, NULL\nand a line'
    content = io.StringIO()
    csv.writer(content).writerows([LIST.split(","), ["A0001", "\\N", note]])

    upload = uploaded(brand, product, content.getvalue())
    committed(upload)

    assert ImportRow.objects.get(upload=upload).values == ["A0001", "\\N", note]
    assert held(codes.exclude(product=None)) == [("A0001", product.pk, "\\N", "", note, None)]


@pytest.mark.parametrize("kind", ["list", "ranges"])
def test_a_template_is_a_header_and_two_sample_rows(kind):
    rows = list(csv.reader(io.StringIO(files.template(kind))))

    assert rows[0] == checks.COLUMNS[kind]
    assert [len(row) for row in rows] == [len(rows[0])] * 3


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


def test_errors_are_stored_in_english_as_the_specification_says_them(brand, product, codes):
    codes.filter(code="A0019").update(product=factories.product(brand))
    with override("de"):
        upload = uploaded(brand, product, csv_of(LIST, ",Shelf,", "A0019,,", "A0001,,", "A0001,,"))

    assert list(upload.lines.exclude(error="").values_list("line", "error", "error_values")) == [
        (2, "The code is missing.", {}),
        (3, "Auth code range already assigned", {}),
        (5, "This code is already on line %(line)d.", {"line": 4}),
    ]
    assert errors(upload)[5] == ("auth_code", "This code is already on line 4.")


def test_workers_forget_old_imports_by_themselves(brand, product, codes):
    uploaded(brand, product, csv_of(LIST, "A0001,,"))
    Import.objects.update(uploaded_at=timezone.now() - timedelta(days=31))

    purge_files()

    assert (ImportRow.objects.count(), Import.objects.get().status) == (0, "discarded")
