"""Numbers as the portal's pages write them."""

import re
from decimal import Decimal

import pytest
from django.utils import translation
from django.utils.safestring import SafeString

from core.numbers import format_number, rounded
from portal.lists import number_columns
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text


@pytest.mark.parametrize(
    ("number", "shown"),
    [(Decimal("10.00"), "10"), (Decimal("-12.50"), "-12.50"), (25800, "25,800"), (Decimal("1234567.00"), "1,234,567")],
)
def test_numbers_are_grouped_and_whole_where_they_are(number, shown):
    assert format_number(number) == shown
    assert number_columns.group_thousands(SafeString(number)) == shown


@pytest.mark.parametrize(("content", "shown"), [("0,00", "0"), ("-1234,50", "-1.234,50"), ("1234", "1.234")])
def test_what_django_wrote_in_german_is_grouped_too(content, shown):
    with translation.override("de"):
        assert number_columns.group_thousands(SafeString(content)) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(Decimal("19.999"), "20.00"), (Decimal("-2.345"), "-2.35"), (0.125, "0.13"), (1e300, "1e+300")],
)
def test_what_is_not_shown_is_rounded_and_not_cut_off(number, shown):
    assert format_number(number) == shown


def test_a_number_of_more_digits_than_money_has_is_rounded_too():
    assert rounded(Decimal("1" * 40 + ".5"), 0) == f"{int('1' * 39 + '2'):,}"


@pytest.mark.parametrize("content", ["-", "10.000", "2026-01-01", "1 of 2", ""])
def test_other_words_stay_as_they_are(content):
    assert number_columns.group_thousands(SafeString(content)) == content


@pytest.mark.parametrize(("points", "shown"), [(1, "1 point"), (Decimal("1.50"), "1.50 points"), (-1, "-1 point")])
def test_one_point_is_singular(points, shown):
    assert number_columns.format_points(points) == shown


@pytest.mark.parametrize(
    ("language", "times", "shown"),
    [("en", 1, "1 time"), ("en", 1200, "1,200 times"), ("de", 2, "2-mal"), ("ar", 2, "مرتين"), ("ar", 3, "3 مرات")],
)
def test_how_often_is_said_in_the_words_of_the_language(language, times, shown):
    with translation.override(language):
        assert number_columns.format_times(times) == shown


def test_pages_show_points_without_cents(brand, customer):
    factories.points(customer, brand, 25800)
    member, reward = factories.account(customer, brand), factories.reward(brand, cost=50)
    client = browser(staff(brand))

    shown = text(client.get(address("loyalty.userpoints", "change", member.pk)))
    listed = text(client.get(address("loyalty.userpoints")))
    form = form_of(client.get(address("loyalty.reward", "change", reward.pk)))

    assert ("25800" in shown, "25800" in listed, "25,800" in shown, "25,800" in listed) == (False, False, True, True)
    assert not re.search(r"[0-9]\.00\s*<", shown)
    assert form["cost"] == "50"
    assert 'value="50"' in text(client.get(address("loyalty.reward", "change", reward.pk)))
