"""Numbers on the page that is rendered on the server: grouped as fill.js groups them."""

import pytest
from django.utils import translation

from scanpage import presenters
from tests.scanpage.conftest import customer_of, logged_in, seen
from tests.support import factories

LANGUAGES = [("en", "12,500.5", "11,000"), ("de", "12.500,5", "11.000"), ("ar", "12,500.5", "11,000")]


@pytest.mark.parametrize(("language", "balance", "cost"), LANGUAGES)
def test_an_account_shows_grouped_thousands(brand, language, balance, cost):
    customer = customer_of(brand)
    factories.points(customer, brand, "12500.5")
    factories.reward(brand, name="A bicycle", cost=11_000)

    page = seen(logged_in(brand, customer).get("/s/?account", **{"Accept-Language": language}))

    assert f'<b data-number="points.points">{balance}</b>' in page
    assert f'<b dir="ltr">+{balance}</b>' in page
    assert f": {cost}</p>" in page
    assert not {"12500", "11000"} & set(page.replace("<", " ").replace(">", " ").split())


def test_the_question_before_a_reward_is_taken_groups_thousands(brand):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    factories.points(customer, brand, 12_500)
    factories.reward(brand, name="A bicycle", cost=11_000)

    page = browser.send(browser.get("/s/?account"), "redeem")

    assert "Redeem A bicycle? Price in points: 11,000. Left after that: 1,500." in seen(page)


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0"), (999, "999"), (1000, "1,000"), (2.5, "2.5"), (-1500, "-1,500")]
)
def test_a_number_as_it_is_read(number, shown):
    with translation.override("en"):
        assert presenters.format_number(number) == shown
