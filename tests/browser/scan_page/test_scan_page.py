"""Journeys through the scan page at phone size: from the printed QR image to points, with scripts and without."""

import re
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from authcodes.models.scans import Scan
from brands.models.tenants import Brand
from jobs.models import Job
from loyalty.members import confirmations
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.models.rewards import Redemption
from loyalty.rewards.codes import grouped
from tests.browser.scan_page.conftest import LANGUAGES, OTHER_KEY, check, log_in, path_of, product
from tests.support import factories
from tests.support.factories import PASSWORD
from tests.support.live_stack import wait_until


@pytest.mark.parametrize("locale", LANGUAGES)
def test_printed_code_leads_to_points_on_the_page(phone, brand, locale):
    genuine, button, email, password, received = LANGUAGES[locale]
    customer, page = factories.customer(brand, password=PASSWORD), phone(locale=locale)

    check(page, path_of(factories.code(brand, product=product(brand))))
    expect(page.get_by_role("heading", level=1)).to_have_text(genuine)
    expect(page.get_by_text("Coffee beans")).to_be_visible()
    log_in(page, customer, button, email, password)

    expect(page.locator("#points")).to_contain_text(received)
    expect(page.locator(".balance b")).to_have_text("10" if not locale.startswith("ar") else re.compile("10|١٠"))
    expect(page.locator("#account")).to_contain_text("Five for a mug")
    assert page.locator("html").get_attribute("dir") == ("rtl" if locale.startswith("ar") else "ltr")
    assert LoyaltyTransaction.objects.get().user_point.user == customer


@pytest.mark.parametrize("locale", LANGUAGES)
def test_without_scripts_a_printed_code_leads_to_points(phone, brand, locale):
    genuine, button, email, password, received = LANGUAGES[locale]
    customer, page = factories.customer(brand, password=PASSWORD), phone(locale=locale, java_script_enabled=False)

    page.goto(path_of(factories.code(brand)))
    page.locator("#check button").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(genuine)
    log_in(page, customer, button, email, password)
    wait_until(lambda: LoyaltyTransaction.objects.exists())

    expect(page.locator("#points")).to_contain_text(received)  # the page refreshes itself
    assert page.locator(".balance b").inner_text() in {"10", "١٠"}


def test_new_customer_registers_on_the_page_and_gets_the_points(phone, brand):
    page = phone()
    check(page, f"/s/{factories.code(brand)}")
    form = page.locator("form[data-act=register]")
    form.get_by_label("E-mail address").fill("new@example.com")
    form.get_by_label("Password").fill("password12")
    form.get_by_role("button").click()
    expect(page.get_by_role("alert")).to_contain_text("too common")

    form.get_by_label("Password").fill("a long pass phrase")
    form.get_by_role("button").click()
    expect(page.get_by_role("heading", name="Confirm your e-mail address")).to_be_visible()
    page.get_by_label("Code", exact=True).fill(confirmations.code_of(EmailConfirmation.objects.get().pk))
    page.get_by_role("button", name="Confirm").click()

    expect(page.locator("#points")).to_contain_text("Points received: 10")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine, and already yours")


def test_reloading_the_page_is_not_another_scan(phone, brand):
    code, page = factories.code(brand), phone()
    check(page, f"/s/{code}")

    for _time in range(3):
        expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")
        page.goto(f"/s/{code}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")

    assert Scan.objects.count() == 1


