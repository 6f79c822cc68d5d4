"""A marketer creates a campaign with conditions, and views its results."""

import os

import pytest
from playwright.sync_api import expect

from campaigns.models.campaigns import Campaign, RewardClaim, UserLoyaltyCampaign
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
def test_campaign_with_conditions_is_created_viewed_and_duplicated(window, brand, size):
    factories.product(brand, title="Night serum", sku="SER-1", category="Serums", retail_price=40)
    staff = window("manager", size)
    page = staff.page
    staff.goto("campaigns/campaign/add/?form=all")

    page.locator("[name=campaign_name]").fill("Spend on serums")
    page.locator("[name=type]").select_option("order")
    page.locator("[name=step_by]").select_option("amount")
    page.locator("[name=target_value]").fill("100")
    page.get_by_role("button", name="Add a condition").click()
    conditions = page.locator("[data-rule-rows=conditions]")
    conditions.get_by_label("Field").select_option("product")
    conditions.locator("input[type=text]").fill("night")
    expect(conditions.locator("datalist option")).to_have_count(1)
    conditions.locator("input[type=text]").fill("Night serum (SER-1)")
    expect(conditions.locator(".rule-chips button")).to_have_text("Night serum (SER-1) ×")
    page.locator("[name=budget]").fill("500")
    save_screenshot(staff, f"campaign-new-{size[0]}")
    page.locator("[name=_save]").first.click()
    staff.wait_for_text("was added successfully")

    campaign = Campaign.objects.get(campaign_name="Spend on serums")
    assert campaign.conditions["all"][0]["field"] == "product"
    customer = factories.customer(brand)
    UserLoyaltyCampaign.objects.create(user=customer, campaign=campaign, progress="49.90")
    milestone = factories.milestone(campaign, 50, reward_points=20)
    RewardClaim.objects.create(user=customer, milestone=milestone, points=20)
    staff.goto(f"campaigns/campaign/{campaign.pk}/change/")
    expect(conditions.locator(".rule-chips button")).to_have_text("Night serum (SER-1) ×")
    expect(page.get_by_text("only where product is one of Night serum (SER-1)")).to_be_visible()
    save_screenshot(staff, f"campaign-{size[0]}")
    staff.goto(f"campaigns/campaign/{campaign.pk}/duplicate/")
    save_screenshot(staff, f"campaign-duplicate-{size[0]}")
    page.locator("[name=reason]").fill("Next year")
    page.get_by_role("button", name="Duplicate campaign").click()
    expect(page.locator("[name=campaign_name]")).to_have_value("Spend on serums (copy 1)")
