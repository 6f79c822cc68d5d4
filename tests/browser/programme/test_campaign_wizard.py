"""A manager creates and launches a campaign with the wizard; a customer scans and wins, and the page shows it."""

import pytest
from playwright.sync_api import expect

from campaigns.models.campaigns import Campaign
from campaigns.models.replays import Replay
from events import worker
from loyalty.models.rewards import Redemption
from tests.browser.clicks import Clicks
from tests.browser.settings.test_api_keys import save_screenshot
from tests.browser.window import DESKTOP, PHONE, Window
from tests.support import factories, shop
from tests.support.live_stack import wait_until
from tests.support.portal import staff

pytestmark = pytest.mark.django_db(transaction=True)


def expect_summary(page, answers):
    for name, answer in answers.items():
        expect(page.locator(f"[data-answer={name}]")).to_have_text(answer)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_campaign_is_created_launched_won_viewed_and_paused(window, brand, size):
    factories.reward(brand, name="Enamel mug", stock=5, cost=None)
    manager = window("manager", size)
    page, click = manager.page, Clicks(manager)
    manager.goto("campaigns/campaign/")

    click(page.locator("a.addlink, #content a[href$='/campaign/add/']").first)
    expect(page.get_by_role("heading", name="New campaign")).to_be_visible()
    complaints = manager.audit() + manager.axe()
    save_screenshot(manager, f"wizard-cards-{size[0]}")
    click(page.get_by_role("link", name="Collect scans"))
    complaints += manager.audit() + manager.axe()
    save_screenshot(manager, f"wizard-who-{size[0]}")
    next_button = page.get_by_role("button", name="Next")
    click(next_button)
    page.locator("[name=target_value]").fill("2")
    page.locator("[name=target_value]").blur()
    expect(page.locator("[name=at_1]")).to_have_value("1")
    expect(page.locator("[name=at_2]")).to_have_value("2")
    expect(page.locator("[data-preview=name]")).to_have_text("Collect 2")
    page.locator("[name=at_2]").fill("2")
    page.locator("[name=gives_2]").select_option(label="Enamel mug (5 left)")
    expect(page.locator("[data-preview=milestones] li").nth(1)).to_have_text("At 2: Enamel mug")
    expect(page.locator("[name=points_2]")).to_be_hidden()
    complaints += manager.audit() + manager.axe()
    save_screenshot(manager, f"wizard-goal-{size[0]}")
    click(page.get_by_role("button", name="4. Names"))
    page.locator("[name=name]").fill("Two cups")
    expect(page.locator("[data-preview=name]")).to_have_text("Two cups")
    save_screenshot(manager, f"wizard-names-{size[0]}")
    click(page.get_by_role("button", name="6. Launch"))
    answers = {
        "name": "Two cups",
        "audience": "All members",
        "counted": "Product scans (Actions, one by one)",
        "goal": "2",
        "starts_on": "Today",
        "ends_on": "Until you end it",
        "budget": "No limit",
        "replay": "Not replayed yet: step 5 shows what it would have cost.",
    }
    expect_summary(page, answers)
    expect(page.locator("[data-answer=milestones] li")).to_have_text(["At 1: 20 points", "At 2: Enamel mug"])
    expect(page.locator("[data-answer=only]")).to_be_hidden()
    complaints += manager.audit() + manager.axe()
    save_screenshot(manager, f"wizard-launch-{size[0]}")
    click(page.get_by_role("button", name="Launch campaign"))
    manager.wait_for_text("Launched. Actions count towards the campaign from now on.")
    assert click.number == 6

    campaign = Campaign.objects.get()
    customer = factories.customer(brand, email="anna@example.com")
    for _time in range(2):
        code = factories.code(brand)
        shop.send(brand, customer, "scan-auth", {"type": "authenticator_scan", "product": {"authCode": code.code}})
    worker.drain()  # in addition to the installation's worker
    wait_until(lambda: Redemption.objects.exists())
    page.reload()

    assert manager.card("Members taking part").startswith("1")
    assert manager.card("Rewards won").startswith("2")
    expect(page.locator(".page-table").first).to_contain_text("Enamel mug")
    complaints += manager.audit() + manager.axe()
    save_screenshot(manager, f"campaign-page-{size[0]}")
    click(page.get_by_role("link", name="Pause campaign"))
    manager.wait_for_text("No actions count towards the campaign from now on.")
    page.locator("[name=reason]").fill("Cups are out")
    click(page.get_by_role("button", name="Pause campaign"))
    manager.wait_for_text("Two cups: Paused")
    assert click.number == 8
    campaign.refresh_from_db()
    assert not campaign.is_active
    assert complaints == []


