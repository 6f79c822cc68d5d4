"""A manager registers a kind of event with its fields, and creates and tries a rule that compares them."""

import pytest
from playwright.sync_api import expect

from campaigns.models.earning_rules import EarningRule
from campaigns.models.event_kinds import EventKind
from tests.browser.programme.test_rule_builder import save_screenshot
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_event_kind_is_registered_and_rewarded_by_a_rule(window, brand, size):
    factories.customer(brand, email="ana@example.com")
    staff = window("manager", size)
    page = staff.page
    staff.goto("campaigns/eventkind/add/")
    page.locator("[name=name]").fill("store-visit")
    page.locator("[name=title]").fill("Store visit")
    for at, (name, label, kind) in enumerate([("store", "Store", "option"), ("guided", "Guided tour", "switch")]):
        page.locator("a.add-row").first.click()
        page.locator(f"[name=fields-{at}-name]").fill(name)
        page.locator(f"[name=fields-{at}-label]").fill(label)
        page.locator(f"[name=fields-{at}-type]").select_option(kind)
    page.locator("[name=fields-0-options]").fill("Bern, Basel")
    save_screenshot(staff, f"event-kind-new-{size[0]}")
    page.locator("[name=_save]").first.click()
    staff.wait_for_text("was added successfully")
    kind = EventKind.objects.get()
    assert sorted(kind.fields.values_list("name", "type")) == [("guided", "switch"), ("store", "option")]
    staff.goto(f"campaigns/eventkind/{kind.pk}/change/")
    save_screenshot(staff, f"event-kind-{size[0]}")

    staff.goto("campaigns/earningrule/add/")
    page.locator("[name=name]").fill("Visits")
    page.locator("[name=kind]").select_option("store-visit")
    conditions = page.locator("[data-rule-rows=conditions]")
    page.get_by_role("button", name="Add a condition").click()
    conditions.get_by_label("Field").select_option("payload.store")
    conditions.get_by_label("Bern").check()
    page.get_by_role("button", name="Add a condition").click()
    conditions.get_by_label("Field").nth(1).select_option("payload.guided")
    page.locator("[name=reward_value]").fill("5")
    page.locator("[name=without_end]").check()
    sentence = "When “Store visit” happens and Store is one of Bern and Guided tour is yes: 5 points."
    expect(page.locator("[data-part=sentence]")).to_have_text(sentence)
    trial = page.locator("[data-part=trial]")
    trial.locator("[name=member]").fill("ana@example.com")
    expect(trial.get_by_label("Channel")).to_be_hidden()
    trial.get_by_label("Store").select_option("Bern")
    trial.get_by_label("Guided tour").select_option("yes")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("[data-part=result]")).to_contain_text("With this rule: 5 points")
    save_screenshot(staff, f"own-kind-rule-{size[0]}")
    page.locator("[name=_save]").first.click()
    staff.wait_for_text("was added successfully")
    assert EarningRule.objects.get().conditions == {
        "all": [
            {"field": "payload.store", "operator": "in", "value": ["Bern"]},
            {"field": "payload.guided", "operator": "is", "value": True},
        ]
    }
    staff.goto(f"campaigns/earningrule/{EarningRule.objects.get().pk}/change/")
    expect(conditions.get_by_label("Bern")).to_be_checked()
