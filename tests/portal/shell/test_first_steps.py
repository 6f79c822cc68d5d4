"""Empty lists suggest a first step, a form or another list, and show a picture from the sprite."""

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

# These lists should be empty, or only operators or customers add rows.
WITHOUT_FIRST_STEP = {
    "authcodes.fakereport",
    "brands.auditlogentry",
    "brands.brand",
    "brands.brandquota",
    "brands.stoppedattempts",
    "loyalty.pointsapproval",
    "loyalty.suppressedaddress",
}


def test_every_list_has_a_first_step_or_is_listed_as_exception():
    addable = {label for label in LABELS if roles.may("owner", roles.ADD, label)}
    with_first_step = set(first_steps.FIRST_STEPS)

    assert set(LABELS) - addable - with_first_step - WITHOUT_FIRST_STEP == set()
    assert WITHOUT_FIRST_STEP & with_first_step == set()
    assert {step.label for step in first_steps.FIRST_STEPS.values()} <= set(LABELS)


def test_every_group_has_a_picture_in_the_sprite():
    sprite = Path(finders.find("portal/illustrations.svg")).read_text(encoding="utf-8")

    assert set(re.findall(r'<symbol id="([^"]+)"', sprite)) == {
        *(group.icon for group in GROUPS),
        first_steps.OTHER,
        "no-match",
    }


@pytest.mark.django_db
def test_empty_list_of_codes_links_to_a_new_batch(client):
    brand = factories.brand()
    page = browser(staff(brand)).get(address("authcodes.authcode"))

    assert reverse("admin:authcodes_batchrange_add") in text(page)
    assert "illustrations.svg#qr_code_2" in text(page)


@pytest.mark.django_db
def test_first_step_is_hidden_without_the_permission():
    page = browser(staff(factories.brand(), role="printer")).get(address("authcodes.authcode"))

    assert "No codes yet" in text(page)
    assert "Create a batch</" not in text(page)


@pytest.mark.django_db
def test_filtered_list_without_matches_has_its_own_message():
    page = browser(staff(factories.brand())).get(address("authcodes.authcode"), {"q": "nothing"})

    assert "Nothing matches" in text(page)
    assert "illustrations.svg#no-match" in text(page)
