"""Conditions become answers of the campaign wizard only if saving these answers makes the same conditions."""

import pytest

from campaigns.admin.wizard import wizard_conditions
from tests.campaigns.earning.earning_rules import row
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def level(brand):
    return factories.level(brand, "Gold", threshold=100)


def initial_of(brand, *rows):
    return wizard_conditions.initial_of({"all": list(rows)}, brand=brand)


@pytest.mark.usefixtures("level")
def test_answers_make_the_conditions_again(brand):
    product = factories.product(brand)
    rows = [row("city", "in", ["Berlin", "Hamburg"]), row("level", "in", ["Gold"]), row("product", "in", [product.pk])]

    initial = initial_of(brand, *rows)

    assert initial == {
        "audience": "level",
        "levels": ["Gold"],
        "products": [str(product.pk)],
        "places": "Berlin, Hamburg",
    }


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(row("level", "in", ["Gold", "Silver"]), id="level that was renamed"),
        pytest.param(row("level", "in", ["gold"]), id="level in other letters"),
        pytest.param(row("city", "in", ["Washington, D.C."]), id="city with a comma"),
        pytest.param(row("product", "in", [10**9]), id="product that was deleted"),
        pytest.param(row("segment", "in", ["x"]), id="segment without an ID"),
        pytest.param(row("level", "not_in", ["Gold"]), id="another operator"),
        pytest.param(row("balance", "at_least", "5"), id="another field"),
    ],
)
def test_conditions_that_answers_would_change_have_none(brand, condition):
    assert initial_of(brand, condition) is None


def test_products_of_another_brand_have_no_answer(brand):
    foreign = factories.product(factories.brand())

    assert initial_of(brand, row("product", "in", [foreign.pk])) is None


def test_two_conditions_of_one_field_have_no_answer(brand):
    assert initial_of(brand, row("city", "in", ["Berlin"]), row("city", "in", ["Hamburg"])) is None


def test_no_conditions_are_all_members(brand):
    assert wizard_conditions.initial_of({}, brand=brand) == {"audience": "all"}
