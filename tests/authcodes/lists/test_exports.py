"""Exports: exact columns and rows of what the filters show, safe to open, whole or not at all."""

import csv
import io
import zipfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest
from django.db import connection

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.recalls import affected, recalls
from authcodes.reports import columns
from brands.models.people import StaffRole
from core.spreadsheets import xlsx
from core.spreadsheets.csv_files import restored
from core.spreadsheets.report import Format
from core.spreadsheets.xlsx import Workbook
from jobs import file_exports, queue, runner
from jobs.models import Job
from portal.lists.selection import displayed_to
from tests.support import factories
from tests.support.portal import scan, staff

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 3, 1, 11, 0, tzinfo=UTC)
DANGEROUS = [
    "=1+1",
    "+1",
    "-1",
    "@A1",
    "\t=1",
    "\r=1",
    "\n=1",
    "|x",
    "%x",
    "=1",
    "+1",
    "-1",
    "@A1",
    "  =1",
    "\u200b=1",
    "'=1",
]
CELL = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture(autouse=True)
def files(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def export(brand, by, kind="export-scans", query="", wanted="csv", **more):
    parameters = {"query": query, "format": wanted, "time_zone": "UTC", **more}
    job = queue.start(brand=brand, kind=kind, title="Export", parameters=parameters, by=by)
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def content(job):
    with job.result.open("rb") as file:
        return file.read()


def rows(job):
    return list(csv.reader(io.StringIO(content(job).decode(), newline="")))


def cells(job, sheet=1):
    """The rows of a sheet, each a list of (kind of cell, text)."""
    archive = zipfile.ZipFile(io.BytesIO(content(job)))
    tree = ET.fromstring(archive.read(f"xl/worksheets/sheet{sheet}.xml"))  # noqa: S314 - our own file
    return [[(cell.get("t", "n"), "".join(cell.itertext())) for cell in row] for row in tree.iter(f"{CELL}row")]


def berlin():
    return factories.brand(time_zone="Europe/Berlin", slug="acme")


def test_scan_report_has_the_columns_and_rows_of_the_specification():
    brand = berlin()
    customer = factories.customer(brand, email="ann@example.com")
    code = factories.code(brand, product=factories.product(brand, title="Tea, green"))
    scan(code, user=customer, location="Köln, NRW", points_awarded=Decimal("12.50"), scanned_at=NOON)

    job = export(brand, staff(brand))

    assert rows(job) == [
        ["auth_code", "product", "scan_date", "customer_email", "location", "points_awarded"],
        [code.code, "Tea, green", "2026-03-01T12:00:00+01:00", "ann@example.com", "Köln, NRW", "12.5"],
    ]
    assert (job.status, job.done, job.total) == ("done", 1, 1)
    assert job.result_name.startswith("scans-acme-")
    assert "1 rows written" in job.log


def test_every_cell_of_text_is_quoted():
    brand = berlin()
    scan(factories.code(brand, assigned=False), scanned_at=NOON, location="")

    line = content(export(brand, staff(brand))).decode().splitlines()[1]

    assert line.endswith('"","2026-03-01T12:00:00+01:00","","","0"')


def test_unscanned_codes_have_the_columns_and_rows_of_the_specification():
    brand = berlin()
    fresh = factories.code(brand, at=NOON, expiration_date=date(2099, 12, 31))
    expired = factories.expired_code(brand)
    off, recalled, scanned = (factories.code(brand) for _ in range(3))
    factories.deactivate(codes=[off], at=NOON)
    recall(recalled.batch)
    AuthCode.objects.filter(pk=scanned.pk).update(scan_count=1)
    AuthCode.objects.update(created_at=NOON)

    job = export(brand, staff(brand), kind="export-unscanned")

    header, *found = rows(job)
    assert header == ["auth_code", "product", "created_date", "expiration_date", "status"]
    made = "2026-03-01T12:00:00+01:00"
    assert found == [
        [recalled.code, recalled.product.title, made, "", "Recalled"],
        [off.code, off.product.title, made, "", "Deactivated"],
        [expired.code, expired.product.title, made, str(expired.batch.expiration_date), "Expired"],
        [fresh.code, fresh.product.title, made, "2099-12-31", "Unscanned"],
    ]


@pytest.mark.parametrize("text", DANGEROUS)
def test_no_cell_is_taken_for_a_formula_and_each_comes_back(text):
    brand = berlin()
    code = factories.code(brand, product=factories.product(brand, title=text))
    scan(code, location=text)

    (_, row) = rows(export(brand, staff(brand)))

    assert row[1] == row[4] == f"'{text}"
    assert restored(row[1]) == text


def test_harmless_text_is_left_alone():
    brand = berlin()
    scan(factories.code(brand), location='O\'Brien, "the" 100 % town\nline two')

    assert rows(export(brand, staff(brand)))[1][4] == 'O\'Brien, "the" 100 % town\nline two'


def test_workbook_holds_text_and_numbers_and_no_formula():
    brand = berlin()
    for text in ["=1+1", "a<b>&\"c'", "_x0041_ \x01", " wide "]:
        about = {"points_awarded": Decimal("-0.50"), "scanned_at": NOON, "user": factories.customer(brand)}
        scan(factories.code(brand), location=text, **about)

    job = export(brand, staff(brand), wanted="xlsx")

    header, *found = cells(job)
    assert [text for _, text in header] == list(columns.SCANS.columns)
    assert {kind for row in found for kind, _ in row} == {"inlineStr", "n"}
    assert {row[4][1] for row in found} == {"=1+1", "a<b>&\"c'", "_x005F_x0041_ _x0001_", " wide "}
    assert found[0][5] == ("n", "-0.5")
    assert found[0][2][1] == "2026-03-01T12:00:00+01:00"
    assert job.result_name.endswith(".xlsx")


def test_workbook_goes_on_in_a_new_sheet(monkeypatch):
    monkeypatch.setattr(xlsx, "ROWS_PER_SHEET", 3)
    file = io.BytesIO()

    with Workbook(file, columns=["a", "n"], numbers=["n"]) as made:
        for number in range(5):
            made.add([f"row {number}", str(number)])

    archive = zipfile.ZipFile(file)
    sheets = [ET.fromstring(archive.read(f"xl/worksheets/sheet{n}.xml")) for n in (1, 2, 3)]  # noqa: S314
    assert [["".join(row.itertext()) for row in sheet.iter(f"{CELL}row")] for sheet in sheets] == [
        ["an", "row 00", "row 11"],
        ["an", "row 22", "row 33"],
        ["an", "row 44"],
    ]
    assert archive.read("xl/workbook.xml").decode().count("<sheet ") == 3
    assert archive.testzip() is None


@pytest.mark.parametrize("wanted", list(Format))
def test_export_without_rows_has_its_header(wanted):
    brand = berlin()

    job = export(brand, staff(brand), wanted=wanted, query="q=nothing-begins-so")

    assert (job.status, job.done) == ("done", 0)
    assert (rows(job) if wanted == "csv" else [[text for _, text in cells(job)[0]]]) == [list(columns.SCANS.columns)]


def test_filters_search_and_days_of_the_list_hold_for_the_file():
    brand = berlin()
    wanted, other = factories.customer(brand), factories.customer(brand)
    good = scan(factories.code(brand), user=wanted, scanned_at=NOON)
    scan(factories.code(brand), user=wanted, scanned_at=NOON - timedelta(days=1))
    scan(factories.code(brand), user=wanted, scanned_at=NOON, reason="expired", outcome="error")
    scan(factories.code(brand), user=other, scanned_at=NOON)
    days = "scanned_at_from=2026-03-01&scanned_at_to=2026-03-01"
    query = f"q={wanted.email}&reason__exact=accepted&{days}&p=7"

    job = export(brand, staff(brand), query=query)

    assert [row[0] for row in rows(job)[1:]] == [good.code]


def test_days_are_the_brands_own():
    brand = berlin()
    late = datetime(2026, 2, 28, 23, 30, tzinfo=UTC)  # already March in Berlin
    scan(factories.code(brand), scanned_at=late)

    found = [
        len(rows(export(brand, staff(brand), query=f"scanned_at_from={day}&scanned_at_to={day}"))) - 1
        for day in ("2026-02-28", "2026-03-01")
    ]

    assert found == [0, 1]


def test_rows_come_in_the_lists_order():
    brand = berlin()
    made = [scan(factories.code(brand), scanned_at=NOON + timedelta(minutes=n)) for n in range(3)]

    assert [row[0] for row in rows(export(brand, staff(brand)))[1:]] == [one.code for one in reversed(made)]


def test_file_holds_rows_of_its_own_brand_only():
    brand, zebra = berlin(), factories.brand()
    scan(factories.code(zebra), location="zebra town")
    mine = scan(factories.code(brand))
    both = staff(brand, zebra)

    job = export(brand, both)

    assert [row[0] for row in rows(job)[1:]] == [mine.code]


@pytest.mark.parametrize("kind", ["export-scans", "export-unscanned"])
def test_who_may_not_see_the_brand_any_more_gets_no_file(kind):
    brand, zebra = berlin(), factories.brand()
    scan(factories.code(zebra), location="zebra town")

    job = export(zebra, staff(brand), kind=kind)

    assert (job.status, job.result.name) == ("failed", "")
    assert "no longer export" in job.log


def test_printers_and_support_export_no_customers():
    brand = berlin()
    roles = {role: export(brand, staff(brand, role=role)).status for role in ("owner", "manager", "printer", "support")}

    assert roles == {"owner": "done", "manager": "done", "printer": "failed", "support": "failed"}


def test_another_brands_customer_is_not_named():
    brand = berlin()
    stranger = factories.customer(factories.brand())
    scan(factories.code(brand), user=stranger, outcome="error", reason="other_brand")

    (_, row) = rows(export(brand, staff(brand)))

    assert row[3] == ""


def test_what_the_list_shows_is_what_the_worker_asks_for():
    brand = berlin()
    StaffRole.objects.create(user=(person := staff(brand)), brand=factories.brand(), role="support")
    scans = [scan(factories.code(brand)) for _ in range(40)]

    assert set(displayed_to(person, Scan, "")) == set(scans)


def test_affected_customers_are_listed_once_per_code():
    brand = berlin()
    ann, bob = factories.customer(brand, email="ann@example.com"), factories.customer(brand, email="bob@example.com")
    batch = factories.batch(brand, quantity=2)
    one, two = batch.codes.order_by("pk")
    scan(one, user=ann, scanned_at=NOON, location="Bonn")
    scan(one, user=ann, scanned_at=NOON + timedelta(days=1), location="Köln", outcome="warning", reason="recalled")
    scan(two, user=ann, scanned_at=NOON)
    scan(two, user=bob, scanned_at=NOON)
    scan(two, scanned_at=NOON)
    scan(factories.code(brand), user=bob)
    scan(one, user=factories.customer(factories.brand()), outcome="error", reason="other_brand")
    job = affected.start_affected(recall=recall(batch), file_format=Format.CSV, by=staff(brand))
    runner.run(job.pk)

    job.refresh_from_db()
    moment = "2026-03-01T12:00:00+01:00"
    assert rows(job) == [
        ["customer_email", "auth_code", "product", "scan_date", "location"],
        ["ann@example.com", one.code, batch.product.title, moment, "Bonn"],
        ["ann@example.com", two.code, batch.product.title, moment, ""],
        ["bob@example.com", two.code, batch.product.title, moment, ""],
    ]


@pytest.mark.parametrize("wanted", list(Format))
def test_cancelled_half_way_leaves_no_file_on_offer(wanted, monkeypatch, files):
    monkeypatch.setattr(file_exports, "PROGRESS_SECONDS", 0)
    monkeypatch.setattr(file_exports, "ASK_EVERY", 2)
    brand = berlin()
    for _ in range(6):
        scan(factories.code(brand))
    told = runner.Run.progress

    def tell(run, done, total):
        if done == 4:
            queue.cancel(job=run.job)
        told(run, done, total)

    monkeypatch.setattr(runner.Run, "progress", tell)

    job = export(brand, staff(brand), wanted=wanted)

    assert (job.status, job.result.name, job.done) == ("cancelled", "", 4)
    assert not [path for path in files.rglob("*") if path.is_file()]
    assert connection_count() == 1


def test_a_crash_half_way_leaves_no_file_on_offer(monkeypatch, files):
    brand = berlin()
    scan(factories.code(brand))

    def crash(*_):
        raise MemoryError

    monkeypatch.setattr(file_exports, "write_csv", crash)

    job = export(brand, staff(brand))

    assert (job.status, job.result.name) == ("failed", "")
    assert not [path for path in files.rglob("*") if path.is_file()]


def test_long_exports_outlast_the_statement_timeout():
    brand = berlin()

    with file_exports.separate_connection(brand) as own:
        assert own.execute("SHOW statement_timeout").fetchone() == ("0",)
        assert own.execute("SHOW TimeZone").fetchone() == ("Europe/Berlin",)


def test_job_of_a_recall_that_is_gone_fails_with_words():
    brand = berlin()
    job = Job.objects.create(brand=brand, kind="export-affected", title="x", parameters={"recall": 0, "format": "csv"})

    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, "has been withdrawn" in job.log) == ("failed", True)


def recall(batch):
    told = dict.fromkeys(("recall_id", "contact", "message", "reason"), "x")
    return recalls.recall_batch(batch=batch, at=NOON, **told)


def connection_count():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return cursor.fetchone()[0]
