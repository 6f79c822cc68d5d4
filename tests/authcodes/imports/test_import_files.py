"""Files of an import: problems are reported precisely, and codes that a spreadsheet damaged are repaired."""

import csv
import io

import pytest
from django.utils.translation import override

from authcodes.errors import ImportRejected
from authcodes.imports import checks, commit, files
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import, ImportRow
from authcodes.models.products import Product
from tests.authcodes.imports.conftest import (
    LIST,
    RANGES,
    checked_import,
    csv_of,
    row_errors,
    run_commit,
    stored_values,
    unchecked_import,
)
from tests.support import factories

pytestmark = pytest.mark.usefixtures("media")


FORMAT = "Invalid CSV format"


UNREADABLE = {
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


def test_error_of_a_list_uploaded_as_ranges_names_the_kind_to_choose(brand, product, codes):
    upload = checked_import(brand, None, csv_of(f"{LIST},error", "A0001,,,"))

    assert upload.status == "refused"
    assert 'Choose the kind "List of codes (auth_code,' in upload.problem


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_file_is_rejected_with_its_problem_and_writes_nothing(brand, product, codes, name):
    content, message = UNREADABLE[name]
    before = stored_values(codes)

    upload = checked_import(brand, product, content)

    assert upload.status == "refused"
    assert upload.problem.startswith(FORMAT)
    assert message in upload.problem
    assert (stored_values(codes), ImportRow.objects.count()) == (before, 0)
    with pytest.raises(ImportRejected):
        commit.commit(upload=upload, skip_bad=True, by=upload.uploaded_by)


def test_an_empty_file_is_rejected_on_upload(brand, product):
    with pytest.raises(ImportRejected, match="the file is empty"):
        checked_import(brand, product, b"")

    assert Import.objects.count() == 0


SPREADSHEET_FORMATS = {
    "BOM": f"\ufeff{LIST}\nA0001,é,n\n".encode(),
    "UTF-16": f"{LIST}\nA0001,é,n\n".encode("utf-16"),
    "semicolons": f"{LIST}\nA0001,é,n\n".replace(",", ";").encode(),
    "tabs and CRLF": f"{LIST}\r\nA0001,é,n\r\n".replace(",", "\t").encode(),
    "CR only": f"{LIST}\rA0001,é,n\r".encode(),
    "quotes, no last line end": b'"auth_code","inventory_location","notes"\n"A0001","\xc3\xa9","n"',
    "empty cells behind the last column": f"{LIST}\nA0001,é,n,,,\n".encode(),
    "blank lines": f"{LIST}\n\n,,\nA0001,é,n\n\n".encode(),
}


@pytest.mark.parametrize("name", SPREADSHEET_FORMATS)
def test_formats_that_spreadsheets_write_are_accepted(brand, product, codes, name):
    run_commit(checked_import(brand, product, SPREADSHEET_FORMATS[name]))

    assert stored_values(codes.exclude(product=None)) == [("A0001", product.pk, "é", "", "n", None)]


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
    before = stored_values(codes)

    upload = checked_import(brand, product, csv_of(LIST, "A0020,,", line))

    assert (upload.status, upload.rows, upload.bad_rows) == ("checked", 2, 1)
    assert row_errors(upload) == {3: error}
    with pytest.raises(ImportRejected, match="1 row has errors"):
        commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)
    assert stored_values(codes) == before


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
    other_brand = factories.brand()
    factories.product(other_brand, sku="SKU-Z")
    factories.product(brand, sku="SKU-OLD", is_active=False)
    factories.batch(other_brand, prefix="Z", assigned=False)
    factories.batch(brand, prefix="C", assigned=False, number_width=5)
    factories.batch(brand, prefix="D", assigned=False)
    codes.filter(code="A0019").update(product=factories.product(brand))
    before = stored_values(codes)

    upload = checked_import(brand, None, csv_of(RANGES, "SKU-A,A0020,A0020,,", line))

    assert (upload.bad_rows, row_errors(upload)) == (1, {3: error})
    with pytest.raises(ImportRejected):
        commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)
    assert stored_values(codes) == before


def test_list_for_a_product_no_longer_sold_is_rejected(brand, codes):
    old = factories.product(brand, is_active=False)

    with pytest.raises(ImportRejected, match="no longer sold"):
        unchecked_import(brand, old, csv_of(LIST, "A0001,,"))


@pytest.mark.parametrize("content", [csv_of(LIST, "A0001,,"), csv_of(RANGES, "SKU-A,A0001,A0002,,")])
def test_commit_fails_if_the_product_is_no_longer_sold_since_the_check(brand, product, codes, content):
    upload = checked_import(brand, product if content.startswith(LIST) else None, content)
    Product.objects.filter(pk=product.pk).update(is_active=False)

    job = run_commit(upload)

    assert (upload.status, upload.bad_rows, codes.exclude(product=None).count()) == ("checked", 0, 0)
    assert f"these products are no longer sold: {product.title}." in job.log
    Product.objects.filter(pk=product.pk).update(is_active=True)
    run_commit(upload)
    assert upload.status == "committed"


def test_ranges_that_overlap_inside_the_file_are_reported(brand, product, codes):
    upload = checked_import(
        brand, None, csv_of(RANGES, "SKU-A,A0001,A0010,,", "SKU-A,A0011,A0020,,", "SKU-A,A0003,A0004,,")
    )

    assert row_errors(upload) == {4: ("auth_code_start", "This range overlaps with the one on line 2.")}


@pytest.fixture
def numbers(brand):
    """000001 to 000020, and 123450000000 without neighbouring codes."""
    factories.batch(brand, assigned=False, quantity=20, prefix="", number_width=6)
    factories.batch(brand, assigned=False, quantity=1, prefix="", number_width=12, starting_number=123450000000)
    return AuthCode.objects.filter(brand=brand)


