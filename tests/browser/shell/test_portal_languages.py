"""The portal in German and Arabic: easy to choose, from right to left, and accessible."""

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


# Pages with a masked code, key, address or number.
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
# Each masked value, and whether its characters run from left to right on every line.
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
def user_and_pages(brand):
    brand, rows = brand_with_one_of_each("northwind")
    user = staff(brand, email="olivia@example.com", password=factories.PASSWORD)
    pages = [page.format(member=rows["loyalty.userpoints"].pk) for page in PAGES]
    return user, pages


def test_language_is_chosen_before_the_login_and_in_the_user_menu(window, user_and_pages):
    user, _pages = user_and_pages
    olivia = window(None)
    olivia.goto("")

    with olivia.page.expect_navigation():
        olivia.page.locator("select[name=language]").select_option(label="Deutsch")
    olivia.page.get_by_role("button", name="Anmelden").wait_for()
    olivia.page.locator("[name=username]").fill(user.email)
    olivia.page.locator("[name=password]").fill(factories.PASSWORD)
    olivia.page.keyboard.press("Enter")
    olivia.wait_for_text("Produkte und Codes")

    olivia.page.get_by_text(user.email).filter(visible=True).last.click()
    with olivia.page.expect_navigation():
        olivia.page.locator("#nav-sidebar select[name=language]").select_option(label="العربية")
    olivia.wait_for_text("المنتجات والرموز")
    user.refresh_from_db()
    assert user.portal_language == "ar"


@pytest.mark.parametrize("language", ["ar", "de"])
def test_translated_pages_are_accessible(window, user_and_pages, language):
    user, pages = user_and_pages
    User.objects.filter(pk=user.pk).update(portal_language=language)
    owner = window(None)
    owner.begin_session(user)

    complaints = []
    for page in pages:
        owner.show_as(PHONE, "dark")
        owner.leave_for(f"/admin/{page}")
        owner.page.evaluate("document.fonts.ready.then(() => true)")
        complaints += owner.audit() + owner.axe(appearance_only=True)
        owner.show_as(DESKTOP, "light")
        owner.page.evaluate("document.fonts.ready.then(() => true)")
        complaints += owner.audit() + owner.axe()

    assert not complaints, "\n".join(complaints)


def test_sidebar_is_on_the_right_in_arabic(window, user_and_pages):
    user, _pages = user_and_pages
    User.objects.filter(pk=user.pk).update(portal_language="ar")
    owner = window(None)
    owner.begin_session(user)
    owner.goto("")
    sidebar = owner.page.locator("#nav-sidebar")
    sidebar.wait_for()

    box, content = sidebar.bounding_box(), owner.page.locator("#content").bounding_box()

    assert round(box["x"] + box["width"]) == DESKTOP[0]
    assert content["x"] + content["width"] <= box["x"]
    assert owner.page.locator("svg").first.evaluate("svg => getComputedStyle(svg).direction") == "ltr"


def test_masked_values_run_from_left_to_right_in_arabic(window, brand):
    brand, rows = brand_with_one_of_each("northwind")
    user = staff(brand, email="olivia@example.com", password=factories.PASSWORD, portal_language="ar")
    suppressed = SuppressedAddress.objects.create(
        brand=brand, channel="sms", digest="d" * 64, masked_address="+49•••56"
    )
    ids = {
        "redemption": rows["loyalty.redemption"].pk,
        "member": rows["loyalty.userpoints"].pk,
        "pooled": rows["loyalty.poolcode"].pk,
        "stopped": suppressed.pk,
        "key": rows["brands.apikey"].pk,
    }
    owner = window(None)
    owner.begin_session(user)
    reversed_texts = []

    for page in MASKED:
        owner.goto(page.format(**ids))
        owner.page.evaluate("document.fonts.ready.then(() => true)")
        signs = owner.page.evaluate(SIGNS)
        assert signs, page
        reversed_texts += [(page, text) for text, is_in_order in signs if not is_in_order]

    assert reversed_texts == []


def test_labels_under_a_chart_run_from_left_to_right_in_arabic(window, brand):
    user = staff(brand, email="olivia@example.com", password=factories.PASSWORD, portal_language="ar")
    customer, batch = factories.customer(brand), factories.batch(brand, quantity=40)
    scan(batch.codes.first(), user=customer)
    for days_ago in (3, 1):
        at = timezone.now() - timedelta(days=days_ago)
        factories.points(customer, brand, 10, reason_id=f"order:{days_ago}", at=at)
    campaign = factories.campaign(brand)
    owner = window(None, PHONE)
    owner.begin_session(user)
    positions = {}

    for page in (
        "",
        f"authcodes/batchrange/{batch.pk}/change/",
        f"loyalty/userpoints/{factories.account(customer, brand).pk}/change/",
        f"campaigns/campaign/{campaign.pk}/page/",
    ):
        owner.goto(page)
        for labels in owner.page.locator(UNDER_CHARTS).all():
            left = labels.evaluate("row => [...row.children].map(each => each.getBoundingClientRect().left)")
            positions[f"{page} {labels.get_attribute('class')}"] = left

    assert len(positions) == 6, positions
    assert all(left == sorted(left) and len(left) > 1 for left in positions.values()), positions
