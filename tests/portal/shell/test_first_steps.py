"""Empty lists lead on: to a form, or to the list where what fills them begins; each with a picture of the sprite."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.urls import reverse

from brands.identity import roles
from portal.base.sidebar import GROUPS
from portal.shell import first_steps
from tests.support import factories
from tests.support.portal import LABELS, address, browser, staff, text

# Empty is how these should be, or only the operator or customers fill them.
NOTHING_TO_DO = {
    "authcodes.fakereport",
    "brands.auditlogentry",
    "brands.brand",
    "brands.brandquota",
    "brands.stoppedattempts",
    "loyalty.pointsapproval",
    "loyalty.suppressedaddress",
}


def test_every_list_has_a_first_step_or_says_why_there_is_none():
    adds = {label for label in LABELS if roles.may("owner", roles.ADD, label)}
    stepped = set(first_steps.FIRST_STEPS)

    assert set(LABELS) - adds - stepped - NOTHING_TO_DO == set()
    assert NOTHING_TO_DO & stepped == set()
    assert {step.label for step in first_steps.FIRST_STEPS.values()} <= set(LABELS)


def test_every_group_has_its_picture():
    sprite = Path(finders.find("portal/illustrations.svg")).read_text(encoding="utf-8")

    assert set(re.findall(r'<symbol id="([^"]+)"', sprite)) == {
        *(group.icon for group in GROUPS),
        first_steps.OTHER,
        "no-match",
    }


@pytest.mark.django_db
def test_an_empty_list_of_codes_leads_to_a_new_batch(client):
    brand = factories.brand()
    page = browser(staff(brand)).get(address("authcodes.authcode"))

    assert reverse("admin:authcodes_batchrange_add") in text(page)
    assert "illustrations.svg#qr_code_2" in text(page)


@pytest.mark.django_db
def test_who_may_not_take_the_step_is_not_sent_there():
    page = browser(staff(factories.brand(), role="printer")).get(address("authcodes.authcode"))

    assert "No codes yet" in text(page)
    assert "Create a batch</" not in text(page)


@pytest.mark.django_db
def test_a_list_without_matches_says_so_instead():
    page = browser(staff(factories.brand())).get(address("authcodes.authcode"), {"q": "nothing"})

    assert "Nothing matches" in text(page)
    assert "illustrations.svg#no-match" in text(page)
