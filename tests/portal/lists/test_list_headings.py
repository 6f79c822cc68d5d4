"""The labels that a phone shows next to the values of a list, and other titles of lists and rows."""

import pytest

from authcodes.models.scans import Scan
from portal.templatetags.portal_lists import with_heading
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


def test_only_the_first_word_of_a_heading_is_capitalised():
    brand = factories.brand()
    factories.batch(brand)

    page = text(browser(staff(brand)).get(address("authcodes.batchrange")))

    assert 'data-label="Batch name"' in page
    assert 'data-label="Created at"' in page


def test_browser_title_names_the_list(brand):
    response = browser(staff(brand)).get(address("authcodes.product"))

    assert "<title> Products · Products &amp; codes | " in " ".join(response.content.decode().split())


def test_scan_is_named_with_the_label_of_its_reason():
    assert str(Scan(code="AUR-7", reason=Scan.Reason.LIMIT_REACHED)) == "AUR-7: Scan limit reached"


def test_heading_is_capitalised_and_the_value_left_unchanged():
    assert with_heading('<td class="a" data-label="über">data-label="x"</td>') == (
        '<td class="a" data-label="Über">data-label="x"</td>'
    )
