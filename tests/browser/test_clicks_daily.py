"""How many clicks everyday tasks take, besides typing, from Home after the login; see test_clicks.py."""

import time

import pytest
from playwright.sync_api import expect

from authcodes.models.products import Product
from brands.models.tenants import BrandHostname
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletIssuer
from loyalty.models.webhooks import WebhookDelivery, WebhookEndpoint
from tests.browser.actors import PARIS, scan, wait_for_worker
from tests.browser.clicks import Clicks
from tests.browser.customers.test_member_page import active_customer
from tests.browser.test_clicks import group
from tests.browser.window import DESKTOP, LOOPBACK, PHONE, Window
from tests.support import factories
from tests.support.fakes import wallets

FAST = 3.0  # seconds, on a busy machine


def search_for(page, typed):
    """Type into the search box."""
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").press_sequentially(typed)


def test_new_scan_is_on_home_without_a_click(window, portal, brand):
    scan(portal, factories.customer(brand), brand, factories.code(brand), **PARIS)
    wait_for_worker()
    owner = window()
    owner.goto("")
    click = Clicks(owner)

    owner.page.reload()

    assert owner.figure("Scans") == "1"
    assert click.number == 0


def test_points_are_explained_with_one_click_and_adjusted_with_two_more(window, brand):
    customer = active_customer(brand)
    manager = window("manager")
    manager.goto("")
    page, click = manager.page, Clicks(manager)

    search_for(page, "adler")
    click(page.get_by_role("option", name="anna@example.com").first)
    manager.wait_for_text("somebody else scanned the code first, on", "balance 155")
    assert click.number == 1

    click(page.get_by_role("link", name="Adjust points"))
    page.locator("[name=amount]").fill("15")
    page.locator("[name=reason]").fill("Her first scan")
    click(page.get_by_role("button", name="Add points"))
    manager.wait_for_text("The balance is now 170.")

    assert UserPoints.objects.get(user=customer).points == 170
    assert click.number == 3


def test_wallets_are_set_up_with_three_clicks(window, brand):
    owner = window()
    owner.goto("")
    page, click = owner.page, Clicks(owner)

    search_for(page, "wallet certificates")
    click(page.get_by_role("option", name="Upload wallet certificates"))
    page.locator("[name=platform]").select_option("google")
    page.locator("[name=issuer_id]").fill(wallets.ISSUER_ID)
    file = {"name": "key.json", "mimeType": "application/json", "buffer": wallets.service_account()}
    click.choosing(page.locator("[name=service_account]"))(file)
    click(page.locator("[name=_save]").first)
    owner.wait_for_text("was added successfully")

    assert WalletIssuer.objects.get().platform == "google"
    assert click.number == 3


def test_webhook_is_added_with_four_clicks_and_tested_with_one_more(window, brand):
    owner = window()
    owner.goto("")
    page, click = owner.page, Clicks(owner)

    search_for(page, "new webhook")
    click(page.get_by_role("option", name="New webhook"))
    page.get_by_label("Address").fill("https://shop.example/hooks")
    click(page.get_by_label("points.earned"))
    click(page.locator("[name=_save]").first)
    page.locator("[data-copied-text]").wait_for()
    assert owner.audit() + owner.axe() == []
    click(owner.link("I have copied it: send a test"))
    owner.wait_for_text("Send a test event?")
    assert (click.number, WebhookEndpoint.objects.count()) == (4, 1)
    click(owner.button("Send"))
    page.wait_for_url("**/webhookdelivery/*/change/")

    assert WebhookDelivery.objects.get().type == "webhook.test"
    assert click.number == 5


def test_text_of_a_notification_is_two_clicks_away(window, brand):
    manager = window("manager")
    manager.goto("")
    page, click = manager.page, Clicks(manager)

    search_for(page, "notification templates")
    click(page.get_by_role("option", name="Notification templates"))
    click(page.get_by_role("region", name="All notifications with their current text").get_by_role("link").first)
    page.wait_for_url("**/preview/**")

    assert click.number == 2


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_support_and_print_shop_start_on_the_page_of_their_work(window, brand, size):
    factories.batch(brand, range_name="Spring", quantity=3)
    support, printer = window("support", size, by_form=True), window("printer", size, by_form=True)

    assert support.page.url.endswith("/loyalty/redemption/till/")
    expect(support.page.get_by_label("Code", exact=True)).to_be_visible()
    printer.wait_for_text("Ready to print", "Spring")
    click = Clicks(printer)
    click(printer.page.get_by_role("link", name="Print", exact=True).last)
    printer.page.wait_for_url("**/printrun/batch/*/")
    assert click.number == 1


