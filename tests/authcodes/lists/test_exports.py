"""Exports: exact columns, the rows of the filtered list, and files that are safe to open in spreadsheets."""

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
from tests.authcodes.lists.exporting import NOON, berlin_brand, content, export, recall, rows
from tests.support import factories
from tests.support.portal import scan, staff

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("files")]


FORMULA_TEXTS = [
    "=1+1",
    "+1",
    "-1",
    "@A1",
    "\t=1",
    "\r=1",
    "\n=1",
    "|x",
    "%x",
    "\uff1d1",  # the full-width = + - @
    "\uff0b1",
    "\uff0d1",
    "\uff20A1",
    "  =1",
    "\u200b=1",
    "'=1",
]
CELL = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def cells(job, sheet=1):
    """The rows of a sheet, each a list of (cell type, text)."""
    archive = zipfile.ZipFile(io.BytesIO(content(job)))
    tree = ET.fromstring(archive.read(f"xl/worksheets/sheet{sheet}.xml"))  # noqa: S314 - our own file
    return [[(cell.get("t", "n"), "".join(cell.itertext())) for cell in row] for row in tree.iter(f"{CELL}row")]


def test_scan_report_has_the_columns_and_rows_of_the_specification():
    brand = berlin_brand()
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


def test_every_text_cell_of_a_csv_is_quoted():
    brand = berlin_brand()
    scan(factories.code(brand, assigned=False), scanned_at=NOON, location="")

    line = content(export(brand, staff(brand))).decode().splitlines()[1]

    assert line.endswith('"","2026-03-01T12:00:00+01:00","","","0"')


def test_unscanned_codes_have_the_columns_and_rows_of_the_specification():
    brand = berlin_brand()
    unscanned = factories.code(brand, at=NOON, expiration_date=date(2099, 12, 31))
    expired = factories.expired_code(brand)
    deactivated, recalled, scanned = (factories.code(brand) for _ in range(3))
    factories.deactivate(codes=[deactivated], at=NOON)
    recall(recalled.batch)
    AuthCode.objects.filter(pk=scanned.pk).update(scan_count=1)
    AuthCode.objects.update(created_at=NOON)

    job = export(brand, staff(brand), kind="export-unscanned")

    header, *lines = rows(job)
    assert header == ["auth_code", "product", "created_date", "expiration_date", "status"]
    created = "2026-03-01T12:00:00+01:00"
    assert lines == [
        [recalled.code, recalled.product.title, created, "", "Recalled"],
        [deactivated.code, deactivated.product.title, created, "", "Deactivated"],
        [expired.code, expired.product.title, created, str(expired.batch.expiration_date), "Expired"],
        [unscanned.code, unscanned.product.title, created, "2099-12-31", "Unscanned"],
    ]


@pytest.mark.parametrize("text", FORMULA_TEXTS)
def test_formula_texts_are_escaped_in_a_csv_and_can_be_restored(text):
    brand = berlin_brand()
    code = factories.code(brand, product=factories.product(brand, title=text))
    scan(code, location=text)

    (_, row) = rows(export(brand, staff(brand)))

    assert row[1] == row[4] == f"'{text}"
    assert restored(row[1]) == text


def test_harmless_text_is_not_escaped():
    brand = berlin_brand()
    scan(factories.code(brand), location='O\'Brien, "the" 100 % town\nline two')

    assert rows(export(brand, staff(brand)))[1][4] == 'O\'Brien, "the" 100 % town\nline two'


def test_workbook_has_only_text_and_number_cells():
    brand = berlin_brand()
    for text in ["=1+1", "a<b>&\"c'", "_x0041_ \x01", " wide "]:
        fields = {"points_awarded": Decimal("-0.50"), "scanned_at": NOON, "user": factories.customer(brand)}
        scan(factories.code(brand), location=text, **fields)

    job = export(brand, staff(brand), file_format="xlsx")

    header, *lines = cells(job)
    assert [text for _, text in header] == list(columns.SCANS.columns)
    assert {kind for row in lines for kind, _ in row} == {"inlineStr", "n"}
    assert {row[4][1] for row in lines} == {"=1+1", "a<b>&\"c'", "_x005F_x0041_ _x0001_", " wide "}
    assert lines[0][5] == ("n", "-0.5")
    assert lines[0][2][1] == "2026-03-01T12:00:00+01:00"
    assert job.result_name.endswith(".xlsx")


