"""Products as files: imports, exports, and the rows that are rejected."""

import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from authcodes.models.products import Product
from brands.models.audit import AuditLogEntry
from jobs.models import StagedUpload
from loyalty.models.approvals import PointsApproval
from tests.portal.import_export.conftest import LABEL, titles_by_sku
from tests.support import factories
from tests.support.imports import (
    confirm,
    counts,
    export_file,
    import_file,
    line_errors,
    preview,
    problem,
    ticket_of,
    upload,
)
from tests.support.portal import address, browser, text

pytestmark = pytest.mark.usefixtures("media")


HEADER = "sku,title,gtin,retail_price,points_per_scan,active\n"


def test_file_adds_and_changes_products_after_its_preview_is_confirmed(brand, owner):
    unchanged = factories.product(brand, sku="A", title="Same", retail_price="12.50")
    factories.product(brand, sku="B", title="Before")
    content = HEADER + "A,Same,,12.5,,yes\nB,After,,9.90,3,no\nC,New,4006381333931,,,yes\n"

    page = preview(owner, LABEL, brand, content)

    assert counts(page) == {"New": 1, "Changed": 1, "Unchanged": 1}
    assert [row.changes for row in page.context_data["rows"]] == [
        {
            "title": ("Before", "After"),
            "retail_price": ("", "9.9"),
            "points_per_scan": ("", "3"),
            "active": ("yes", "no"),
        },
        {"sku": ("", "C"), "title": ("", "New"), "gtin": ("", "4006381333931"), "active": ("", "yes")},
    ]
    assert titles_by_sku(brand) == {"A": "Same", "B": "Before"}

    response = confirm(owner, LABEL, ticket_of(page))

    assert response.status_code == 302
    assert titles_by_sku(brand) == {"A": "Same", "B": "After", "C": "New"}
    entries = AuditLogEntry.objects.filter(kind=LABEL, brand=brand, user=owner).order_by("row_id")
    assert {(entry.row_name, entry.action) for entry in entries} == {("After (B)", "Changed"), ("New (C)", "Added")}
    assert entries.get(action="Changed").changes["title"] == ["Before", "After"]
    assert not AuditLogEntry.objects.filter(row_id=str(unchanged.pk)).exists()


def test_exported_file_can_be_imported_without_changes(brand, owner):
    for number, title in enumerate(
        ["=1+1", "'=1+1", "-5 % off", 'A "quoted", one', "two\nlines", "@x", "Ärmel 袖", "_x0041_"]
    ):
        factories.product(brand, sku=f"S{number}", title=title, retail_price="10.00", gtin="4006381333931")

    for file_format in ("csv", "xlsx"):
        page = preview(owner, LABEL, brand, export_file(owner, LABEL, brand, format=file_format))
        assert (counts(page), line_errors(page)) == ({"Unchanged": 8}, {})
    assert b"'=1+1" in export_file(owner, LABEL, brand)


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
def test_template_can_be_imported(brand, owner, file_format):
    template = browser(owner).get(address(LABEL, "import_template"), {"format": file_format})

    assert import_file(owner, LABEL, brand, template.content).status_code == 302
    assert titles_by_sku(brand) == {"SKU-1001": "Rain jacket"}


# --- Defaults of the library that must not apply


def test_import_does_not_change_a_row_of_another_brand(brand, owner, other_brand):
    foreign_product = factories.product(other_brand, sku="A", title="Theirs")

    import_file(owner, LABEL, brand, f"sku,title\nA,Mine\n{foreign_product.pk},By its id\n")

    assert (titles_by_sku(other_brand), titles_by_sku(brand)) == (
        {"A": "Theirs"},
        {"A": "Mine", str(foreign_product.pk): "By its id"},
    )


@pytest.mark.parametrize("column", ["id", "brand", "brand_id", "picture", "created_at", "<script>"])
def test_unknown_column_is_rejected_by_name(brand, owner, other_brand, column):
    response = upload(owner, LABEL, brand, f"sku,title,{column}\nA,Title,{other_brand.pk}\n")

    assert response.status_code == 400
    assert f"Unknown columns: “{column}”." in problem(response)
    assert "“<script>”" not in text(response)
    assert (titles_by_sku(brand), StagedUpload.objects.count()) == ({}, 0)


def test_file_on_the_server_cannot_be_imported_by_its_name(brand, owner, tmp_path):
    (tmp_path / "secret.csv").write_text("sku,title\nA,Stolen\n")

    for form_data in ({"ticket": "secret.csv"}, {"import_file_name": "secret.csv", "input_format": "0"}, {}):
        response = browser(owner).post(address(LABEL, "import_confirm"), form_data)
        assert (response.status_code, problem(response)) == (400, "This preview is not valid. Upload the file again.")
    assert titles_by_sku(brand) == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"sku": "A"}\n]', "Missing columns: sku."),
        (b"%PDF-1.7 ...", "this is a PDF, not a CSV"),
        (b"\xd0\xcf\x11\xe0 ...", "this is an old Excel workbook (XLS), not a CSV"),
        (b"PK\x03\x04 not an archive", "the file is damaged or protected by a password"),
        (b"", "The file is empty."),
        (b"sku,title\n", "The file has no rows below the header."),
        (b"sku,title\nA,\xff\xfe\n", "line 2 (byte 13) is not UTF-8 text"),
        (b"sku,title\nA,a\0b\n", "line 2 contains a NUL character"),
        (b"\xff\xfe\x00", "is not UTF-16 text"),
        (b"sku,sku,title\nA,B,C\n", "Duplicate columns: sku."),
        (b"sku,title\nA,B,C\n", "Line 2 has more cells than the header has columns."),
        (b"title\nA\n", "Missing columns: sku."),
    ],
)
def test_invalid_file_is_rejected_with_an_explanation(brand, owner, content, message):
    response = upload(owner, LABEL, brand, content, name="../../etc/passwd.json")

    assert response.status_code == 400
    assert message in problem(response)
    assert StagedUpload.objects.count() == 0


