"""Mistakes of users where points, rewards, codes and recalls are at stake: they press twice, go back, use an outdated
tab, and return after their session has expired. test_drafts.py tests the same for the portal's forms."""

import pytest
from playwright.sync_api import expect

from authcodes.models.batches import Recall
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from authcodes.models.scans import Scan
from brands.models.tenants import BrandHostname
from campaigns.models.campaigns import Campaign
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.models.notifications import NotificationSettings
from loyalty.models.rewards import Redemption
from loyalty.rewards.codes import grouped
from tests.browser.codes.test_imports import csv_file
from tests.browser.shell.test_drafts import RESTORED_MESSAGE, end_session, log_in
from tests.browser.test_clicks import RECALL
from tests.browser.window import LOOPBACK, PHONE, Window
from tests.support import factories
from tests.support.live_stack import wait_until
from tests.support.portal import scan as scanned


@pytest.fixture
def member(brand):
    customer = factories.customer(brand, email="anna@example.com", first_name="Anna", last_name="Adler")
    factories.points(customer, brand, 100)
    return factories.account(customer, brand)


def open_adjustment(window, member):
    """Open the page of an adjustment, and type fifteen points and a reason."""
    manager = window("manager")
    manager.goto(f"loyalty/userpoints/{member.pk}/adjust/")
    manager.page.locator("[name=amount]").fill("15")
    manager.page.locator("[name=reason]").fill("A kind word")
    return manager


def balance(member):
    member.refresh_from_db()
    return member.points


def open_checked_file(window, brand):
    """Upload a valid file, which waits to be committed."""
    factories.product(brand, sku="BEANS")
    factories.batch(brand, prefix="NW-", number_width=5, quantity=50, assigned=False)
    manager = window("manager")
    manager.goto("authcodes/import/add/")
    header = "product_sku,auth_code_start,auth_code_end,location,points_per_scan"
    manager.page.locator("input[type=file]").set_input_files(csv_file(f"{header}\nBEANS,NW-00001,NW-00050,Pune,10\n"))
    manager.button("Commit").wait_for()
    return manager


class TestDoubleClick:
    def test_points_are_adjusted_once(self, window, member):
        manager = open_adjustment(window, member)
        manager.button("Add points").dblclick(no_wait_after=True)
        manager.wait_for_text("What happened")

        assert balance(member) == 115
        assert LoyaltyTransaction.objects.filter(note="A kind word").count() == 1

    def test_enter_does_not_press_either_button(self, window, member):
        manager = open_adjustment(window, member)
        manager.page.locator("[name=amount]").press("Enter")
        manager.button("Deduct points").click()
        manager.wait_for_text("The balance is now 85.")

        assert balance(member) == 85

    def test_product_is_recalled_once(self, window, brand):
        NotificationSettings.objects.create(brand=brand)
        batch = factories.batch(brand, quantity=3)
        scanned(batch.codes.earliest("pk"), user=factories.customer(brand))
        owner = window()
        owner.goto(f"authcodes/recall/add/?batch={batch.pk}")
        for name, value in RECALL.items():
            owner.page.locator(f"[name={name}]").fill(value)
        mail = owner.page.frame_locator("[data-drawing^=mail][open] iframe").locator("body")
        expect(mail).to_contain_text("The lid may break.", timeout=15_000)
        owner.button("Recall and send").dblclick(no_wait_after=True)
        owner.page.wait_for_url("**/recall/*/change/")

        assert Recall.objects.get().recall_id == "R-7"

    def test_file_is_committed_once(self, window, brand):
        manager = open_checked_file(window, brand)
        manager.button("Commit").dblclick(no_wait_after=True)
        manager.wait_for_text("Committed")

        assert AuthCode.objects.filter(product__sku="BEANS").count() == 50
        assert manager.complaints == []

    def test_campaign_is_launched_once(self, window):
        manager = window("manager")
        manager.goto("campaigns/campaign/new/?template=collect")
        manager.page.get_by_role("button", name="6. Launch").click()
        manager.button("Launch campaign").dblclick(no_wait_after=True)
        manager.page.wait_for_url("**/campaign/*/page/")

        assert Campaign.objects.count() == 1

    def test_reward_is_marked_as_used_once(self, window, brand, member):
        code = factories.redemption(member.user, factories.reward(brand, name="A mug", cost=10)).code
        support = window("support")
        support.goto("loyalty/redemption/till/")
        support.page.get_by_label("Code", exact=True).fill(grouped(code))
        support.page.keyboard.press("Enter")
        support.button("Mark as used").dblclick(no_wait_after=True)
        support.page.get_by_role("heading", name="Just handed over: A mug").wait_for()

        expect(support.page.locator("#till-count")).to_have_text("Handed over by you today: 1")

    def test_customer_scans_and_registers_once(self, browser, portal, brand):
        BrandHostname.objects.filter(brand=brand).update(hostname=LOOPBACK)
        phone = Window(browser, portal.url, PHONE)
        page = phone.page
        page.goto(f"/s/{factories.code(brand)}")
        page.locator("#check button").dblclick(no_wait_after=True)
        expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")
        form = page.locator("form[data-act=register]")
        form.get_by_label("E-mail address").fill("new@example.com")
        form.get_by_label("Password").fill("a long pass phrase")
        form.get_by_role("button").dblclick(no_wait_after=True)
        expect(page.get_by_role("heading", name="Confirm your e-mail address")).to_be_visible()

        assert (Scan.objects.count(), EmailConfirmation.objects.count()) == (1, 1)
        assert phone.complaints == []
        phone.close()


