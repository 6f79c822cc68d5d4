"""What a phone shows beside the values of a list."""

import pytest

from portal.templatetags.portal_lists import with_heading
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


def test_headings_begin_with_a_capital_and_no_other_word_does():
    brand = factories.brand()
    factories.batch(brand)

    page = text(browser(staff(brand)).get(address("authcodes.batchrange")))

    assert 'data-label="Range name"' in page
    assert 'data-label="Created at"' in page


def test_a_value_is_left_as_it_is():
    assert with_heading('<td class="a" data-label="über">data-label="x"</td>') == (
        '<td class="a" data-label="Über">data-label="x"</td>'
    )
