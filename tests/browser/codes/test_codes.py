"""Staff assign a range of codes to a product by hand, and deactivate codes with a reason."""

from authcodes.models.codes import AuthCode
from tests.support import factories
from tests.support.portal import scan

HIDDEN_WIDTH = """
() => {
  const list = document.querySelector(".simplebar-content-wrapper:has(#result_list)");
  return list.scrollWidth - list.clientWidth;
}
"""


def test_code_range_of_a_batch_is_assigned_by_hand(window, brand):
    factories.product(brand, sku="BEANS", title="Coffee beans")
    batch = factories.batch(brand, range_name="Blank", prefix="NW-", quantity=100, assigned=False)
    printer = window("printer")
    printer.goto("")

    printer.sidebar("Products & codes", "Batches")
    printer.link("Blank").click()
    printer.link("Assign codes").filter(has_not_text="Unassign").click()
    printer.page.get_by_label("First code").fill("NW-0011")
    printer.page.get_by_label("Last code").fill("NW-0030")
    printer.look_up("product", "Coffee beans")
    printer.page.get_by_label("Inventory location").fill("Shelf A")
    printer.button("Show what changes").click()
    printer.wait_for_text("Codes that change")
    assert printer.definitions()["Codes that change"] == "20"
    assert not AuthCode.objects.exclude(product=None).exists()
    printer.button("Assign codes").click()
    printer.wait_for_text("Assigned: 20")

    assigned = batch.codes.filter(product__sku="BEANS", inventory_location="Shelf A").order_by("code")
    assert (assigned.count(), assigned.first().code, assigned.last().code) == (20, "NW-0011", "NW-0030")


def test_codes_are_deactivated_with_a_reason_that_their_page_shows(window, brand):
    factories.batch(brand, prefix="NW-", quantity=5)
    manager = window("manager")
    manager.goto("")

    manager.sidebar("Products & codes", "Codes")
    for code in ("NW-0002", "NW-0004"):
        manager.page.get_by_role("row", name=code).get_by_role("checkbox").check()
    manager.page.locator("select[name=action]").select_option(value="deactivate")
    manager.button("Run").click()
    manager.wait_for_text("NW-0002", "NW-0004", "The codes scan as not valid until")
    manager.page.get_by_label("Reason").fill("Stolen from the van")
    manager.button("Deactivate codes").click()
    manager.wait_for_text("Deactivated: 2")
    manager.link("NW-0004").click()
    manager.wait_for_text("History of this code", "Stolen from the van")

    deactivated = AuthCode.objects.exclude(deactivated_at=None).order_by("code")
    assert list(deactivated.values_list("code", flat=True)) == ["NW-0002", "NW-0004"]


def test_lists_with_the_most_columns_fit_a_laptop(window, brand):
    customer = factories.customer(brand)
    customer.first_name, customer.last_name = "Bastian", "Bauer-Brandenburg"
    customer.email = "bastian.bauer-brandenburg@aurora.example"
    customer.save()
    factories.account(customer, brand)
    scan(factories.code(brand), user=customer, location="Frankfurt am Main, Hesse, Germany")
    manager = window("manager")

    for path in ("authcodes/scan/", "loyalty/userpoints/"):
        manager.goto(path)
        manager.page.locator("#result_list .data-row").wait_for()
        manager.page.locator(".simplebar-content-wrapper:has(#result_list)").wait_for()
        assert manager.page.evaluate(HIDDEN_WIDTH) == 0, path
