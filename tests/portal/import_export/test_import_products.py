"""Products as files: what comes in, what goes out, and which rows are refused."""

import time

import pytest

from authcodes.models.products import Product
from brands.models.audit import AuditLogEntry
from jobs.models import StagedUpload
from loyalty.models.approvals import PointsApproval
from tests.portal.import_export.conftest import LABEL, stored
from tests.support import factories
from tests.support.imports import (
    confirm,
    counts,
    exported,
    faults,
    imported,
    preview,
    problem,
    ticket_of,
    upload,
)
from tests.support.portal import address, browser, text

pytestmark = pytest.mark.usefixtures("media")


HEADER = "sku,title,gtin,retail_price,points_per_scan,active\n"


def test_a_file_adds_and_changes_products_after_a_look_at_its_preview(brand, owner):
    kept = factories.product(brand, sku="A", title="Same", retail_price="12.50")
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
    assert stored(brand) == {"A": "Same", "B": "Before"}

    answer = confirm(owner, LABEL, ticket_of(page))

    assert answer.status_code == 302
    assert stored(brand) == {"A": "Same", "B": "After", "C": "New"}
    entries = AuditLogEntry.objects.filter(kind=LABEL, brand=brand, user=owner).order_by("row_id")
    assert {(entry.row_name, entry.action) for entry in entries} == {("After (B)", "Changed"), ("New (C)", "Added")}
    assert entries.get(action="Changed").changes["title"] == ["Before", "After"]
    assert not AuditLogEntry.objects.filter(row_id=str(kept.pk)).exists()


def test_what_is_exported_comes_back_unchanged(brand, owner):
    for number, title in enumerate(
        ["=1+1", "'=1+1", "-5 % off", 'A "quoted", one', "two\nlines", "@x", "Ärmel 袖", "_x0041_"]
    ):
        factories.product(brand, sku=f"S{number}", title=title, retail_price="10.00", gtin="4006381333931")

    for kind in ("csv", "xlsx"):
        page = preview(owner, LABEL, brand, exported(owner, LABEL, brand, format=kind))
        assert (counts(page), faults(page)) == ({"Unchanged": 8}, {})
    assert b"'=1+1" in exported(owner, LABEL, brand)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_the_template_is_a_file_that_can_be_imported(brand, owner, kind):
    template = browser(owner).get(address(LABEL, "import_template"), {"format": kind})

    assert imported(owner, LABEL, brand, template.content).status_code == 302
    assert stored(brand) == {"SKU-1001": "Rain jacket"}


# --- What the library does as it comes


def test_a_row_of_another_brand_is_not_taken_over(brand, owner, other):
    foreign_product = factories.product(other, sku="A", title="Theirs")

    imported(owner, LABEL, brand, f"sku,title\nA,Mine\n{foreign_product.pk},By its id\n")

    assert (stored(other), stored(brand)) == ({"A": "Theirs"}, {"A": "Mine", str(foreign_product.pk): "By its id"})


@pytest.mark.parametrize("column", ["id", "brand", "brand_id", "picture", "created_at", "<script>"])
def test_a_column_that_is_not_the_resources_is_named_and_rejected(brand, owner, other, column):
    answer = upload(owner, LABEL, brand, f"sku,title,{column}\nA,Title,{other.pk}\n")

    assert answer.status_code == 400
    assert f"Unknown columns: “{column}”." in problem(answer)
    assert "“<script>”" not in text(answer)
    assert (stored(brand), StagedUpload.objects.count()) == ({}, 0)


def test_no_file_of_the_server_is_imported_by_its_name(brand, owner, tmp_path):
    (tmp_path / "secret.csv").write_text("sku,title\nA,Stolen\n")

    for sent in ({"ticket": "secret.csv"}, {"import_file_name": "secret.csv", "input_format": "0"}, {}):
        answer = browser(owner).post(address(LABEL, "import_confirm"), sent)
        assert (answer.status_code, problem(answer)) == (400, "This preview is not valid. Upload the file again.")
    assert stored(brand) == {}


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
def test_an_unknown_format_is_explained(brand, owner, content, message):
    answer = upload(owner, LABEL, brand, content, name="../../etc/passwd.json")

    assert answer.status_code == 400
    assert message in problem(answer)
    assert StagedUpload.objects.count() == 0