def test_customer_gets_the_result_with_one_tap_and_registers_with_two(browser, portal, brand):
    """Programs that open links do not make this tap: docs/scan-page.md."""
    BrandHostname.objects.filter(brand=brand).update(hostname=LOOPBACK)
    phone = Window(browser, portal.url, PHONE)
    page, tap = phone.page, Clicks(phone)

    page.goto(f"/s/{factories.code(brand)}")
    tap(page.locator("#check button"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")
    assert tap.number == 1

    form = page.locator("form[data-act=register]")
    assert form.locator("input:visible[required]").count() == 2
    form.get_by_label("E-mail address").fill("new@example.com")
    form.get_by_label("Password").fill("a long pass phrase")
    tap(form.get_by_role("button"))
    expect(page.get_by_role("heading", name="Confirm your e-mail address")).to_be_visible()
    assert tap.number == 2
    phone.close()


def test_keyboard_reaches_the_content_after_one_stop(window):
    owner = window()
    page, click = owner.page, Clicks(owner)

    owner.goto("authcodes/product/add/")
    expect(page.locator("#content :focus")).to_have_count(1)  # at the first field
    owner.goto("authcodes/import/add/")
    expect(page.locator("#content :focus")).to_have_count(1)
    expect(
        page.locator("#content").get_by_role("heading", level=2).first
    ).to_be_in_viewport()  # the text above the form is read first
    for address in ("", "authcodes/batchrange/", "loyalty/userpoints/"):
        owner.goto(address)
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text("Skip to the content")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('#content') !== null"), address

    assert click.number == 0


def test_error_appears_at_its_field_and_is_corrected_with_one_more_click(window, brand):
    factories.product(brand, sku="mug")
    owner = window()
    owner.goto("authcodes/product/add/")
    page, click = owner.page, Clicks(owner)

    page.get_by_label("Sku").fill("mug")
    page.locator("#id_title").fill("Blue mug")
    click(page.locator("[name=_save]").first)
    sku_field = page.locator(".field-sku, .field-line:has(#id_sku)").first
    expect(sku_field).to_contain_text("already exists")
    assert page.locator("#id_title").input_value() == "Blue mug"
    page.get_by_label("Sku").fill("mug-blue")
    click(page.locator("[name=_save]").first)
    owner.wait_for_text("was added successfully")

    assert Product.objects.get(sku="mug-blue").title == "Blue mug"
    assert click.number == 2


def test_one_of_25_000_codes_is_found_with_one_click(window, brand):
    factories.batch(brand, range_name="Big", prefix="BIG-", number_width=5, quantity=25_000)
    owner = window()
    owner.goto("")
    page, click = owner.page, Clicks(owner)

    began = time.monotonic()
    search_for(page, "BIG-24999")
    click(page.get_by_role("option", name="BIG-24999"))
    owner.wait_for_text("History of this code")
    assert time.monotonic() - began < FAST
    assert click.number == 1

    began = time.monotonic()
    click(group(owner, "Products & codes"))
    click(page.locator(".group-tabs").get_by_role("link", name="Codes", exact=True))
    page.locator("#result_list tr.data-row").first.wait_for()
    assert time.monotonic() - began < FAST
    assert click.number == 3
    owner.wait_for_text("25,000")


def test_guide_opens_in_another_tab_with_one_key(window):
    owner = window()
    owner.goto("authcodes/batchrange/add/")
    owner.page.locator("#id_range_name").fill("What is this?")
    with owner.context.expect_page() as opened:
        owner.page.locator("#content h1, #content h2, body").first.evaluate("() => document.activeElement.blur()")
        owner.page.keyboard.press("?")

    guide = opened.value
    guide.get_by_role("heading", name="Make codes: batches").wait_for()
    assert guide.url.endswith("/admin/help/portal/#make-codes-batches")
    assert owner.page.locator("#id_range_name").input_value() == "What is this?"


def test_guide_is_accessible(window):
    for size in (DESKTOP, PHONE):
        owner = window("owner", size)
        owner.goto("help/")
        assert owner.audit() + owner.axe() == []
