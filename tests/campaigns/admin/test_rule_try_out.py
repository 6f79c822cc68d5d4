"""The test bench of earning rules: samples of actions, and input that it cannot use."""

import json

import pytest

from tests.campaigns.earning.earning_rules import row
from tests.support import factories
from tests.support.portal import address, browser, staff

pytestmark = pytest.mark.django_db
LABEL = "campaigns.earningrule"
RULE = {
    "name": "Five",
    "kind": "scan-auth",
    "reward_type": "points",
    "reward_value": "5",
    "per": "item",
    "basis": "whole",
    "stacking": "add",
    "priority": "1",
    "limits": "[]",
}


def lines(brand, **fields):
    answer = browser(staff(brand)).post(address(LABEL, "try"), {**RULE, "brand": brand.pk, **fields})
    assert answer.status_code == 200
    return answer.json()["lines"]


def test_a_scan_is_of_one_item_whatever_the_field_for_orders_says(brand, customer):
    product = factories.product(brand, sku="S", title="Serum")
    fields = {"trial_member": customer.email, "trial_product": product.pk, "trial_quantity": "3"}

    of_scan, of_order = (lines(brand, **fields, kind=kind)[0][1] for kind in ("scan-auth", "order-complete"))

    assert [text for text in of_scan if text.startswith("Five")] == ["Five: 5"]
    assert [text for text in of_order if text.startswith("Five")] == ["Five: 3 x 5 = 15"]


@pytest.mark.parametrize("typed", ["x" * 1000, "a\tb", "\x00"])
@pytest.mark.parametrize("more", [{}, {"trial_list": "1"}])
def test_a_search_that_names_nobody_is_answered_with_a_message(brand, typed, more):
    [[title, [message]]] = lines(brand, trial_member=typed, **more)

    assert title == "Cannot be tested"
    assert message.startswith("Type ")


@pytest.mark.parametrize(
    "conditions",
    [
        json.dumps({"all": [row("city", "in", ["\ud800"])]}),
        json.dumps({"all": [row("\ud800", "in", ["Bonn"])]}),
        "1" * 5000,
        "[" * 5000,
    ],
)
@pytest.mark.parametrize("label", [LABEL, "campaigns.campaign", "loyalty.segment"])
def test_rows_that_cannot_be_read_have_a_message_on_their_page(brand, label, conditions):
    data = {**RULE, "brand": brand.pk, "conditions": conditions}

    answer = browser(staff(brand)).post(address(label, "add"), data)

    assert "The rows could not be read." in answer.context["adminform"].form.errors["conditions"][0]
