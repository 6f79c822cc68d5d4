"""What is typed in a form is not lost with the session, the page or the way back; and no other user sees it."""

import os
import re

import pytest

from authcodes.models.products import Product
from brands.models.people import StaffRole
from loyalty.models.members.member_notes import MemberNote
from loyalty.models.rewards import Reward
from tests.browser.window import DESKTOP, PHONE, Window
from tests.support import factories
from tests.support.portal import staff

RESTORED_MESSAGE = "has been restored"


@pytest.fixture
def user(brand):
    return staff(brand, role="owner", email="olivia@example.com", password=factories.PASSWORD)


def log_in(window: Window, email: str) -> None:
    window.page.get_by_label("E-mail").fill(email)
    window.page.get_by_label("Password").fill(factories.PASSWORD)
    window.page.keyboard.press("Enter")


def end_session(window: Window) -> None:
    cookies = [each for each in window.context.cookies() if each["name"] != "sessionid"]
    window.context.clear_cookies()
    window.context.add_cookies(cookies)


def save_after_the_session_expired(window: Window, user) -> None:
    """Fill the form of a product, lose the session, and save."""
    window.begin_session(user)
    window.goto("authcodes/product/add/")
    window.page.get_by_label("Sku").fill("mug")
    window.page.locator("#id_title").fill("Blue mug")
    end_session(window)
    window.page.locator("[name=_save]").first.click()
    window.page.wait_for_url(re.compile("/admin/login/"))


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_form_is_restored_after_the_login_and_can_be_saved(portal, browser, user, size):
    window = Window(browser, portal.url, size)
    save_after_the_session_expired(window, user)

    log_in(window, user.email)
    window.wait_for_text(RESTORED_MESSAGE)
    save_screenshot(window, f"draft-{size[0]}")
    assert window.page.locator("#id_title").input_value() == "Blue mug"
    window.page.locator("[name=_save]").first.click()
    window.wait_for_text("was added successfully")
    window.goto("authcodes/product/add/")

    assert Product.objects.get().title == "Blue mug"
    assert window.page.locator("#id_title").input_value() == ""
    window.close()


def test_another_user_in_the_same_tab_does_not_see_the_draft(portal, browser, user, brand):
    other = staff(brand, role="owner", email="oscar@example.com", password=factories.PASSWORD)
    window = Window(browser, portal.url, DESKTOP)
    save_after_the_session_expired(window, user)

    log_in(window, other.email)
    window.page.wait_for_url(re.compile("/product/add/$"))
    window.page.wait_for_load_state()

    assert window.page.locator("#id_title").input_value() == ""
    assert "Blue mug" not in window.page.evaluate("JSON.stringify(sessionStorage)")
    window.close()


def test_passwords_and_secrets_are_not_stored_in_drafts(portal, browser, user):
    window = Window(browser, portal.url, DESKTOP)
    window.begin_session(user)
    window.goto("staff_login/signinsettings/add/")
    window.page.locator("[name=oidc_client_secret]").fill("hush-hush")
    window.page.locator("[name=oidc_issuer]").fill("https://login.example.com")

    stored = window.page.evaluate("JSON.stringify(sessionStorage)")
    assert "login.example.com" in stored
    assert "hush" not in stored
    window.close()


def add_product(window: Window) -> None:
    window.goto("authcodes/product/add/")
    window.page.get_by_label("Sku").fill("mug")
    window.page.locator("#id_title").fill("Blue mug")


def title_of(window: Window) -> str:
    return str(window.page.locator("#id_title").input_value())


@pytest.fixture
def owner(portal, browser, user):
    window = Window(browser, portal.url, DESKTOP)
    window.page.on("dialog", lambda dialog: dialog.accept())  # leave the page although something was typed
    window.begin_session(user)
    yield window
    assert window.complaints == []
    window.close()


