"""How many clicks the most common tasks take, besides typing, from Home after the login: from a product to a reward.

Each number is the most that its task may take; test_clicks_daily.py has the everyday tasks. The very first task, from
the README to points, is done in a terminal: it is one block to copy, which tests/journeys/test_guide.py runs.
"""

import re

import pytest
from playwright.sync_api import expect

from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from authcodes.models.prints import PrintRun
from brands.models.tenants import Brand, BrandHostname
from brands.staff_login.models import Invitation
from campaigns.models.campaigns import Campaign
from loyalty.models.notifications import NotificationSettings
from loyalty.models.rewards import Redemption, Reward
from loyalty.rewards.codes import grouped
from tests.browser.clicks import Clicks
from tests.browser.codes.test_imports import csv_file
from tests.browser.scan_page.conftest import log_in
from tests.browser.window import LOOPBACK, PHONE, Window
from tests.support import factories
from tests.support.portal import scan

RECALL = {
    "recall_id": "R-7",
    "contact": "+49 30 1234567",
    "message": "The lid may break. Bring the jar back to the shop.",
    "reason": "Lids break.",
    "confirmation": "1",
}


def group(window, name):
    """The entry of the sidebar at desktop size."""
    return window.page.locator("#nav-sidebar-apps").get_by_text(name, exact=True)


def tab(window, name):
    return window.page.locator(".group-tabs").get_by_role("link", name=name, exact=True)


def test_new_brand_with_its_owner_takes_four_clicks(portal, browser, transactional_db):
    operator = factories.user(email="operator@example.com", is_staff=True, is_superuser=True, is_active=True)
    window = Window(browser, portal.url, (1440, 900))
    window.begin_session(operator)
    window.goto("")
    page, click = window.page, Clicks(window)

    click(group(window, "Settings"))
    click(page.locator("a.addlink"))
    page.locator("#id_name").press_sequentially("Harbour Tea")
    assert page.locator("#id_slug").input_value() == "harbour-tea"
    page.locator("#id_time_zone").select_option("Europe/Berlin")
    page.locator("#id_support_email").fill("help@harbour.example.com")
    page.locator("#id_hostname").fill("codes.harbour.example.com")
    page.locator("#id_owner_email").fill("olivia@harbour.example.com")
    assert window.axe() == []
    click(page.locator("[name=_save]").first)
    window.wait_for_text("An invitation is being sent to olivia@harbour.example.com.")

    assert click.number <= 4
    assert Brand.objects.get(slug="harbour-tea").hostnames.get().hostname == "codes.harbour.example.com"
    assert Invitation.objects.get().email == "olivia@harbour.example.com"
    window.close()


def test_new_product_gets_a_thousand_printed_labels_in_six_clicks(window, brand):
    owner = window()
    owner.goto("")
    page, click = owner.page, Clicks(owner)

    click(page.get_by_role("link", name="Create a product"))
    page.get_by_label("Sku").fill("BEANS")
    page.locator("#id_title").fill("Coffee beans")
    click(page.get_by_role("button", name="Save and generate codes"))
    page.get_by_label("Quantity").fill("1000")
    page.keyboard.press("Enter")
    click(page.get_by_label("Protected codes"))
    click(page.get_by_role("button", name="Create batch"))
    page.wait_for_url("**/printrun/batch/*/")
    click(page.get_by_role("button", name="Print 1,000"))
    owner.wait_for_text("1,000 codes were read back and match.")
    with page.expect_download() as expected:
        click(owner.link("Download"))

    assert expected.value.path().read_bytes().startswith(b"%PDF")
    assert (BatchRange.objects.get().generated_count, PrintRun.objects.get().codes) == (1000, 1000)
    assert click.number == 6


def test_file_with_errors_is_corrected_committed_and_undone_in_eight_clicks(window, brand):
    for sku in ("BEANS", "TEA"):
        factories.product(brand, sku=sku)
    factories.batch(brand, prefix="NW-", number_width=5, quantity=100, assigned=False)
    manager = window("manager")
    manager.goto("")
    page, click = manager.page, Clicks(manager)
    header = "product_sku,auth_code_start,auth_code_end,location,points_per_scan"

    click(group(manager, "Products & codes"))
    click(tab(manager, "Imports"))
    click(page.locator("a.addlink"))
    choose = click.choosing(page.locator("input[type=file]"))
    choose(csv_file(f"{header}\nBEANS,NW-00001,NW-00060,Pune,10\nCOCOA,NW-00061,NW-00100,Goa,\n"))
    manager.wait_for_text("Checked", "Product SKU not found")
    with page.expect_download() as expected:
        click(page.get_by_role("link", name="Download the rows with their errors"))
    returned = expected.value.path().read_text(encoding="utf-8")
    assert manager.audit() + manager.axe() == []
    first = page.url
    choose = click.choosing(page.get_by_label("Corrected file"))
    choose(csv_file(returned.replace("COCOA", "TEA")))
    page.wait_for_url(lambda address: address != first)
    manager.wait_for_text("Checked")
    click(manager.button("Commit"))
    manager.wait_for_text("Committed")
    assert AuthCode.objects.filter(product__sku="TEA").count() == 40
    click(page.locator("#content-main").get_by_role("button", name="Undo"))  # the toast has one too, for a moment
    manager.wait_for_text("Undone")

    assert not AuthCode.objects.filter(product__isnull=False).exists()
    assert click.number == 8


