"""Numbers on pages rendered by the server, grouped in the same way as by fill.js."""

import pytest
from django.utils import translation

from scanpage import presenters
from tests.scanpage.conftest import customer_with_password, logged_in_browser, visible_html
from tests.support import factories

LANGUAGES = [("en", "12,500.5", "11,000"), ("de", "12.500,5", "11.000"), ("ar", "12,500.5", "11,000")]


@pytest.mark.parametrize(("language", "balance", "cost"), LANGUAGES)
def test_account_groups_thousands(brand, language, balance, cost):
    customer = customer_with_password(brand)
    factories.points(customer, brand, "12500.5")
    factories.reward(brand, name="A bicycle", cost=11_000)

    page = visible_html(logged_in_browser(brand, customer).get("/s/?account", **{"Accept-Language": language}))

    assert f'<b data-number="points.points">{balance}</b>' in page
    assert f'<b dir="ltr">+{balance}</b>' in page
    assert f": {cost}</p>" in page
    assert not {"12500", "11000"} & set(page.replace("<", " ").replace(">", " ").split())


def test_confirmation_of_a_redemption_groups_thousands(brand):
    customer = customer_with_password(brand)
    browser = logged_in_browser(brand, customer)
    factories.points(customer, brand, 12_500)
    factories.reward(brand, name="A bicycle", cost=11_000)

    page = browser.send(browser.get("/s/?account"), "redeem")

    assert "Redeem A bicycle? Price in points: 11,000. Left after that: 1,500." in visible_html(page)


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "0"), (999, "999"), (1000, "1,000"), (2.5, "2.5"), (-1500, "-1,500")]
)
def test_numbers_are_formatted_with_grouped_thousands(number, expected):
    with translation.override("en"):
        assert presenters.format_number(number) == expected