class TestUnsavedDraft:
    def test_is_offered_and_can_be_restored(self, owner):
        add_product(owner)
        owner.goto("")
        owner.goto("authcodes/product/add/")
        owner.wait_for_text("You have an unsaved draft from")
        assert title_of(owner) == ""
        assert owner.axe() == []

        owner.button("Restore").click()

        assert title_of(owner) == "Blue mug"
        owner.page.locator("[name=_save]").first.click()
        owner.wait_for_text("was added successfully")
        owner.goto("authcodes/product/add/")
        assert owner.page.get_by_text("unsaved draft").count() == 0

    def test_can_be_discarded_permanently(self, owner):
        add_product(owner)
        owner.goto("authcodes/product/add/")
        owner.button("Discard").click()
        owner.goto("authcodes/product/add/")

        assert owner.page.get_by_text("unsaved draft").count() == 0
        assert "Blue mug" not in owner.page.evaluate("JSON.stringify(sessionStorage)")

    def test_belongs_to_the_brand_that_was_shown(self, owner, user):
        other = factories.brand(name="Harbour Tea")
        StaffRole.objects.create(user=user, brand=other, role="owner")
        add_product(owner)
        owner.goto("")
        with owner.page.expect_navigation():
            owner.page.get_by_label("Brand to show").filter(visible=True).select_option(label="Harbour Tea")
        owner.leave_for("/admin/authcodes/product/add/")

        assert owner.page.get_by_text("unsaved draft").count() == 0

    def test_is_deleted_on_logging_out(self, owner):
        add_product(owner)
        owner.goto("")
        with owner.page.expect_navigation():
            owner.page.evaluate("document.querySelector('form[action$=\"/logout/\"]').requestSubmit()")

        assert owner.page.evaluate("JSON.stringify(sessionStorage)").count("Blue mug") == 0

    def test_names_the_files_to_choose_again(self, owner):
        add_product(owner)
        picture = {"name": "mug.png", "mimeType": "image/png", "buffer": b"no picture"}
        owner.page.locator("[name=picture_file]").set_input_files(picture)
        owner.goto("authcodes/product/add/")

        owner.wait_for_text("Choose these files again: New picture.")

    def test_of_a_custom_form_can_be_restored(self, owner, brand):
        account = factories.account(factories.customer(brand), brand)
        owner.goto(f"loyalty/userpoints/{account.pk}/change/")
        owner.page.locator("#id_text").fill("Called about the mug")
        owner.goto("")
        owner.goto(f"loyalty/userpoints/{account.pk}/change/")
        owner.button("Restore").click()
        assert owner.page.locator("#id_text").input_value() == "Called about the mug"

        owner.button("Save note").click()
        owner.wait_for_text("The note is saved.")
        assert owner.page.get_by_text("unsaved draft").count() == 0

    def test_is_kept_when_another_form_of_the_page_is_sent(self, owner, user, brand):
        account = factories.account(factories.customer(brand), brand)
        MemberNote.objects.create(account=account, brand=brand, author=user, text="Called in May")
        owner.goto(f"loyalty/userpoints/{account.pk}/change/")
        owner.page.locator("#id_text").fill("Called about the mug")
        owner.goto("")
        owner.goto(f"loyalty/userpoints/{account.pk}/change/")
        owner.wait_for_text("You have an unsaved draft from")
        with owner.page.expect_navigation():
            owner.page.get_by_role("button", name="Delete your note").click()
        assert not MemberNote.objects.exists()

        owner.button("Restore").click()
        assert owner.page.locator("#id_text").input_value() == "Called about the mug"

    def test_is_deleted_by_the_second_step(self, owner, brand):
        address = f"authcodes/batchrange/{factories.code(brand).batch_id}/deactivate/"
        owner.goto(address)
        owner.page.locator("[name=reason]").fill("Stolen")
        owner.button("Show what changes").click()
        owner.button("Deactivate codes").click()
        owner.wait_for_text("Deactivated: 1")
        owner.goto(address)

        assert "Stolen" not in owner.page.evaluate("JSON.stringify(sessionStorage)")


def test_wizard_is_restored_after_the_login(owner, user):
    owner.goto("campaigns/campaign/new/?template=collect")
    owner.page.get_by_role("button", name="5").or_(owner.page.locator("[name=name]")).first.wait_for()
    owner.page.locator("[name=name]").evaluate(
        "field => { field.value = 'Ten bags'; field.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    end_session(owner)
    owner.page.locator("[name=_later]").evaluate("button => button.click()")
    owner.page.wait_for_url(re.compile("/admin/login/"))
    log_in(owner, user.email)

    owner.wait_for_text(RESTORED_MESSAGE)
    assert owner.page.locator("[name=name]").input_value() == "Ten bags"


def test_going_back_after_saving_reports_that_the_form_was_saved(owner):
    add_product(owner)
    owner.page.locator("[name=_save]").first.click()
    owner.wait_for_text("was added successfully")
    owner.page.go_back()

    owner.wait_for_text("You have saved this form already.")
    owner.button("Reload").click()
    owner.page.wait_for_load_state()
    assert title_of(owner) == ""
    assert owner.page.get_by_text("saved this form already").count() == 0


def test_double_click_saves_once(owner, brand):
    owner.goto("loyalty/reward/add/")
    owner.page.locator("#id_name").fill("Mug")
    owner.page.locator("#id_cost").fill("5")
    owner.page.locator("[name=_save]").first.dblclick()
    owner.wait_for_text("was added successfully")

    assert Reward.objects.filter(brand=brand).count() == 1


class TestTwoTabs:
    """Two tabs change one product: the older tab shows both values, and its user chooses."""

    @pytest.fixture
    def conflicting_product(self, owner, brand):
        product = factories.product(brand, sku="mug", title="Mug")
        path = f"/admin/authcodes/product/{product.pk}/change/"
        owner.page.goto(path)
        newer = owner.context.new_page()
        newer.goto(path)
        newer.locator("#id_title").fill("Green mug")
        newer.locator("[name=_save]").first.click()
        newer.get_by_text("was changed successfully").first.wait_for()
        newer.close()
        owner.page.locator("#id_title").fill("Blue mug")
        owner.page.locator("[name=_save]").first.click()
        owner.wait_for_text("Someone else changed this after you opened it")
        table = owner.page.get_by_role("region", name="Your values and the saved ones")
        assert "Blue mug" in table.inner_text()
        assert "Green mug" in table.inner_text()
        assert owner.axe() == []
        return product

    def test_user_can_keep_their_own_value(self, owner, conflicting_product):
        assert title_of(owner) == "Blue mug"
        owner.page.locator("[name=_save]").first.click()
        owner.wait_for_text("was changed successfully")

        conflicting_product.refresh_from_db()
        assert conflicting_product.title == "Blue mug"

    def test_user_can_take_the_saved_value(self, owner, conflicting_product):
        owner.button("Use the saved value of Title").click()
        assert title_of(owner) == "Green mug"
        owner.page.locator("[name=_save]").first.click()
        owner.wait_for_text("was changed successfully")

        conflicting_product.refresh_from_db()
        assert conflicting_product.title == "Green mug"


def save_screenshot(window: Window, name: str) -> None:
    """Save a screenshot if SCREENSHOTS names a folder."""
    if folder := os.environ.get("SCREENSHOTS"):
        window.page.screenshot(path=f"{folder}/{name}.png")
