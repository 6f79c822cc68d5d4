"""What a phone shows beside the values of a list."""

import pytest

from authcodes.models.scans import Scan
from portal.templatetags.portal_lists import with_heading
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


def test_headings_begin_with_a_capital_and_no_other_word_does():
    brand = factories.brand()
    factories.batch(brand)

    page = text(browser(staff(brand)).get(address("authcodes.batchrange")))

    assert 'data-label="Batch name"' in page
    assert 'data-label="Created at"' in page


def test_a_tab_of_the_browser_says_which_list_it_shows(brand):
    response = browser(staff(brand)).get(address("authcodes.product"))

    assert "<title> Products · Products &amp; codes | " in " ".join(response.content.decode().split())


def test_the_page_of_a_scan_names_its_reason_as_the_list_does():
    assert str(Scan(code="AUR-7", reason=Scan.Reason.LIMIT_REACHED)) == "AUR-7: Scan limit reached"


def test_a_value_is_left_as_it_is():
    assert with_heading('<td class="a" data-label="über">data-label="x"</td>') == (
        '<td class="a" data-label="Über">data-label="x"</td>'
    )
