"""Staff assign codes to products by CSV: by ranges, and by a list that has errors at first."""

import csv
import io

import pytest

from authcodes.models.codes import AuthCode
from tests.support import factories


@pytest.fixture
def brand(brand):
    """With two products, a batch of a hundred unassigned codes, and one code that is assigned to tea already."""
    factories.product(brand, sku="BEANS", title="Coffee beans")
    tea = factories.product(brand, sku="TEA", title="Green tea")
    factories.batch(brand, range_name="Blank", prefix="NW-", number_width=5, quantity=100, assigned=False)
    factories.batch(brand, range_name="Tea tins", prefix="TEA-", number_width=5, quantity=1, product=tea)
    return brand


def csv_file(content):
    return {"name": "codes.csv", "mimeType": "text/csv", "buffer": content.encode()}


def upload(staff, content, product=None):
    """Send a file through the page and wait for the preview."""
    staff.sidebar("Products & codes", "Imports")
    staff.add()
    if product:
        staff.look_up("product", product)
    staff.page.locator("input[type=file]").set_input_files(csv_file(content))  # and it is checked at once
    staff.button("Discard").wait_for()
    staff.wait_for_text("Checked", "The first 100 rows")


def assigned_codes(sku):
    return list(
        AuthCode.objects.filter(product__sku=sku, code__startswith="NW-")
        .order_by("code")
        .values_list("code", flat=True)
    )


def codes(first, last):
    return [f"NW-{number:05}" for number in range(first, last + 1)]


def test_ranges_are_assigned_and_an_invalid_one_is_skipped(window, brand):
    owner = window("manager")
    owner.goto("")
    rows = [
        "product_sku,auth_code_start,auth_code_end,location,points_per_scan",
        "BEANS,NW-00001,NW-00060,Pune,10",
        "TEA,NW-00061,NW-00090,Mumbai,",
        "COCOA,NW-00091,NW-00100,Goa,",
    ]

    upload(owner, "\n".join(rows))
    owner.wait_for_text("Product SKU not found")
    assert owner.definitions() == {
        "Rows": "3",
        "Without errors": "2",
        "With errors": "1",
        "Repaired": "0",
        "Codes": "90",
    }
    assert assigned_codes("BEANS") == []
    owner.button("Skip rows with errors and commit the rest").click()
    owner.wait_for_text("Committed")

    assert (assigned_codes("BEANS"), assigned_codes("TEA")) == (codes(1, 60), codes(61, 90))
    code = AuthCode.objects.get(code="NW-00060")
    assert (code.location, code.points_per_scan) == ("Pune", 10)


def test_list_with_errors_is_corrected_committed_and_undone(window, brand):
    owner = window("manager")
    owner.goto("")
    rows = [
        "auth_code,inventory_location,notes",
        "NW-00001,Shelf A,first pallet",
        "NW-00999,Shelf A,no such code",
        "TEA-00001,Shelf B,tea already",
        "NW-00002,Shelf B",
    ]

    upload(owner, "\n".join(rows), product="Coffee beans")
    owner.wait_for_text(
        "Code not found",
        "Auth code range already assigned",
        "Invalid CSV format: this row has 2 cells instead of 3.",
    )
    assert owner.definitions()["With errors"] == "3"
    returned = owner.saved(owner.link("Download the rows with their errors"))
    owner.button("Discard").click()
    owner.wait_for_text("Discarded. Nothing was imported.")

    header, good, unknown, taken, short = csv.reader(io.StringIO(returned.removeprefix("\ufeff")))
    assert header == ["auth_code", "inventory_location", "notes", "error"]
    assert [line[-1].partition(":")[0] for line in (good, unknown, taken, short)] == [
        "",
        "Code not found",
        "Auth code range already assigned",
        "Invalid CSV format",
    ]
    file = io.StringIO()
    fixed = [["NW-00003", *unknown[1:]], ["NW-00004", *taken[1:]], ["NW-00002", "Shelf B", "", ""]]
    csv.writer(file).writerows([header, good, *fixed])
    upload(owner, file.getvalue(), product="Coffee beans")
    assert owner.definitions() == {
        "Rows": "4",
        "Without errors": "4",
        "With errors": "0",
        "Repaired": "0",
        "Codes": "4",
    }
    owner.button("Commit").click()
    owner.wait_for_text("Until ")
    assert assigned_codes("BEANS") == codes(1, 4)

    imported = owner.page.url
    owner.goto("authcodes/authcode/?q=NW-0000")
    owner.page.get_by_role("row", name="NW-00003").get_by_text("Coffee beans").wait_for()
    owner.page.goto(imported)
    owner.button("Undo").click()
    owner.wait_for_text("Undone")
    owner.button("Undo").wait_for(state="detached")
    assert assigned_codes("BEANS") == []


def test_list_without_a_product_is_checked_once_it_is_chosen(window, brand):
    manager = window("manager")
    manager.goto("authcodes/import/add/")
    manager.page.locator("input[type=file]").set_input_files(
        csv_file("auth_code,inventory_location,notes\nNW-00001,,\n")
    )
    manager.wait_for_text("All codes in this file are for one product. Choose it below.")
    manager.look_up("product", "Coffee beans")
    manager.button("Save").click()

    manager.wait_for_text("Checked")