def test_program_that_opens_the_link_and_runs_scripts_uses_up_no_code(phone, brand):
    customer, code, program = factories.customer(brand, password=PASSWORD), factories.code(brand), phone()
    for path in (f"/s/{code}", f"/s/{code}?lang=de", f"/01/04006381333931/21/{code}", "/s/", f"/s/?typed={code}"):
        program.goto(path)
        program.wait_for_load_state("networkidle")
        program.reload()
        program.wait_for_load_state("networkidle")
    assert not Scan.objects.exists()

    page = phone()
    check(page, f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")
    log_in(page, customer)

    expect(page.locator("#points")).to_contain_text("Points received: 10")


def test_customer_claims_a_code_reserved_by_a_guest_by_logging_in(phone, brand):
    customer, code, guest, page = factories.customer(brand, password=PASSWORD), factories.code(brand), phone(), phone()
    check(guest, f"/s/{code}")
    expect(guest.get_by_role("heading", level=1)).to_have_text("Genuine")

    check(page, f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Checked a moment ago")
    log_in(page, customer)

    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine, checked before")
    expect(page.locator("#points")).to_contain_text("Points received: 10")


def test_points_wait_for_a_confirmed_address_and_the_email_is_sent_on_request(phone, brand):
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=True)
    customer, code, page = factories.customer(brand, password=PASSWORD), factories.code(brand), phone()
    check(page, f"/s/{code}")
    log_in(page, customer)
    expect(page.locator("#points")).to_contain_text("Points waiting for you: 10")

    page.get_by_role("button", name="Send me the e-mail").click()
    expect(page.locator("#points")).to_have_text("We have sent you an e-mail. Open its link to confirm your address.")
    confirmation = EmailConfirmation.objects.get()
    confirmations.confirm(
        user=customer, brand_id=brand.pk, code=confirmations.code_of(confirmation.pk), at=timezone.now()
    )
    wait_until(LoyaltyTransaction.objects.exists)

    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine, and already yours")


def test_guest_scan_is_adopted_by_a_login_elsewhere_or_on_another_network(phone, brand):
    customer, code, page = factories.customer(brand, password=PASSWORD), factories.code(brand), phone()
    check(page, f"/s/{code}")
    expect(page.locator("#points")).to_contain_text("Log in to earn points: 10")
    page.evaluate(OTHER_KEY, f"scan {code}")  # sent from another address, the same key is that of another scan
    page.goto(f"/s/{code}?lang=de")
    expect(page.get_by_role("heading", level=1)).to_have_text("Echt")
    expect(page.locator("#points")).to_contain_text("10")

    page.goto("/s/?lang=en")
    log_in(page, customer)
    expect(page.locator("#account h2")).to_be_visible()
    page.goto(f"/s/{code}")

    # The login adopted the scan; its points may arrive before the page of the code is loaded.
    received = page.get_by_text(re.compile("Points received: 10|You have the points of this code"))
    expect(received.filter(visible=True).first).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine, and already yours")
    expect(page.locator("#account .balance b")).to_have_text("10")
    page.get_by_role("link", name="Points").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/s/")
    assert Scan.objects.get().user == customer


def test_reward_is_redeemed_its_code_stays_on_the_page_and_it_is_returned(phone, brand):
    customer, page = factories.customer(brand, password=PASSWORD), phone()
    factories.points(customer, brand, 30)
    factories.reward(brand, name="A mug")
    page.goto("/s/")
    log_in(page, customer)

    expect(page.locator("#account h2")).to_be_visible()
    page.get_by_role("link", name="Rewards").click()
    page.locator("[data-do=redeem]").wait_for()  # the page has it without scripts as well
    waiting: list[Any] = []
    button = page.get_by_role("button", name="Redeem: A mug")
    expect(button).to_be_enabled()
    page.route("**/customer/loyalty/points", lambda route: waiting.append(route))
    button.click()
    expect(page.locator("#ask")).to_contain_text("Redeem A mug? Price in points: 10. Left after that: 20.")
    page.get_by_role("button", name="No, keep the points").click()
    expect(page.locator("#ask")).to_be_hidden()
    assert not Redemption.objects.exists()
    button.click()
    page.get_by_role("button", name="Yes, redeem").click()
    expect(page.locator("#points")).to_contain_text("It is yours")
    button.dispatch_event("click")  # a second tap while the account is reloaded
    expect(button).to_be_disabled()
    waiting[0].continue_()
    page.unroute("**/customer/loyalty/points")

    expect(button).to_be_enabled()
    code = grouped(Redemption.objects.get().code)
    expect(page.locator("#account")).to_contain_text(code)
    page.reload()
    expect(page.locator("#account")).to_contain_text(code)
    page.wait_for_load_state("networkidle")  # the code's image is gone once the reward is returned
    page.locator("#account").get_by_role("button", name="Give it back: A mug").click()
    expect(page.locator("#points")).to_contain_text("Returned.")
    expect(page.locator("#account .balance b")).to_have_text("30")
    assert Redemption.objects.get().status == "cancelled"


def test_navigation_bar_leads_to_points_rewards_and_profile(phone, brand):
    customer, page = factories.customer(brand, password=PASSWORD), phone()
    factories.points(customer, brand, 40)
    factories.reward(brand, name="A mug")
    check(page, f"/s/{factories.code(brand)}")
    log_in(page, customer)
    expect(page.locator("#points")).to_contain_text("Points received: 10")
    bar = page.get_by_role("navigation", name="Pages")

    bar.get_by_role("link", name="Points").click()
    expect(page.locator("#account .ring .part")).to_have_attribute("stroke-dasharray", "50 100")  # of 100 for Silver
    expect(page.locator("#account .stamps i")).to_have_count(5)
    expect(page.locator("#account .stamps .full")).to_have_count(1)
    expect(page.get_by_role("button", name="Redeem: A mug")).to_be_hidden()
    bar.get_by_role("link", name="Rewards").click()
    expect(page.get_by_role("button", name="Redeem: A mug")).to_be_visible()
    expect(bar.get_by_role("link", name="Rewards")).to_have_attribute("aria-current", "page")
    bar.get_by_role("link", name="Me").click()
    page.get_by_role("button", name="Prepare a file with my data").click()
    expect(page.get_by_role("status").first).to_contain_text("Your file is being prepared.")
    wait_until(lambda: not Job.objects.unfinished().exists())
    page.reload()
    with page.expect_download() as file:
        page.get_by_role("link", name="Download my data").click()
    assert customer.email in file.value.path().read_text()
    bar.get_by_role("link", name="Scan").click()
    expect(page.get_by_role("button", name="Scan with the camera")).to_be_visible()


def test_win_is_animated_unless_reduced_motion_is_preferred(phone, brand):
    for motion, moves in [("no-preference", True), ("reduce", False)]:
        page = phone(reduced_motion=motion)
        page.goto("/s/")
        page.evaluate("() => points.append(redeemed.content.cloneNode(true))")  # elements by their ids
        name = page.evaluate("getComputedStyle(document.querySelector('.win'), '::before').animationName")
        assert (name == "burst") is moves