def test_product_is_recalled_after_a_preview_of_the_email_in_five_clicks(window, brand):
    NotificationSettings.objects.create(brand=brand)
    product = factories.product(brand, title="Preserving jar")
    code = factories.batch(brand, product=product, quantity=3).codes.earliest("pk")
    scan(code, user=factories.customer(brand), location="Berlin, Berlin")
    owner = window()
    owner.goto("")
    page, click = owner.page, Clicks(owner)

    click(group(owner, "Products & codes"))
    click(page.get_by_role("link", name="Preserving jar"))
    click(page.get_by_role("link", name="Recall", exact=True))
    for name, value in RECALL.items():
        page.locator(f"[name={name}]").fill(value)
    click(page.locator("[data-drawing=mail-de] > summary"))
    mail = page.frame_locator("[data-drawing=mail-de] iframe").locator("body")
    expect(mail).to_contain_text("The lid may break.", timeout=15_000)
    click(page.get_by_role("button", name="Recall and send"))
    owner.wait_for_text("Codes recalled.")

    assert click.number == 5
    assert Recall.objects.get().recall_id == "R-7"


def test_campaign_with_a_new_reward_takes_seven_clicks(window, brand):
    manager = window("manager")
    manager.goto("")
    page, click = manager.page, Clicks(manager)

    click(group(manager, "Programme"))
    click(tab(manager, "Campaigns"))
    click(page.locator("a.addlink"))
    click(page.get_by_role("link", name="Collect scans"))
    click(page.get_by_role("button", name="Next"))
    page.locator("[name=gives_1]").select_option("new")
    page.locator("[name=new_1]").fill("Enamel mug")
    click(page.get_by_role("button", name="4. Names"))
    page.locator("[name=name]").fill("Ten cups")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")  # to the budget
    page.keyboard.press("Enter")
    click(page.get_by_role("button", name="Launch campaign"))
    manager.wait_for_text("Launched. Actions count towards the campaign from now on.")

    assert Campaign.objects.get().milestones.filter(reward__name="Enamel mug").exists()
    assert click.number == 7


def test_reward_in_the_catalogue_takes_two_clicks(window, brand):
    manager = window("manager")
    manager.goto("")
    page, click = manager.page, Clicks(manager)

    page.keyboard.press("Control+k")
    page.keyboard.type("new reward")
    click(page.get_by_role("option", name="New reward"))
    page.locator("#id_name").fill("Enamel mug")
    page.locator("#id_cost").fill("5")
    click(page.locator("[name=_save]").first)
    manager.wait_for_text("was added successfully")

    assert Reward.objects.get().name == "Enamel mug"
    assert click.number == 2


@pytest.mark.parametrize(("role", "expected_clicks"), [("support", 1), ("manager", 2)])
def test_reward_is_redeemed_with_two_taps_and_used_with_one_or_two_clicks(
    window, browser, portal, brand, role, expected_clicks
):
    BrandHostname.objects.filter(brand=brand).update(hostname=LOOPBACK)
    customer = factories.customer(brand, password=factories.PASSWORD)
    factories.points(customer, brand, 30)
    factories.reward(brand, name="A mug", cost=10)
    phone = Window(browser, portal.url, PHONE)
    phone.page.goto("/s/")
    log_in(phone.page, customer)
    phone.page.locator("#account h2").wait_for()
    phone.page.goto("/s/?account=rewards")
    tap = Clicks(phone)

    tap(phone.page.get_by_role("button", name="Redeem: A mug"))
    tap(phone.page.get_by_role("button", name="Yes, redeem"))
    expect(phone.page.locator("#points")).to_contain_text("It is yours")
    assert tap.number == 2
    phone.close()

    till = window(role, by_form=True)
    click = Clicks(till)
    if role != "support":  # support begins there
        click(till.page.get_by_role("link", name="Till"))
    till.page.wait_for_url(re.compile("/redemption/till/$"))
    till.page.get_by_label("Code", exact=True).fill(grouped(Redemption.objects.get().code))
    till.page.keyboard.press("Enter")
    click(till.page.get_by_role("button", name="Mark as used"))
    till.page.get_by_role("heading", name="Just handed over: A mug").wait_for()

    assert Redemption.objects.get().status == "used"
    assert click.number == expected_clicks
