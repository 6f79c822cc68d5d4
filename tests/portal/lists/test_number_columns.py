"""Number formats of the portal's pages."""

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
    ("number", "expected"),
    [(Decimal("10.00"), "10"), (Decimal("-12.50"), "-12.50"), (25800, "25,800"), (Decimal("1234567.00"), "1,234,567")],
)
def test_numbers_are_grouped_and_whole_ones_have_no_decimals(number, expected):
    assert format_number(number) == expected
    assert number_columns.group_thousands(SafeString(number)) == expected


@pytest.mark.parametrize(("content", "expected"), [("0,00", "0"), ("-1234,50", "-1.234,50"), ("1234", "1.234")])
def test_numbers_localised_by_django_are_grouped_too(content, expected):
    with translation.override("de"):
        assert number_columns.group_thousands(SafeString(content)) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [(Decimal("19.999"), "20.00"), (Decimal("-2.345"), "-2.35"), (0.125, "0.13"), (1e300, "1e+300")],
)
def test_omitted_digits_are_rounded_not_truncated(number, expected):
    assert format_number(number) == expected


def test_number_beyond_money_precision_is_rounded_too():
    assert rounded(Decimal("1" * 40 + ".5"), 0) == f"{int('1' * 39 + '2'):,}"


@pytest.mark.parametrize("content", ["-", "10.000", "2026-01-01", "1 of 2", ""])
def test_text_that_is_not_a_number_is_unchanged(content):
    assert number_columns.group_thousands(SafeString(content)) == content


@pytest.mark.parametrize(("points", "expected"), [(1, "1 point"), (Decimal("1.50"), "1.50 points"), (-1, "-1 point")])
def test_one_point_is_singular(points, expected):
    assert number_columns.format_points(points) == expected


@pytest.mark.parametrize(
    ("language", "times", "expected"),
    [("en", 1, "1 time"), ("en", 1200, "1,200 times"), ("de", 2, "2-mal"), ("ar", 2, "مرتين"), ("ar", 3, "3 مرات")],
)
def test_times_are_formatted_in_each_language(language, times, expected):
    with translation.override(language):
        assert number_columns.format_times(times) == expected


def test_pages_show_points_without_cents(brand, customer):
    factories.points(customer, brand, 25800)
    member, reward = factories.account(customer, brand), factories.reward(brand, cost=50)
    client = browser(staff(brand))

    member_page = text(client.get(address("loyalty.userpoints", "change", member.pk)))
    list_page = text(client.get(address("loyalty.userpoints")))
    form = form_of(client.get(address("loyalty.reward", "change", reward.pk)))

    assert ("25800" in member_page, "25800" in list_page, "25,800" in member_page, "25,800" in list_page) == (
        False,
        False,
        True,
        True,
    )
    assert not re.search(r"[0-9]\.00\s*<", member_page)
    assert form["cost"] == "50"
    assert 'value="50"' in text(client.get(address("loyalty.reward", "change", reward.pk)))