def test_import_with_an_invalid_row_is_rejected_as_a_whole(brand, owner):
    """One invalid line blocks the import of all lines."""
    page = preview(owner, LABEL, brand, HEADER + "A,Good,,,,yes\nB,,,,,yes\nC,Bad price,,abc,,yes\n")

    assert counts(page) == {"New": 1, "Error": 2}
    assert line_errors(page) == {3: "title: This field is required.", 4: "retail_price: Enter a number."}
    [messages] = line_errors(preview(owner, LABEL, brand, HEADER + "A,T,123,abc,,maybe\n")).values()
    assert [expected in messages for expected in ("gtin: 8, 12", "retail_price: Enter", "active: Enter")] == [True] * 3
    assert confirm(owner, LABEL, ticket_of(page)).status_code == 400
    assert titles_by_sku(brand) == {}


# --- Invalid rows


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("A,T,123,,,yes", "gtin: 8, 12, 13 or 14 digits."),
        ("A,T,4006381333932,,,yes", "gtin: "),
        ("A,T,,-1,,yes", "retail_price: Ensure this value is greater than or equal to 0."),
        ("A,T,,1e999999999,,yes", "retail_price: "),
        ("A,T,,NaN,,yes", "retail_price: Enter a number."),
        ("A,T,,٣,,yes", "retail_price: Use the digits 0 to 9."),
        ("A,T,,,1_000,yes", "points_per_scan: Use the digits 0 to 9."),
        (f"A,T,,,{'9' * 5000},yes", "points_per_scan: "),
        ("A,T,,,99999999999,yes", "points_per_scan: Ensure this value is less than or equal to 2147483647."),
        ("A,T,,,,maybe", "active: Enter yes or no."),
        (f"A,{'x' * 201},,,,yes", "title: Ensure this value has at most 200 characters"),
        (f"{'x' * 65},T,,,,yes", "sku: Ensure this value has at most 64 characters"),
        (",T,,,,yes", "sku: This field is required."),
    ],
)
def test_cells_are_validated_as_in_the_form(brand, owner, row, message):
    assert message in line_errors(preview(owner, LABEL, brand, HEADER + row + "\n"))[2]


def test_duplicate_lines_for_one_product_refer_to_each_other(brand, owner):
    page = preview(owner, LABEL, brand, "sku,title\nA,One\nB,Two\nA ,Three\n")

    assert line_errors(page) == dict.fromkeys((2, 4), "Lines 2, 4 are for the same row.")


def test_points_above_the_ceiling_cannot_be_imported(brand, owner):
    ceiling = brand.max_points_per_scan
    product = factories.product(brand, sku="B", redeem_point_value=3)
    PointsApproval.objects.create(
        brand=brand, kind=LABEL, row_id=product.pk, row_name="B", values={}, requested_by=owner
    )

    page = preview(owner, LABEL, brand, HEADER + f"A,T,,,{ceiling + 1},yes\n")
    assert "points_per_scan: Above the ceiling" in line_errors(page)[2]

    import_file(owner, LABEL, brand, f"sku,title,points_per_scan\nA,T,{ceiling}\nB,T,4\n")
    assert list(Product.objects.order_by("sku").values_list("redeem_point_value", flat=True)) == [ceiling, 4]
    assert PointsApproval.objects.get().status == PointsApproval.Status.WITHDRAWN


def test_lines_with_errors_can_be_downloaded_corrected_and_imported(brand, owner):
    response = upload(owner, LABEL, brand, HEADER + "A,Good,,,,yes\nB,=1+1,,abc,,yes\n")
    page = browser(owner).get(response["Location"])

    response = browser(owner).get(page.context_data["errors_address"])
    file = b"".join(response.streaming_content).decode()

    assert file.splitlines()[1] == "B,'=1+1,,abc,,yes,3: retail_price: Enter a number."
    assert import_file(owner, LABEL, brand, file.replace("abc", "1")).status_code == 302
    assert titles_by_sku(brand) == {"B": "=1+1"}


# --- Speed


def test_preview_of_two_thousand_products_takes_as_many_statements_as_of_three(brand, owner):
    rows = [f"S{number},Product {number},,{number}.50,,yes\n" for number in range(2_000)]
    import_file(owner, LABEL, brand, HEADER + "".join(rows[:1_000]))

    def previewed(lines):
        started = time.process_time()
        with CaptureQueriesContext(connection) as queries:
            page = preview(owner, LABEL, brand, HEADER + "".join(lines).replace("Product 1", "Article 1"))
        return counts(page), len(queries), time.process_time() - started

    few = [rows[0], rows[1], rows[1_999]]
    previewed(few)  # the other two replace an earlier upload
    few_counts, few_statements, _seconds = previewed(few)
    many_counts, many_statements, seconds = previewed(rows)

    print(f"2,000 products: uploaded and previewed in {seconds:.2f} s of a processor")  # noqa: T201 - the figure
    assert few_counts == {"New": 1, "Changed": 1, "Unchanged": 1}
    assert sum(many_counts.values()) == 2_000
    assert many_statements == few_statements <= 60
    assert seconds < 10  # 2 are usual
