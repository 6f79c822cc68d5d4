"""A sandbox's code is always labelled as a test code on the scan page, never as genuine."""

import pytest

from tests.scanpage.conftest import Browser, state, visible_html
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(db):
    return factories.brand(is_sandbox=True)


def test_first_and_later_scans_show_a_test_code(browser, brand):
    code = factories.code(brand, scan_limit=1)

    first, second = browser.scan(code), Browser(brand).scan(code)

    for page in (first, second):
        assert state(page) == "test"
        assert "Test code, not a product" in visible_html(page)
        assert "Genuine" not in visible_html(page)


@pytest.mark.parametrize(
    ("language", "expected_text"), [("de", "Testcode, kein Produkt"), ("ar", "رمز تجريبي، وليس منتجًا")]
)
def test_label_is_translated(brand, language, expected_text):
    browser = Browser(brand, **{"Accept-Language": language})

    assert expected_text in visible_html(browser.scan(factories.code(brand)))
