"""Pages say what they are, name their fields and links, fit a phone, and show where the keyboard is."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.identity import roles
from loyalty.models.programme.rollups import PointsRollup
from loyalty.programme import rollups
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories
from tests.support.portal import LABELS, address, brand_with_one_of_each, staff

# What JavaScript adds later has no address of its own: these pages are looked at besides every list and form.
MORE = [
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
# Some buttons say whom they write to: it must not widen the page of a phone.
LONG_ADDRESS = "olivia.vandenberghe@customer-care.northwind.example.com"


@pytest.fixture
def everything(brand):
    """Addresses of every list, of a row of each, of every form and of what else there is."""
    brand, rows = brand_with_one_of_each("northwind")
    staff(brand, email=LONG_ADDRESS, password=factories.PASSWORD)
    rows["loyalty.pointsrollup"] = rolled_up(brand, rows["loyalty.userpoints"].user)
    batch, campaign = rows["authcodes.batchrange"].pk, rows["campaigns.campaign"].pk
    return {
        "lists": [address(label) for label in LABELS],
        "rows": [address(label, "change", rows[label].pk) for label in LABELS],
        "forms": [address(label, "add") for label in LABELS if roles.may("owner", roles.ADD, label)],
        "more": [f"/admin/{page}".format(batch=batch, brand=brand.pk, campaign=campaign) for page in MORE],
    }


def rolled_up(brand, customer):
    """A day's points as the ledger has them: the worker, which looks every ten minutes, would delete any others."""
    now = timezone.now()
    factories.points(customer, brand, 10, at=now - timedelta(days=2))
    for _time in range(2):  # the second finds what was added behind the first one's watermark
        rollups.catch_up(brand=brand, at=now)
    return PointsRollup.objects.filter(brand=brand).latest("day")


@pytest.mark.parametrize("kind", ["lists", "rows", "forms", "more"])
def test_every_page_can_be_used_by_everybody(window, everything, kind):
    """Each is opened once, on a dark phone; then it is looked at as it is on a desk."""
    owner = window(None)
    owner.show_as(PHONE, "dark")
    owner.goto("")
    complaints = owner.audit() + owner.axe()
    owner.login(LONG_ADDRESS, factories.PASSWORD)
    complaints += owner.axe()

    for page in everything[kind]:
        owner.show_as(PHONE, "dark")
        owner.leave_for(page)
        complaints += owner.audit() + owner.axe(looks_only=True)
        owner.show_as(DESKTOP, "light")
        complaints += owner.audit() + owner.axe()

    assert not complaints, "\n".join(complaints)


def test_the_keyboard_skips_the_sidebar(window):
    owner = window()
    owner.goto("authcodes/product/")
    owner.page.keyboard.press("Tab")
    owner.page.keyboard.press("Enter")
    owner.page.keyboard.press("Tab")
    assert owner.page.evaluate("document.activeElement.closest('#content') !== null")


def test_the_keyboard_shows_where_it_is(window, brand):
    owner = window(None)
    owner.goto("")
    assert owner.hidden_stops(4) == []
    owner.login(staff(brand, email="olivia@example.com", password=factories.PASSWORD).email, factories.PASSWORD)

    owner.goto("authcodes/batchrange/add/")
    assert owner.hidden_stops(45) == []

    # Between the page's first stop and its last the keyboard is at the document, which shows the address too.
    for _press in range(150):
        stop = owner.page.evaluate("document.activeElement === document.body ? '' : document.activeElement.innerText")
        if "olivia@example.com" in stop:
            break
        owner.page.keyboard.press("Shift+Tab")
    else:
        pytest.fail("The keyboard does not reach the account's menu.")
    owner.page.keyboard.press("Enter")
    owner.button("Log out").wait_for()
