"""A marketer creates a rule, reads it as a sentence, tries it and activates it."""

import os

import pytest
from playwright.sync_api import expect

from campaigns.models.earning_rules import EarningRule
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


def save_screenshot(window, name):
    if folder := os.environ.get("SCREENSHOTS"):
        for scheme in ("light", "dark"):
            window.page.emulate_media(color_scheme=scheme)
            window.page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", scheme == "dark")
            window.page.screenshot(path=f"{folder}/{name}-{scheme}.png", full_page=True)
        window.page.evaluate("document.documentElement.classList.remove('dark')")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_rule_is_created_read_tried_and_activated(window, brand, size):
    factories.product(brand, title="Night serum", sku="SER-1", category="Serums", retail_price=40)
    factories.customer(brand, email="ana@example.com")
    factories.earning_rule(brand, "scan-auth", 1, "bonus", name="Hello", without_end=True)
    staff = window("manager", size)
    page = staff.page
    staff.goto("campaigns/earningrule/add/")

    page.locator("[name=name]").fill("Double serums")
    page.locator("[name=kind]").select_option("scan-auth")
    page.get_by_role("button", name="Add a condition").click()
    conditions = page.locator("[data-rule-rows=conditions]")
    conditions.get_by_label("Field").select_option("category")
    conditions.get_by_label("Several values").fill("Serums")
    page.locator("[name=reward_type]").select_option("percentage")
    expect(page.get_by_label("Percent of")).to_be_visible()
    page.locator("[name=reward_type]").select_option("multiplier")
    expect(page.get_by_label("Percent of")).to_be_hidden()
    page.locator("[name=reward_value]").fill("2")
    page.get_by_role("button", name="Add a limit").click()
    page.locator("[data-rule-rows=limits]").get_by_role("spinbutton", name="At most").fill("500")

    sentence = page.locator("[data-part=sentence]")
    expected_text = (
        "When somebody scans a product and category is one of Serums: 2 x points, "
        "at most 500 points a month for each member."
    )
    expect(sentence).to_have_text(expected_text)
    expect(page.locator("[data-part=overlaps]")).to_contain_text("Counts together with “Hello”")
    trial = page.locator("[data-part=trial]")
    trial.locator("[name=member]").fill("ana@example.com")
    trial.locator("[name=product_query]").fill("night")
    expect(trial.locator("datalist option")).to_have_count(1)
    trial.locator("[name=product_query]").fill("Night serum (SER-1)")
    page.get_by_role("button", name="Try it").click()
    result = page.locator("[data-part=result]")
    expect(result).to_contain_text("With this rule: 21 points")
    expect(result).to_contain_text("Without it: 11 points")
    save_screenshot(staff, f"rule-builder-{size[0]}")

    page.locator("[name=_save]").first.click()
    staff.wait_for_text("was added successfully")
    rule = EarningRule.objects.get(name="Double serums")
    assert (rule.state, rule.conditions) == (
        "draft",
        {"all": [{"field": "category", "operator": "in", "value": ["Serums"]}]},
    )
    staff.goto(f"campaigns/earningrule/{rule.pk}/change/")
    expect(conditions.get_by_label("Several values")).to_have_value("Serums")
    staff.goto(f"campaigns/earningrule/{rule.pk}/activate/")
    save_screenshot(staff, f"rule-activate-{size[0]}")
    page.locator("[name=reason]").fill("December")
    page.get_by_role("button", name="Activate rule").click()
    expect(page.get_by_text("Double serums: done.")).to_be_visible()
    rule.refresh_from_db()
    assert rule.state == "active"


def test_a_value_that_contains_a_comma_stays_one_value(window, brand):
    factories.product(brand, category="Creams, Serums")
    conditions = {"all": [{"field": "category", "operator": "in", "value": ["Creams, Serums"]}]}
    rule = factories.earning_rule(brand, "scan-auth", 2, "bonus", name="Two", conditions=conditions, without_end=True)
    staff = window("manager")
    staff.goto(f"campaigns/earningrule/{rule.pk}/change/")
    values = staff.page.locator("[data-rule-rows=conditions]").get_by_label("Several values")
    expect(values).to_have_value('"Creams, Serums"')

    values.press("End")
    values.press_sequentially(', "crea')
    offered = staff.page.locator("[data-rule-rows=conditions] datalist option")
    expect(offered).to_have_attribute("value", '"Creams, Serums", "Creams, Serums"')
    values.fill('"Creams, Serums", 12" tubes')
    staff.page.locator("[name=_save]").first.click()
    staff.wait_for_text("was changed successfully")

    rule.refresh_from_db()
    assert rule.conditions["all"][0]["value"] == ["Creams, Serums", '12" tubes']


def test_trial_is_answered_although_the_sentence_is_updated_before(window, brand):
    factories.customer(brand, email="ana@example.com")
    rule = factories.earning_rule(brand, "log-user-login", 5, name="Hello", state="draft", without_end=True)
    staff = window("manager")
    page = staff.page
    staff.goto(f"campaigns/earningrule/{rule.pk}/change/")
    page.locator("[data-part=trial] [name=member]").fill("ana@example.com")
    page.locator("[data-part=trial] [name=member]").blur()
    delayed_routes = []

    def delay(route):
        delayed_routes.append(route)

    page.route("**/campaigns/earningrule/try/", delay)
    page.get_by_role("button", name="Try it").click()
    with page.expect_response("**/campaigns/earningrule/read/"):
        page.locator("[name=reward_value]").fill("6")
    [trial] = delayed_routes
    trial.continue_()

    expect(page.locator("[data-part=result]")).to_contain_text("With this rule")
