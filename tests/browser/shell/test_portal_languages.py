"""The portal in German and Arabic: chosen in two presses, from right to left, and usable by everybody."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.people import User
from loyalty.models.messages.addresses import SuppressedAddress
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories
from tests.support.portal import brand_with_one_of_each, scan, staff

PAGES = [
    "",
    "authcodes/batchrange/",
    "authcodes/batchrange/add/",
    "authcodes/product/",
    "loyalty/userpoints/",
    "loyalty/userpoints/{member}/change/",
    "campaigns/campaign/new/?template=collect",
    "jobs/job/",
    "account/",
    "loyalty/redemption/till/",
]


# Where a masked code, key, address or number is shown.
MASKED = [
    "loyalty/redemption/",
    "loyalty/redemption/{redemption}/change/",
    "loyalty/userpoints/{member}/change/",
    "loyalty/poolcode/",
    "loyalty/poolcode/{pooled}/change/",
    "loyalty/suppressedaddress/",
    "loyalty/suppressedaddress/{stopped}/change/",
    "brands/apikey/",
    "brands/apikey/{key}/change/",
]
# Each, and whether its signs stand from left to right, as in the language that it is written in, on every line.
SIGNS = r"""
() => {
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const place = (text, at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect();
  };
  for (let text = texts.nextNode(); text; text = texts.nextNode())
    for (const match of text.data.matchAll(/[\w+@.-]*(?:•{3,}|(?<=[\w-])…)[\w•@.-]*/g)) {
      const places = [...match[0]].map((_sign, at) => place(text, match.index + at));
      const follows = (each, before) => each.left > before.left || each.top > before.bottom - 2;
      const isInOrder = places.slice(1).every((each, at) => follows(each, places[at]));
      if (places[0].width) found.push([match[0], isInOrder]);
    }
  return found;
}
"""

UNDER_CHARTS = ".home-axis, .home-heat-hours, .batch-ends, .member-chart-ends, .campaign-ends"


@pytest.fixture
def everything(brand):
    brand, rows = brand_with_one_of_each("northwind")
    person = staff(brand, email="olivia@example.com", password=factories.PASSWORD)
    pages = [page.format(member=rows["loyalty.userpoints"].pk) for page in PAGES]
    return person, pages


def test_the_language_is_chosen_before_the_login_and_in_the_menu_behind_the_name(window, everything):
    person, _pages = everything
    olivia = window(None)
    olivia.goto("")

    with olivia.page.expect_navigation():
        olivia.page.locator("select[name=language]").select_option(label="Deutsch")
    olivia.page.get_by_role("button", name="Anmelden").wait_for()
    olivia.page.locator("[name=username]").fill(person.email)
    olivia.page.locator("[name=password]").fill(factories.PASSWORD)
    olivia.page.keyboard.press("Enter")
    olivia.wait_for_text("Produkte und Codes")

    olivia.page.get_by_text(person.email).filter(visible=True).last.click()
    with olivia.page.expect_navigation():
        olivia.page.locator("#nav-sidebar select[name=language]").select_option(label="العربية")
    olivia.wait_for_text("المنتجات والرموز")
    person.refresh_from_db()
    assert person.portal_language == "ar"


@pytest.mark.parametrize("language", ["ar", "de"])
def test_pages_run_the_right_way_and_can_be_used_by_everybody(window, everything, language):
    person, pages = everything
    User.objects.filter(pk=person.pk).update(portal_language=language)
    owner = window(None)
    owner.begin_session(person)

    complaints = []
    for page in pages:
        owner.show_as(PHONE, "dark")
        owner.leave_for(f"/admin/{page}")
        owner.page.evaluate("document.fonts.ready.then(() => true)")
        complaints += owner.audit() + owner.axe(looks_only=True)
        owner.show_as(DESKTOP, "light")
        owner.page.evaluate("document.fonts.ready.then(() => true)")
        complaints += owner.audit() + owner.axe()

    assert not complaints, "\n".join(complaints)


def test_the_sidebar_begins_where_lines_begin(window, everything):
    person, _pages = everything
    User.objects.filter(pk=person.pk).update(portal_language="ar")
    owner = window(None)
    owner.begin_session(person)
    owner.goto("")
    sidebar = owner.page.locator("#nav-sidebar")
    sidebar.wait_for()

    box, content = sidebar.bounding_box(), owner.page.locator("#content").bounding_box()

    assert round(box["x"] + box["width"]) == DESKTOP[0]
    assert content["x"] + content["width"] <= box["x"]
    assert owner.page.locator("svg").first.evaluate("svg => getComputedStyle(svg).direction") == "ltr"


def test_masked_codes_are_not_turned_round(window, brand):
    brand, rows = brand_with_one_of_each("northwind")
    person = staff(brand, email="olivia@example.com", password=factories.PASSWORD, portal_language="ar")
    stopped = SuppressedAddress.objects.create(brand=brand, channel="sms", digest="d" * 64, masked_address="+49•••56")
    ids = {
        "redemption": rows["loyalty.redemption"].pk,
        "member": rows["loyalty.userpoints"].pk,
        "pooled": rows["loyalty.poolcode"].pk,
        "stopped": stopped.pk,
        "key": rows["brands.apikey"].pk,
    }
    owner = window(None)
    owner.begin_session(person)
    found = []

    for page in MASKED:
        owner.goto(page.format(**ids))
        owner.page.evaluate("document.fonts.ready.then(() => true)")
        signs = owner.page.evaluate(SIGNS)
        assert signs, page
        found += [(page, text) for text, is_in_order in signs if not is_in_order]

    assert found == []


def test_what_stands_under_a_chart_runs_as_the_chart_does(window, brand):
    person = staff(brand, email="olivia@example.com", password=factories.PASSWORD, portal_language="ar")
    customer, batch = factories.customer(brand), factories.batch(brand, quantity=40)
    scan(batch.codes.first(), user=customer)
    for days_ago in (3, 1):
        at = timezone.now() - timedelta(days=days_ago)
        factories.points(customer, brand, 10, reason_id=f"order:{days_ago}", at=at)
    campaign = factories.campaign(brand)
    owner = window(None, PHONE)
    owner.begin_session(person)
    places = {}

    for page in (
        "",
        f"authcodes/batchrange/{batch.pk}/change/",
        f"loyalty/userpoints/{factories.account(customer, brand).pk}/change/",
        f"campaigns/campaign/{campaign.pk}/page/",
    ):
        owner.goto(page)
        for labels in owner.page.locator(UNDER_CHARTS).all():
            left = labels.evaluate("row => [...row.children].map(each => each.getBoundingClientRect().left)")
            places[f"{page} {labels.get_attribute('class')}"] = left

    assert len(places) == 6, places
    assert all(left == sorted(left) and len(left) > 1 for left in places.values()), places
