"""Journeys that begin at Home and in the header: to the till, to a user's own jobs, by the map, and to a first scan."""

from urllib.parse import urlsplit

import pytest

from brands.models.people import User
from jobs.models import Job
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories
from tests.support.portal import scan


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_support_starts_at_the_till_and_returns_to_it_with_one_click(window, size):
    support = window("support", size, by_form=True)
    assert urlsplit(support.page.url).path.endswith("/till/")

    support.goto("loyalty/userpoints/")
    support.page.get_by_role("link", name="Till").click()
    support.page.wait_for_url("**/till/")


def test_tabs_lead_to_every_list_of_a_group_on_a_phone(window):
    owner = window("owner", PHONE)
    owner.goto("")
    owner.sidebar("Programme")
    owner.page.locator(".group-tabs summary").click()
    owner.page.locator(".group-tabs").get_by_role("link", name="Costs per point").click()

    owner.page.wait_for_url("**/pointcost/")
    assert owner.page.locator(".group-tabs [aria-current]").first.inner_text() == "Costs per point"
    assert owner.audit() == []


def test_menus_open_and_close_by_keyboard(window):
    owner = window()
    owner.goto("authcodes/batchrange/")
    menu = owner.page.locator(".group-tabs details")
    menu.locator("summary").focus()
    owner.page.keyboard.press("Enter")
    owner.page.keyboard.press("Tab")
    assert owner.page.evaluate("document.activeElement.innerText").strip().endswith("Code changes")

    owner.page.keyboard.press("Escape")
    assert menu.get_attribute("open") is None
    assert owner.page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_bell_follows_a_job_of_the_user_until_its_end(window, brand):
    owner = window()
    user = User.objects.get(email="owner1@example.com")
    job = Job.objects.create(
        brand=brand, kind="generate", title="Make many codes", created_by=user, status="running", done=1, total=4
    )
    owner.goto("authcodes/product/")
    owner.page.locator("[data-bell-mark]", has_text="1").wait_for()
    owner.page.get_by_label("Jobs: 1 running").click()
    owner.wait_for_text("Make many codes", "1 of 4 (25 %)")

    Job.objects.filter(pk=job.pk).update(status="failed", finished_at=job.created_at)
    owner.page.get_by_label("Jobs", exact=True).wait_for()
    owner.wait_for_text("Failed")


def test_click_on_the_map_filters_home_by_location(window, brand):
    code = factories.code(brand)
    for place in ("Berlin, State of Berlin", "Berlin, State of Berlin", "Hamburg, Hamburg"):
        scan(code, location=place)
    owner = window()
    owner.goto("")

    assert owner.figure("Scans") == "3"
    owner.page.locator(".home-map a").nth(1).click()
    owner.page.wait_for_url("**location=Hamburg*")
    assert owner.figure("Scans") == "1"


def test_new_brand_sees_a_code_for_its_first_scan(window, brand):
    factories.batch(brand, quantity=5, prefix="NEW-")
    owner = window("owner", PHONE)
    owner.goto("")

    owner.wait_for_text("Get started", "Make a test scan", "Point your phone's camera here.")
    assert owner.page.get_by_label("QR code of NEW-").count() == 1
    assert owner.audit() + owner.axe() == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_home_with_all_figures_is_accessible(window, brand, size):
    code = factories.code(brand)
    customer = factories.customer(brand)
    factories.points(customer, brand, 120)
    for place in ("Berlin, State of Berlin", "Pune, Maharashtra"):
        scan(code, user=customer, location=place)
    owner = window("owner", size)
    owner.goto("?period=7")
    for summary in owner.page.locator(".home-table > summary").all():
        summary.click()

    assert owner.audit() + owner.axe() == []
    owner.show_as(size, "dark")
    assert owner.axe(appearance_only=True) == []