def test_workbook_continues_in_a_new_sheet(monkeypatch):
    monkeypatch.setattr(xlsx, "ROWS_PER_SHEET", 3)
    file = io.BytesIO()

    with Workbook(file, columns=["a", "n"], numbers=["n"]) as workbook:
        for number in range(5):
            workbook.add([f"row {number}", str(number)])

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
def test_export_without_rows_has_a_header(file_format):
    brand = berlin_brand()

    job = export(brand, staff(brand), file_format=file_format, query="q=nothing-begins-so")

    assert (job.status, job.done) == ("done", 0)
    assert (rows(job) if file_format == "csv" else [[text for _, text in cells(job)[0]]]) == [
        list(columns.SCANS.columns)
    ]


def test_export_applies_the_filters_search_and_days_of_the_list():
    brand = berlin_brand()
    matching, other = factories.customer(brand), factories.customer(brand)
    expected_scan = scan(factories.code(brand), user=matching, scanned_at=NOON)
    scan(factories.code(brand), user=matching, scanned_at=NOON - timedelta(days=1))
    scan(factories.code(brand), user=matching, scanned_at=NOON, reason="expired", outcome="error")
    scan(factories.code(brand), user=other, scanned_at=NOON)
    days = "scanned_at_from=2026-03-01&scanned_at_to=2026-03-01"
    query = f"q={matching.email}&reason__exact=accepted&{days}&p=7"

    job = export(brand, staff(brand), query=query)

    assert [row[0] for row in rows(job)[1:]] == [expected_scan.code]


def test_day_filters_use_the_brands_time_zone():
    brand = berlin_brand()
    late_scan_time = datetime(2026, 2, 28, 23, 30, tzinfo=UTC)  # already March in Berlin
    scan(factories.code(brand), scanned_at=late_scan_time)

    row_counts = [
        len(rows(export(brand, staff(brand), query=f"scanned_at_from={day}&scanned_at_to={day}"))) - 1
        for day in ("2026-02-28", "2026-03-01")
    ]

    assert row_counts == [0, 1]


def test_rows_are_in_the_order_of_the_list():
    brand = berlin_brand()
    scans = [scan(factories.code(brand), scanned_at=NOON + timedelta(minutes=n)) for n in range(3)]

    assert [row[0] for row in rows(export(brand, staff(brand)))[1:]] == [one.code for one in reversed(scans)]


def test_export_has_only_rows_of_its_brand():
    brand, zebra = berlin_brand(), factories.brand()
    scan(factories.code(zebra), location="zebra town")
    own_scan = scan(factories.code(brand))
    user = staff(brand, zebra)

    job = export(brand, user)

    assert [row[0] for row in rows(job)[1:]] == [own_scan.code]


@pytest.mark.parametrize("kind", ["export-scans", "export-unscanned"])
def test_export_by_staff_without_access_to_the_brand_fails(kind):
    brand, zebra = berlin_brand(), factories.brand()
    scan(factories.code(zebra), location="zebra town")

    job = export(zebra, staff(brand), kind=kind)

    assert (job.status, job.result.name) == ("failed", "")
    assert "no longer export" in job.log


def test_only_owners_and_managers_can_export_scans():
    brand = berlin_brand()
    roles = {role: export(brand, staff(brand, role=role)).status for role in ("owner", "manager", "printer", "support")}

    assert roles == {"owner": "done", "manager": "done", "printer": "failed", "support": "failed"}


def test_customer_of_another_brand_is_not_named():
    brand = berlin_brand()
    other_brands_customer = factories.customer(factories.brand())
    scan(factories.code(brand), user=other_brands_customer, outcome="error", reason="other_brand")

    (_, row) = rows(export(brand, staff(brand)))

    assert row[3] == ""


def test_selection_of_an_export_has_all_rows_of_the_list():
    brand = berlin_brand()
    StaffRole.objects.create(user=(user := staff(brand)), brand=factories.brand(), role="support")
    scans = [scan(factories.code(brand)) for _ in range(40)]

    assert set(displayed_to(user, Scan, "")) == set(scans)
