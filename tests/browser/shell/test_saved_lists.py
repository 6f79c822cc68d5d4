"""Staff save a list with its filters, open it by name and send it on a schedule."""

from brands.models.saved_lists import SavedList
from jobs.models import ReportSchedule
from tests.support import factories


def test_filtered_list_is_saved_opened_by_name_and_scheduled(window, brand):
    factories.batch(brand, prefix="NW-", quantity=3, assigned=False)
    owner = window("owner")
    owner.goto("")

    owner.sidebar("Products & codes", "Codes")
    owner.page.goto(f"{owner.page.url}?assigned=no")
    owner.page.locator(".saved-lists summary").click()
    owner.link("Save this list").click()
    owner.page.get_by_label("Name").fill("Codes without a product")
    owner.page.get_by_role("button", name="Save", exact=True).click()
    owner.sidebar("Products & codes", "Codes")
    owner.page.locator(".saved-lists summary").click()
    owner.page.locator(".saved-lists-menu").get_by_role("link", name="Codes without a product", exact=True).click()
    assert owner.page.url.endswith("?assigned=no")

    owner.sidebar("Settings", "Saved lists")
    owner.link("Codes without a product").first.click()
    owner.link("Send on a schedule").click()
    owner.page.locator("input[name=recipients]").first.check()
    owner.page.get_by_role("button", name="Save", exact=True).click()
    owner.wait_for_text("Codes without a product", "Planned")

    assert SavedList.objects.get().query == {"assigned": ["no"]}
    assert ReportSchedule.objects.get().recipients.count() == 1