def test_no_row_is_dropped_in_silence(brand, owner):
    """One bad line holds all of them up, and says so."""
    page = preview(owner, LABEL, brand, HEADER + "A,Good,,,,yes\nB,,,,,yes\nC,Bad price,,abc,,yes\n")

    assert counts(page) == {"New": 1, "Error": 2}
    assert faults(page) == {3: "title: This field is required.", 4: "retail_price: Enter a number."}
    [found] = faults(preview(owner, LABEL, brand, HEADER + "A,T,123,abc,,maybe\n")).values()
    assert [text in found for text in ("gtin: 8, 12", "retail_price: Enter", "active: Enter")] == [True] * 3
    assert confirm(owner, LABEL, ticket_of(page)).status_code == 400
    assert stored(brand) == {}


# --- What is wrong with a row


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
def test_a_cell_keeps_the_rules_of_the_form(brand, owner, row, message):
    assert message in faults(preview(owner, LABEL, brand, HEADER + row + "\n"))[2]


def test_two_lines_for_one_product_name_each_other(brand, owner):
    page = preview(owner, LABEL, brand, "sku,title\nA,One\nB,Two\nA ,Three\n")

    assert faults(page) == dict.fromkeys((2, 4), "Lines 2, 4 are for the same row.")


def test_points_above_the_ceiling_need_a_second_person_and_so_the_page(brand, owner):
    ceiling = brand.max_points_per_scan
    product = factories.product(brand, sku="B", redeem_point_value=3)
    PointsApproval.objects.create(
        brand=brand, kind=LABEL, row_id=product.pk, row_name="B", values={}, requested_by=owner
    )

    page = preview(owner, LABEL, brand, HEADER + f"A,T,,,{ceiling + 1},yes\n")
    assert "points_per_scan: Above the ceiling" in faults(page)[2]

    imported(owner, LABEL, brand, f"sku,title,points_per_scan\nA,T,{ceiling}\nB,T,4\n")
    assert list(Product.objects.order_by("sku").values_list("redeem_point_value", flat=True)) == [ceiling, 4]
    assert PointsApproval.objects.get().status == PointsApproval.Status.WITHDRAWN


def test_the_lines_with_errors_can_be_downloaded_corrected_and_sent_again(brand, owner):
    answer = upload(owner, LABEL, brand, HEADER + "A,Good,,,,yes\nB,=1+1,,abc,,yes\n")
    page = browser(owner).get(answer["Location"])

    answer = browser(owner).get(page.context_data["errors_address"])
    file = b"".join(answer.streaming_content).decode()

    assert file.splitlines()[1] == "B,'=1+1,,abc,,yes,3: retail_price: Enter a number."
    assert imported(owner, LABEL, brand, file.replace("abc", "1")).status_code == 302
    assert stored(brand) == {"B": "=1+1"}


# --- How long it takes


def test_two_thousand_products_are_previewed_in_as_many_statements_as_two(brand, owner, django_assert_max_num_queries):
    rows = [f"S{number},Product {number},,{number}.50,,yes\n" for number in range(2_000)]
    imported(owner, LABEL, brand, HEADER + "".join(rows[:1_000]))
    content = HEADER + "".join(rows).replace("Product 1", "Article 1")

    began = time.monotonic()
    with django_assert_max_num_queries(60):
        page = preview(owner, LABEL, brand, content)
    seconds = time.monotonic() - began

    print(f"2,000 products: uploaded and previewed in {seconds:.2f} s")  # noqa: T201 - the figure
    assert sum(counts(page).values()) == 2_000
    assert seconds < 10  # 2 on a machine of its own
