"""What limits a list is above it, each with a cross, and one link removes all."""

import re

import pytest
from django.urls import reverse

from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand():
    return factories.brand()


def limited(brand, label, query):
    """The chips of the list as (text, address), and where "Clear all" leads."""
    page = browser(staff(brand)).get(address(label), query)
    found = page.context["limited"]
    return [(chip.text, chip.address) for chip in found.chips], found.cleared


def test_a_list_without_filters_has_no_chips(brand):
    assert limited(brand, "authcodes.authcode", {}) == ([], reverse("admin:authcodes_authcode_changelist"))


def test_every_filter_is_a_chip_and_clear_all_keeps_the_order(brand):
    query = {"scanned_at_from": "2026-03-01", "scanned_at_to": "2026-03-31", "q": "AB", "o": "1"}

    chips, cleared = limited(brand, "authcodes.scan", query)

    assert [chip for chip, _address in chips] == [
        "Scanned from: 1 Mar 2026",
        "Scanned to: 31 Mar 2026",
        "Search: AB",
    ]
    assert cleared == "?o=1"
    assert all("scanned_at_from" in each for _chip, each in chips[1:])
    assert "scanned_at_from" not in chips[0][1]


def test_filters_are_named_as_their_chips_are(brand):
    shown = text(browser(staff(brand)).get(address("authcodes.scan")))
    labels = re.findall(r"<label[^>]*>\s*(.*?)\s*</label>", shown)
    headings = re.findall(r"<h3[^>]*>\s*(.*?)\s*</h3>", shown)

    assert {"Outcome", "Reason", "The code&#x27;s status"} <= set(labels)
    assert "Scanned" in headings
    assert "Apply filters" in shown


def test_what_a_link_asks_for_beside_the_filters_is_a_chip_too(brand):
    batch = factories.batch(brand, quantity=1)

    chips, _cleared = limited(brand, "authcodes.authcode", {"batch__id__exact": batch.pk})

    assert [chip for chip, _address in chips] == [f"Batch: {batch}"]


def test_another_brands_row_is_not_named(brand):
    other = factories.batch(factories.brand(), quantity=1, range_name="Secret winter")

    page = browser(staff(brand)).get(address("authcodes.authcode"), {"batch__id__exact": other.pk})

    assert b"Secret winter" not in page.content
