"""Staff follow figures to their lists, export lists as files, and see what their role allows."""

import csv
import io

from authcodes.models.scans import Scan
from tests.browser.actors import PARIS, PUNE, scan, wait_for_worker
from tests.support import factories
from tests.support.live_stack import wait_until


def test_filtered_figure_leads_to_the_rows_that_it_counts(window, portal, brand):
    summer, winter = (factories.campaign(brand, campaign_name=name) for name in ("Summer", "Winter"))
    warm = factories.batch(brand, prefix="SUM-", quantity=5, campaign=summer)
    cold = factories.batch(brand, prefix="WIN-", quantity=5, campaign=winter)
    customer = factories.customer(brand)
    for code, place in [*((code, PARIS) for code in warm.codes.order_by("code")[:3]), (cold.codes.first(), PUNE)]:
        scan(portal, customer, brand, code, **place)
    wait_for_worker()
    wait_until(lambda: not Scan.objects.filter(located_at=None).exists())
    support = window("support")
    support.goto("")

    assert support.figure("Scans") == "4"
    support.page.get_by_text("Other days and filters").click()
    support.page.get_by_label("Campaign").select_option(label="Summer")
    support.button("Filter").click()
    support.page.wait_for_url("**campaign=*")
    assert support.figure("Scans") == "3"

    support.page.locator(".home-tile", has_text="Scans").first.click()
    support.lists(3)
    support.wait_for_text("SUM-0001", "SUM-0002", "SUM-0003")
    assert support.page.get_by_text("WIN-").count() == 0

    support.goto("")
    support.page.get_by_text("Other days and filters").click()
    support.page.get_by_label("Location").fill("Pune, Maharashtra")
    support.page.keyboard.press("Enter")
    support.page.wait_for_url("**location=*")
    assert support.figure("Scans") == "1"


def test_lists_are_exported_with_their_filters(window, portal, brand):
    beans = factories.product(brand, title="Coffee beans")
    factories.batch(brand, prefix="NW-", quantity=6, product=beans)
    factories.batch(brand, prefix="TEA-", quantity=3)
    customer = factories.customer(brand, email="ada@example.com")
    scan(portal, customer, brand, "NW-0001", **PARIS)
    scan(portal, customer, brand, "TEA-0001")
    wait_for_worker()
    wait_until(lambda: Scan.objects.exclude(location="").exists())
    owner = window()
    owner.goto("")

    owner.sidebar("Products & codes", "Codes")
    owner.page.get_by_role("textbox", name="Search").fill("NW-")
    owner.page.keyboard.press("Enter")
    owner.lists(6)
    lines = export_list(owner, "Export unscanned codes")
    assert lines[0] == ["auth_code", "product", "created_date", "expiration_date", "status"]
    assert sorted((line[0], line[1], line[4]) for line in lines[1:]) == [
        (f"NW-000{number}", "Coffee beans", "Unscanned") for number in range(2, 7)
    ]

    owner.sidebar("Scans & safety")
    lines = export_list(owner, "Export scan report")
    assert lines[0] == ["auth_code", "product", "scan_date", "customer_email", "location", "points_awarded"]
    assert {line[0]: (line[1], line[3], line[4], line[5]) for line in lines[1:]}["NW-0001"] == (
        "Coffee beans",
        "ada@example.com",
        "Paris, Île-de-France",
        "10",
    )
    assert len(lines) == 3


def export_list(staff, name):
    """Export the list in the window; return the lines of the file."""
    staff.link(name).click()
    staff.button("Export").click()
    return list(csv.reader(io.StringIO(staff.saved(staff.link("Download")).removeprefix("\ufeff"))))


def test_support_can_read_and_is_offered_no_actions(window, brand):
    batch = factories.batch(brand, range_name="Blank", quantity=3)
    support, printer = window("support"), window("printer")

    offered = []
    for page in [
        "batchrange/",
        f"batchrange/{batch.pk}/change/",
        "authcode/",
        "recall/",
        "scan/",
        "product/",
    ]:
        support.goto(f"authcodes/{page}")
        offered += support.offers()
    assert offered == []
    assert support.page.locator("#nav-sidebar-apps a").count() == 3
    assert support.page.get_by_role("navigation").get_by_text("API keys").count() == 0

    printer.goto(f"authcodes/batchrange/{batch.pk}/change/?tab=settings")
    assert "Save" in printer.offers()
    assert support.page.request.get("/admin/authcodes/batchrange/add/").status == 403


def test_new_brand_is_guided_from_step_to_step(window, brand):
    owner = window()
    owner.goto("")

    owner.link("Create a product").click()
    owner.page.locator("#id_title").fill("Coffee beans")
    owner.page.get_by_label("SKU").fill("BEANS")
    owner.button("Save").click()
    owner.sidebar("Home")
    owner.link("Create a batch").click()
    owner.page.get_by_label("Batch name").fill("Spring")
    owner.look_up("product", "Coffee beans")
    owner.button("Next").click()
    owner.page.get_by_label("Quantity").fill("10")
    owner.button("Next").click()
    owner.page.get_by_label("Plain numbers").check()
    owner.page.get_by_role("button", name="Create batch").click()
    owner.wait_for_text("Batch created")
    owner.sidebar("Scans & safety")
    owner.wait_for_text("No scans yet", "Print the codes of a batch and scan one.")
    owner.sidebar("Products & codes", "Imports")
    owner.wait_for_text("No imports yet", "Upload a CSV file that assigns codes to products.")
    owner.page.get_by_role("link", name="Add import").last.click()

    owner.wait_for_text("Download the template")
