"""Exports: exact columns and rows of what the filters show, safe to open."""

import io
import zipfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.reports import columns
from brands.models.people import StaffRole
from core.spreadsheets import xlsx
from core.spreadsheets.csv_files import restored
from core.spreadsheets.report import Format
from core.spreadsheets.xlsx import Workbook
from portal.lists.selection import displayed_to
from tests.authcodes.lists.exporting import NOON, berlin, content, export, recall, rows
from tests.support import factories
from tests.support.portal import scan, staff

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("files")]


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


def cells(job, sheet=1):
    """The rows of a sheet, each a list of (kind of cell, text)."""
    archive = zipfile.ZipFile(io.BytesIO(content(job)))
    tree = ET.fromstring(archive.read(f"xl/worksheets/sheet{sheet}.xml"))  # noqa: S314 - our own file
    return [[(cell.get("t", "n"), "".join(cell.itertext())) for cell in row] for row in tree.iter(f"{CELL}row")]


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
    assert "1 row written" in job.log


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
        fields = {"points_awarded": Decimal("-0.50"), "scanned_at": NOON, "user": factories.customer(brand)}
        scan(factories.code(brand), location=text, **fields)

    job = export(brand, staff(brand), file_format="xlsx")

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


@pytest.mark.parametrize("file_format", list(Format))
def test_export_without_rows_has_its_header(file_format):
    brand = berlin()

    job = export(brand, staff(brand), file_format=file_format, query="q=nothing-begins-so")

    assert (job.status, job.done) == ("done", 0)
    assert (rows(job) if file_format == "csv" else [[text for _, text in cells(job)[0]]]) == [
        list(columns.SCANS.columns)
    ]


def test_filters_search_and_days_of_the_list_hold_for_the_file():
    brand = berlin()
    matching, other = factories.customer(brand), factories.customer(brand)
    good = scan(factories.code(brand), user=matching, scanned_at=NOON)
    scan(factories.code(brand), user=matching, scanned_at=NOON - timedelta(days=1))
    scan(factories.code(brand), user=matching, scanned_at=NOON, reason="expired", outcome="error")
    scan(factories.code(brand), user=other, scanned_at=NOON)
    days = "scanned_at_from=2026-03-01&scanned_at_to=2026-03-01"
    query = f"q={matching.email}&reason__exact=accepted&{days}&p=7"

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
    own_scan = scan(factories.code(brand))
    both = staff(brand, zebra)

    job = export(brand, both)

    assert [row[0] for row in rows(job)[1:]] == [own_scan.code]


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