class TestBackButton:
    def test_points_are_not_adjusted_again(self, window, member):
        manager = open_adjustment(window, member)
        manager.page.on("dialog", lambda dialog: dialog.accept())
        manager.button("Add points").click()
        manager.wait_for_text("The balance is now 115.")
        manager.page.go_back()
        manager.button("Add points").click()
        manager.page.wait_for_load_state()

        assert balance(member) == 115

    def test_committed_file_cannot_be_committed_again(self, window, brand):
        manager = open_checked_file(window, brand)
        address = manager.page.url
        manager.button("Commit").click()
        manager.wait_for_text("Committed")
        manager.page.go_back()
        manager.leave_for(address)

        manager.wait_for_text("Committed")
        assert manager.button("Commit").count() == 0

    def test_customer_does_not_scan_again(self, browser, portal, brand):
        BrandHostname.objects.filter(brand=brand).update(hostname=LOOPBACK)
        phone = Window(browser, portal.url, PHONE)
        page = phone.page
        page.goto(f"/s/{factories.code(brand)}")
        page.locator("#check button").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")
        page.goto("/account")
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")

        assert Scan.objects.count() == 1
        phone.close()


class TestOutdatedTab:
    def test_does_not_commit_a_file_discarded_in_another_tab(self, window, brand):
        manager = open_checked_file(window, brand)
        other = manager.context.new_page()
        other.goto(manager.page.url)
        other.get_by_role("button", name="Discard").click()
        other.get_by_text("Discarded. Nothing was imported.").wait_for()
        manager.button("Commit").click()
        manager.page.wait_for_load_state()

        expect(manager.page.get_by_role("button", name="Commit", exact=True)).to_have_count(0)
        assert not AuthCode.objects.filter(product__isnull=False).exists()
        assert Import.objects.get().status == Import.Status.DISCARDED

    def test_does_not_use_a_reward_code_used_in_another_tab(self, window, brand, member):
        reward = factories.redemption(member.user, factories.reward(brand, name="A mug", cost=10))
        manager = window("manager")
        path = f"/admin/loyalty/userpoints/{member.pk}/change/"
        manager.page.goto(path)
        other = manager.context.new_page()
        other.goto(path)
        other.get_by_role("button", name="Hand over A mug").click()
        other.get_by_text("Used. Hand over: A mug").first.wait_for()
        manager.page.get_by_role("button", name="Hand over A mug").click()
        manager.page.wait_for_load_state()

        message = manager.page.get_by_role("status").or_(manager.page.get_by_role("alert"))
        expect(message.filter(has_text="used").first).to_be_visible()
        expect(manager.page.get_by_text("Used. Hand over: A mug").filter(visible=True)).to_have_count(0)
        assert Redemption.objects.get(pk=reward.pk).status == "used"


class TestExpiredSession:
    def test_points_are_unchanged_and_the_reason_is_restored(self, window, member):
        manager = open_adjustment(window, member)
        end_session(manager)
        manager.button("Add points").click()
        log_in(manager, "manager1@example.com")
        manager.wait_for_text(RESTORED_MESSAGE)

        assert balance(member) == 100
        assert manager.page.locator("[name=reason]").input_value() == "A kind word"
        manager.page.locator("[name=amount]").fill("15")
        manager.button("Add points").click()
        manager.wait_for_text("The balance is now 115.")

    def test_file_waits_to_be_committed_after_the_login(self, window, brand):
        manager = open_checked_file(window, brand)
        end_session(manager)
        manager.button("Commit").click()
        log_in(manager, "manager1@example.com")
        manager.button("Commit").click()
        manager.wait_for_text("Committed")

        wait_until(lambda: AuthCode.objects.filter(product__sku="BEANS").count() == 50)
