"""Products as workbooks: formulas, bombs, byte orders and numbers."""

import time

import pytest

from authcodes.models.products import Product
from tests.portal.import_export.conftest import LABEL, titles_by_sku
from tests.support.imports import (
    import_file,
    preview,
    problem,
    upload,
    workbook,
    workbook_of,
)

pytestmark = pytest.mark.usefixtures("media")


# --- Hostile files


def test_formula_in_a_workbook_is_rejected_with_its_cell(brand, owner):
    cells = '<c r="A2" t="str"><f>HYPERLINK("http://x")</f><v>A</v></c>'
    titles = '<c t="inlineStr"><is><t>sku</t></is></c><c t="inlineStr"><is><t>title</t></is></c>'
    header = f'<row r="1">{titles}</row>'
    response = upload(
        owner, LABEL, brand, workbook_of(f'<x><sheetData>{header}<row r="2">{cells}</row></sheetData></x>')
    )

    assert (response.status_code, "line 2, column 1 holds a formula" in problem(response)) == (400, True)


def test_escaped_surrogate_in_a_workbook_stays_literal(brand, owner):
    rows = [["sku", "title"], ["A_xD83D_", "B_x0041_"]]
    cells = ["".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) for row in rows]
    sheet = "".join(f"<row>{row_cells}</row>" for row_cells in cells)

    response = import_file(owner, LABEL, brand, workbook_of(f"<x><sheetData>{sheet}</sheetData></x>"))

    assert response.status_code == 302, problem(response)
    assert list(Product.objects.filter(brand=brand).values_list("sku", "title")) == [("A_xD83D_", "BA")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda: workbook_of("<x/>", padding=200_000_000), "the file is too large when it is unpacked"),
        (lambda: workbook_of('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'), "declares a document type"),
        (lambda: workbook_of('<x><row r="1"><c r="ZZZ1"><v>1</v></c></row></x>'), "too many columns"),
        (lambda: workbook_of('<x><row r="1"><c t="s"><v>7</v></c></row></x>'), "the file is damaged"),
        (lambda: workbook_of("<x><row>"), "the file is damaged"),
        (lambda: workbook(["sku", "title"], [["A", "a"]])[:-30], "the file is damaged"),
        (lambda: b"sku,title\n" + b"x" * 50_000_000, "The file is larger than 50 MB."),
        (lambda: b"sku,title\n" + b"x" * 49_000_000, "has more than 100,000 characters"),
    ],
)
def test_oversized_or_damaged_file_is_rejected_quickly(brand, owner, content, message):
    data = content()
    started = time.monotonic()

    response = upload(owner, LABEL, brand, data)

    assert (response.status_code, message in problem(response)) == (400, True), problem(response)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_excel_csv_is_read_with_any_byte_order_mark(brand, owner, encoding):
    import_file(owner, LABEL, brand, "sku;title\r\nA;Größe\r\n".encode(encoding))

    assert titles_by_sku(brand) == {"A": "Größe"}


def test_workbook_numbers_are_read_as_they_were_typed(brand, owner):
    header = "".join(
        f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in ("sku", "title", "gtin", "retail_price")
    )
    row = '<c><v>1001</v></c><c t="b"><v>1</v></c><c><v>4.006381333931E12</v></c><c><v>0.10000000000000001</v></c>'
    sheet = f'<x><sheetData><row r="1">{header}</row><row r="5">{row}</row></sheetData></x>'

    page = preview(owner, LABEL, brand, workbook_of(sheet))

    [planned] = page.context_data["rows"]
    assert (planned.line, planned.values) == (5, ["1001", "TRUE", "4006381333931", "0.1"])