def test_invalid_entry_opens_its_step_with_all_input_retained(window, brand):
    manager = window("manager")
    page = manager.page
    manager.goto("campaigns/campaign/new/?template=collect")
    page.get_by_role("button", name="2. Goal and milestones").click()
    page.locator("[name=at_1]").fill("11")
    page.get_by_role("button", name="4. Names").click()
    page.locator("[name=name]").fill("Eleven")
    page.get_by_role("button", name="6. Launch").click()
    page.get_by_role("button", name="Launch campaign").click()

    expect(page.get_by_text("Progress stops at the goal of 10.")).to_be_visible()
    expect(page.locator("[name=at_1]")).to_have_value("11")
    assert page.locator("[name=name]").input_value() == "Eleven"
    assert manager.audit() + manager.axe() == []
    save_screenshot(manager, "wizard-wrong")


def test_milestones_are_added_and_removed_and_numbered_from_one(window, brand):
    manager = window("manager")
    page = manager.page
    manager.goto("campaigns/campaign/new/?template=collect")
    page.get_by_role("button", name="2. Goal and milestones").click()
    visible_rows = page.locator("[data-row]:visible")
    expect(visible_rows).to_have_count(2)

    page.get_by_role("button", name="Remove milestone 1").click()
    expect(visible_rows).to_have_count(1)
    expect(page.locator("[name=at_1]")).to_have_value("10")
    expect(page.locator("[name=points_1]")).to_have_value("50")
    expect(page.locator("[name=at_2]")).to_have_value("")
    expect(page.locator("[data-preview=milestones] li")).to_have_text(["At 10: 50 points"])

    page.get_by_role("button", name="Add a milestone").click()
    expect(page.locator("[name=at_2]")).to_be_focused()
    page.keyboard.type("4")
    page.locator("[name=gives_2]").select_option("points")
    page.locator("[name=points_2]").fill("7")
    for _row in range(3):
        page.get_by_role("button", name="Add a milestone").click()
    expect(visible_rows).to_have_count(5)
    expect(page.get_by_role("button", name="Add a milestone")).to_be_hidden()
    expect(page.locator("[data-preview=milestones] li")).to_have_text(["At 4: 7 points", "At 10: 50 points"])
    assert manager.audit() + manager.axe() == []
    save_screenshot(manager, "wizard-milestones")

    page.get_by_role("button", name="6. Launch").click()
    page.get_by_role("button", name="Launch campaign").click()
    manager.wait_for_text("Launched. Actions count towards the campaign from now on.")
    assert list(Campaign.objects.get().milestones.order_by("threshold").values_list("threshold", flat=True)) == [4, 10]


def test_milestones_of_a_template_follow_the_goal_until_they_are_edited(window, brand):
    manager = window("manager")
    page = manager.page
    manager.goto("campaigns/campaign/new/?template=collect")
    page.get_by_role("button", name="2. Goal and milestones").click()
    goal, at = page.locator("[name=target_value]"), page.locator("[name=at_1], [name=at_2]")

    for number, expected in (("4", ["2", "4"]), ("50", ["25", "50"])):
        goal.fill(number)
        goal.blur()
        assert [each.input_value() for each in at.all()] == expected
    page.locator("[name=at_1]").fill("20")
    goal.fill("6")
    goal.blur()

    assert [each.input_value() for each in at.all()] == ["20", "6"]
    expect(page.get_by_text("A milestone lies beyond the goal.")).to_be_visible()
    expect(page.locator(".campaign-milestone")).to_have_count(1)
    expect(page.locator("[data-preview=milestones] li")).to_have_text(["At 6: 50 points"])


