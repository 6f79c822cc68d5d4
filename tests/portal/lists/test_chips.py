"""Chips above a list: one for each filter, with a cross that removes it, and one link that removes all."""

import re

import pytest
from django.urls import reverse

from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand():
    return factories.brand()


def chips_of(brand, label, query):
    """The chips of the list as (text, URL), and the URL of "Clear all"."""
    page = browser(staff(brand)).get(address(label), query)
    chips = page.context["limited"]
    return [(chip.text, chip.address) for chip in chips.chips], chips.cleared


def test_unfiltered_list_has_no_chips(brand):
    assert chips_of(brand, "authcodes.authcode", {}) == ([], reverse("admin:authcodes_authcode_changelist"))


def test_every_filter_has_a_chip_and_clear_all_keeps_the_order(brand):
    query = {"scanned_at_from": "2026-03-01", "scanned_at_to": "2026-03-31", "q": "AB", "o": "1"}

    chips, cleared = chips_of(brand, "authcodes.scan", query)

    assert [chip for chip, _url in chips] == [
        "Scanned from: 1 Mar 2026",
        "Scanned to: 31 Mar 2026",
        "Search: AB",
    ]
    assert cleared == "?o=1"
    assert all("scanned_at_from" in url for _chip, url in chips[1:])
    assert "scanned_at_from" not in chips[0][1]


def test_filters_and_chips_have_the_same_names(brand):
    page_html = text(browser(staff(brand)).get(address("authcodes.scan")))
    labels = re.findall(r"<label[^>]*>\s*(.*?)\s*</label>", page_html)
    headings = re.findall(r"<h3[^>]*>\s*(.*?)\s*</h3>", page_html)

    assert {"Outcome", "Reason", "The code&#x27;s status"} <= set(labels)
    assert "Scanned" in headings
    assert "Apply filters" in page_html


def test_parameter_of_a_link_has_a_chip_too(brand):
    batch = factories.batch(brand, quantity=1)

    chips, _cleared = chips_of(brand, "authcodes.authcode", {"batch__id__exact": batch.pk})

    assert [chip for chip, _url in chips] == [f"Batch: {batch}"]


def test_chip_does_not_name_a_row_of_another_brand(brand):
    other_batch = factories.batch(factories.brand(), quantity=1, range_name="Secret winter")

    page = browser(staff(brand)).get(address("authcodes.authcode"), {"batch__id__exact": other_batch.pk})

    assert b"Secret winter" not in page.content