def test_lost_zeros_and_shortened_numbers_are_repaired_if_exactly_one_code_fits(brand, product, numbers):
    upload = checked_import(brand, product, csv_of(LIST, "7,,", '"1,2345e11",,'))

    run_commit(upload)

    assert (upload.repaired_rows, upload.bad_rows) == (2, 0)
    assert sorted(numbers.filter(product=product).values_list("code", flat=True)) == ["000007", "123450000000"]


def test_start_and_end_of_a_range_are_repaired(brand, product, numbers):
    run_commit(checked_import(brand, None, csv_of(RANGES, "SKU-A,3,12,,")))

    changed = numbers.filter(product=product).order_by("code").values_list("code", flat=True)
    assert list(changed) == [f"{number:06}" for number in range(3, 13)]


def test_lost_zeros_are_reported_if_two_codes_fit(brand, product, numbers):
    factories.batch(brand, assigned=False, quantity=20, prefix="", number_width=8)

    upload = checked_import(brand, product, csv_of(LIST, "7,,"))

    assert row_errors(upload) == {2: ("auth_code", checks.AMBIGUOUS)}


def test_exact_match_is_ambiguous_if_a_longer_code_may_have_lost_its_zeros(brand, product, numbers):
    factories.batch(brand, assigned=False, quantity=1, prefix="", number_width=2, starting_number=10)

    ambiguous = checked_import(brand, product, csv_of(LIST, "10,,"))
    with_zeros = checked_import(brand, product, csv_of(LIST, "10,,", "000011,,"))

    assert row_errors(ambiguous) == {2: ("auth_code", checks.AMBIGUOUS)}
    assert (row_errors(with_zeros), with_zeros.repaired_rows) == ({}, 0)


def test_a_repaired_code_that_repeats_another_line_is_reported(brand, product, numbers):
    upload = checked_import(brand, product, csv_of(LIST, "000007,,", "7,,"))

    assert row_errors(upload) == {3: ("auth_code", "This code is already on line 2.")}


def test_shortened_number_is_reported_if_several_codes_fit(brand, product):
    factories.batch(brand, assigned=False, quantity=20, prefix="", number_width=12, starting_number=123450000000)

    upload = checked_import(brand, product, csv_of(LIST, "1.2345E+11,,"))

    assert row_errors(upload) == {2: ("auth_code", checks.SHORTENED)}


@pytest.mark.parametrize("width", [17, 18])
def test_rounded_number_is_reported_unless_the_file_has_an_unrounded_one(brand, product, width):
    factories.batch(
        brand, assigned=False, quantity=20, prefix="", number_width=width, starting_number=12345678901234500
    )

    rounded = checked_import(brand, product, csv_of(LIST, "12345678901234500,,"))
    with_exact_number = checked_import(brand, product, csv_of(LIST, "12345678901234500,,", "12345678901234519,,"))

    assert row_errors(rounded) == {2: ("auth_code", checks.ROUNDED_OFF)}
    assert row_errors(with_exact_number) == {}


def error_rows(upload):
    return list(csv.reader(io.StringIO("".join(files.error_csv(upload)))))


def test_error_file_adds_an_error_column_and_can_be_uploaded_when_corrected(brand, product, codes):
    upload = checked_import(brand, product, csv_of(LIST, "A0001,=1+1,+note", "B0001,Shelf,", "A0003,x,y,z"))
    rows = error_rows(upload)

    assert rows == [
        ["auth_code", "inventory_location", "notes", "error"],
        ["A0001", "'=1+1", "'+note", ""],
        ["B0001", "Shelf", "", "Code not found"],
        ["A0003", "x", "y", f"{FORMAT}: this row has 4 cells instead of 3.", "z"],
    ]

    rows[2][0], rows[3] = "A0002", rows[3][:4]
    run_commit(checked_import(brand, product, "\n".join(",".join(row) for row in rows)))
    assert stored_values(codes.exclude(product=None)) == [
        ("A0001", product.pk, "=1+1", "", "+note", None),
        ("A0002", product.pk, "Shelf", "", "", None),
        ("A0003", product.pk, "x", "", "y", None),
    ]


def test_cells_with_quotes_backslashes_and_line_breaks_are_stored_unchanged(brand, product, codes):
    note = 'a "quoted" \\ back\\slash {brace}, NULL\nand a line'
    content = io.StringIO()
    csv.writer(content).writerows([LIST.split(","), ["A0001", "\\N", note]])

    upload = checked_import(brand, product, content.getvalue())
    run_commit(upload)

    assert ImportRow.objects.get(upload=upload).values == ["A0001", "\\N", note]
    assert stored_values(codes.exclude(product=None)) == [("A0001", product.pk, "\\N", "", note, None)]


@pytest.mark.parametrize("kind", ["list", "ranges"])
def test_a_template_is_a_header_and_two_sample_rows(kind):
    rows = list(csv.reader(io.StringIO(files.template(kind))))

    assert rows[0] == checks.COLUMNS[kind]
    assert [len(row) for row in rows] == [len(rows[0])] * 3


def test_errors_are_stored_in_the_specified_english_wording(brand, product, codes):
    codes.filter(code="A0019").update(product=factories.product(brand))
    with override("de"):
        upload = checked_import(brand, product, csv_of(LIST, ",Shelf,", "A0019,,", "A0001,,", "A0001,,"))

    assert list(upload.lines.exclude(error="").values_list("line", "error", "error_values")) == [
        (2, "The code is missing.", {}),
        (3, "Auth code range already assigned", {}),
        (5, "This code is already on line %(line)d.", {"line": 4}),
    ]
    assert row_errors(upload)[5] == ("auth_code", "This code is already on line 4.")