def test_campaign_for_some_members_and_products_is_scheduled(window, brand):
    factories.level(brand, "Gold", 100)
    factories.product(brand, sku="S", title="Serum")
    manager = window("manager")
    page = manager.page
    manager.goto("campaigns/campaign/new/?template=spend")
    page.get_by_label("Members of some levels").check()
    page.get_by_label("Gold").check()
    page.locator("#who summary").click()
    page.get_by_label("Serum").check()
    page.get_by_role("button", name="3. When").click()
    page.locator("[name=starts_on]").fill("2031-01-02")
    page.get_by_role("button", name="5. Limits and cost").click()
    page.locator("[name=budget]").fill("5000")
    page.get_by_role("button", name="6. Launch").click()

    answers = {
        "audience": "Gold",
        "only": "Serum (S)",
        "starts_on": "Thursday, January 2, 2031",
        "budget": "5,000 points",
    }
    expect_summary(page, answers)
    save_screenshot(manager, "wizard-schedule")
    page.get_by_role("button", name="Schedule campaign").click()
    manager.wait_for_text("Scheduled. The campaign begins automatically on its first day.")


def test_replay_appears_without_losing_typed_input(window, brand):
    manager = window("manager")
    page = manager.page
    manager.goto("campaigns/campaign/new/?template=collect")
    page.get_by_role("button", name="5. Limits and cost").click()
    page.get_by_role("button", name="Save and replay the last 30 days").click()
    expect(page.get_by_role("heading", name="5. Limits and cost")).to_be_visible()
    page.locator("[name=budget]").fill("777")

    wait_until(lambda: Replay.objects.filter(result__isnull=False).exists(), seconds=60)

    expect(page.locator("#limits").get_by_text("members would have taken part")).to_be_visible(timeout=60_000)
    expect(page.locator("[name=budget]")).to_have_value("777")
    save_screenshot(manager, "wizard-replay")
    page.get_by_role("button", name="6. Launch").click()
    expect(page.locator("[data-answer=replay]")).to_contain_text("members would have taken part")


def test_without_scripts_all_steps_are_on_one_page(portal, browser, brand, window):
    manager = window("manager")
    context = browser.new_context(
        base_url=portal.url, java_script_enabled=False, storage_state=manager.context.storage_state()
    )
    page = context.new_page()
    page.goto("/admin/campaigns/campaign/new/?template=collect")
    for name in ("target_value", "points_1", "new_1", "ends_on", "budget", "name_de"):
        expect(page.locator(f"[name={name}]")).to_be_visible()
    page.locator("[name=name]").fill("By hand")
    page.get_by_role("button", name="Launch or schedule").click()

    expect(page.get_by_text("Launched. Actions count towards the campaign from now on.")).to_be_visible()
    assert Campaign.objects.get().campaign_name == "By hand"
    context.close()


def test_typed_input_is_restored_after_the_session_expired(portal, browser, brand):
    user = staff(brand, role="manager", email="mia@example.com", password=factories.PASSWORD)
    manager = Window(browser, portal.url, DESKTOP)
    manager.begin_session(user)
    page = manager.page
    manager.goto("campaigns/campaign/new/?template=collect")
    page.get_by_role("button", name="4. Names").click()
    page.locator("[name=name]").fill("Nearly lost")
    cookies = [each for each in manager.context.cookies() if each["name"] != "sessionid"]
    manager.context.clear_cookies()
    manager.context.add_cookies(cookies)
    page.get_by_role("button", name="6. Launch").click()
    page.get_by_role("button", name="Save for later").click()
    page.get_by_label("E-mail").fill(user.email)
    page.get_by_label("Password").fill(factories.PASSWORD)
    page.keyboard.press("Enter")

    manager.wait_for_text("has been restored")
    expect(page.locator("[name=name]")).to_have_value("Nearly lost")
    expect(page.locator("[data-preview=name]")).to_have_text("Nearly lost")
    manager.close()
