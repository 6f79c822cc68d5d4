"""Staff import products by file: upload, preview and confirm; after errors, correct the file and upload it again."""

import os
from pathlib import Path

import pytest

from authcodes.models.products import Product
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories

HEADER = "sku,title,gtin,retail_price,points_per_scan,active\n"
LINES = "BEANS,Coffee beans,,12.90,5,yes\nTEA,Green tea from Assam,,8.5,,no\nMILL,Mill,4006381333931,59,,yes\n"
FAULTY = "BEANS,Coffee beans,123,abc,5,yes\nTEA,,,,,maybe\nTEA,Twice,,,,yes\n"


@pytest.fixture
def brand(brand):
    factories.product(brand, sku="BEANS", title="Coffee beans", retail_price="11.90", redeem_point_value=5)
    factories.product(brand, sku="TEA", title="Green tea", retail_price="8.50")
    return brand


def upload(staff, content):
    staff.goto("authcodes/product/import/")
    staff.page.locator("input[type=file]").set_input_files(
        {"name": "products.csv", "mimeType": "text/csv", "buffer": content.encode()}
    )
    staff.button("Preview").click()


def save_screenshot(staff, name):
    """Save a screenshot if PICTURES names a folder."""
    if folder := os.environ.get("PICTURES"):
        staff.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@pytest.mark.parametrize(("size", "name"), [(DESKTOP, "desktop"), (PHONE, "phone")])
def test_product_file_is_previewed_and_confirmed(window, brand, size, name):
    staff = window("manager", size)
    staff.goto("authcodes/product/import/")
    assert staff.audit() == []
    save_screenshot(staff, f"upload-{name}")

    upload(staff, HEADER + FAULTY)
    staff.wait_for_text("Enter yes or no.", "Lines 3, 4 are for the same row.")
    assert staff.audit() == []
    save_screenshot(staff, f"errors-{name}")

    upload(staff, HEADER + LINES)
    staff.wait_for_text("What would change")
    assert staff.audit() == []
    save_screenshot(staff, f"preview-{name}")
    staff.page.emulate_media(color_scheme="dark")
    staff.page.evaluate("document.documentElement.classList.add('dark')")
    save_screenshot(staff, f"preview-{name}-dark")
    staff.button("Confirm").click()

    staff.wait_for_text("1 row added, 2 changed.")
    assert set(Product.objects.values_list("title", flat=True)) == {"Coffee beans", "Green tea from Assam", "Mill"}


@pytest.mark.parametrize(("size", "name"), [(DESKTOP, "desktop"), (PHONE, "phone")])
def test_large_file_is_imported_by_a_worker_and_the_page_follows(window, brand, size, name):
    staff = window("manager", size)
    lines = "".join(f"LARGE-{number},Product {number},,{number % 90}.90,,yes\n" for number in range(2_100))
    upload(staff, HEADER + lines)
    save_screenshot(staff, f"checking-{name}")

    staff.page.get_by_text("What would change").wait_for(timeout=60_000)
    staff.wait_for_text("2100")
    assert staff.audit() == []
    save_screenshot(staff, f"large-preview-{name}")
    staff.button("Confirm").click()
    staff.page.get_by_text("2100 rows added, 0 changed.").wait_for(timeout=60_000)
    assert staff.audit() == []
    save_screenshot(staff, f"imported-{name}")
    staff.page.evaluate("document.documentElement.classList.add('dark')")
    save_screenshot(staff, f"imported-{name}-dark")

    assert Product.objects.filter(brand=brand).count() == 2_102
