"""Pages have a title and a language, label their fields and links, fit a phone, and show the keyboard focus."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.identity import roles
from loyalty.models.programme.rollups import PointsRollup
from loyalty.programme import rollups
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories
from tests.support.portal import LABELS, address, brand_with_one_of_each, staff

# Pages that are checked in addition to every list and form. What JavaScript adds later has no URL of its own.
OTHER_PAGES = [
    "",
    "authcodes/authcode/export/",
    "authcodes/scan/export/",
    "authcodes/recall/add/?batch={batch}",
    "authcodes/batchrange/{batch}/assign/",
    "authcodes/batchrange/{batch}/deliver/",
    *(f"authcodes/batchrange/{{batch}}/change/?tab={tab}" for tab in ("prints", "scans", "history", "settings")),
    "campaigns/campaign/{campaign}/page/",
    "campaigns/campaign/{campaign}/pause/",
    "campaigns/campaign/add/?form=all",
    "campaigns/campaign/new/?template=collect",
    *(
        f"loyalty/notificationtemplate/preview/?brand={{brand}}&template=NOTIFY_RECALL&channel={channel}&language=ar"
        for channel in ("email", "sms")
    ),
]
# Some buttons contain an address, which must not make the page wider than a phone.
LONG_ADDRESS = "olivia.vandenberghe@customer-care.northwind.example.com"


@pytest.fixture
def urls_by_kind(brand):
    """URLs of every list, of a row of each, of every form and of the other pages."""
    brand, rows = brand_with_one_of_each("northwind")
    staff(brand, email=LONG_ADDRESS, password=factories.PASSWORD)
    rows["loyalty.pointsrollup"] = day_rollup(brand, rows["loyalty.userpoints"].user)
    batch, campaign = rows["authcodes.batchrange"].pk, rows["campaigns.campaign"].pk
    return {
        "lists": [address(label) for label in LABELS],
        "rows": [address(label, "change", rows[label].pk) for label in LABELS],
        "forms": [address(label, "add") for label in LABELS if roles.may("owner", roles.ADD, label)],
        "more": [f"/admin/{page}".format(batch=batch, brand=brand.pk, campaign=campaign) for page in OTHER_PAGES],
    }


def day_rollup(brand, customer):
    """A rollup of a day as the ledger has it: the worker, which checks every ten minutes, would delete any other."""
    now = timezone.now()
    factories.points(customer, brand, 10, at=now - timedelta(days=2))
    for _time in range(2):  # the second run finds what was added behind the watermark of the first
        rollups.catch_up(brand=brand, at=now)
    return PointsRollup.objects.filter(brand=brand).latest("day")


@pytest.mark.parametrize("kind", ["lists", "rows", "forms", "more"])
def test_every_page_is_accessible(window, urls_by_kind, kind):
    """Each page is opened once on a phone in dark colours, and then checked at desktop size."""
    owner = window(None)
    owner.show_as(PHONE, "dark")
    owner.goto("")
    complaints = owner.audit() + owner.axe()
    owner.login(LONG_ADDRESS, factories.PASSWORD)
    complaints += owner.axe()

    for page in urls_by_kind[kind]:
        owner.show_as(PHONE, "dark")
        owner.leave_for(page)
        complaints += owner.audit() + owner.axe(appearance_only=True)
        owner.show_as(DESKTOP, "light")
        complaints += owner.audit() + owner.axe()

    assert not complaints, "\n".join(complaints)


def test_keyboard_can_skip_the_sidebar(window):
    owner = window()
    owner.goto("authcodes/product/")
    owner.page.keyboard.press("Tab")
    owner.page.keyboard.press("Enter")
    owner.page.keyboard.press("Tab")
    assert owner.page.evaluate("document.activeElement.closest('#content') !== null")


def test_keyboard_focus_is_visible(window, brand):
    owner = window(None)
    owner.goto("")
    assert owner.hidden_stops(4) == []
    owner.login(staff(brand, email="olivia@example.com", password=factories.PASSWORD).email, factories.PASSWORD)

    owner.goto("authcodes/batchrange/add/")
    assert owner.hidden_stops(45) == []

    # Between the first stop of the page and the last, the focus is on the document, whose text has the address too.
    for _press in range(150):
        stop = owner.page.evaluate("document.activeElement === document.body ? '' : document.activeElement.innerText")
        if "olivia@example.com" in stop:
            break
        owner.page.keyboard.press("Shift+Tab")
    else:
        pytest.fail("The keyboard does not reach the account's menu.")
    owner.page.keyboard.press("Enter")
    owner.button("Log out").wait_for()
