"""A sandbox's code is a test on the scan page, whatever became of it; "genuine" is never said."""

import pytest

from tests.scanpage.conftest import Browser, seen, state
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(db):
    return factories.brand(is_sandbox=True)


def test_first_and_later_scans_show_a_test_code(browser, brand):
    code = factories.code(brand, scan_limit=1)

    first, later = browser.scan(code), Browser(brand).scan(code)

    for page in (first, later):
        assert state(page) == "test"
        assert "Test code, not a product" in seen(page)
        assert "Genuine" not in seen(page)


@pytest.mark.parametrize(
    ("language", "expected_text"), [("de", "Testcode, kein Produkt"), ("ar", "رمز تجريبي، وليس منتجًا")]
)
def test_it_is_said_in_every_language(brand, language, expected_text):
    browser = Browser(brand, **{"Accept-Language": language})

    assert expected_text in seen(browser.scan(factories.code(brand)))
