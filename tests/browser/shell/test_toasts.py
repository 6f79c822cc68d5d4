"""Messages as toasts: announced, shown long enough to be read, undone with a click, and present without scripts."""

import re

from authcodes.models.codes import AuthCode
from brands.models.undo_offers import UndoOffer
from tests.browser.window import PHONE, Window
from tests.support import factories
from tests.support.portal import staff


def deactivate(window: Window, code: AuthCode) -> None:
    window.goto(f"authcodes/authcode/{code.pk}/deactivate/")
    window.page.get_by_label("Reason").fill("Lost")
    window.button("Deactivate codes").click()


def is_deactivated(code: AuthCode) -> bool:
    return AuthCode.objects.get(pk=code.pk).deactivated_at is not None


def test_deactivated_code_is_reactivated_with_one_click(window, brand):
    code = factories.code(brand)
    owner = window()
    deactivate(owner, code)
    assert is_deactivated(code)

    toast = owner.page.get_by_role("status").filter(has_text="Deactivated: 1")
    toast.wait_for()
    assert owner.axe() == []
    toast.get_by_role("button", name="Undo").click()
    owner.page.get_by_role("status").filter(has_text="Undone.").wait_for()

    assert not is_deactivated(code)
    assert owner.page.url.endswith(f"/authcodes/authcode/{code.pk}/change/")


def test_toast_with_undo_stays_and_others_disappear_once_read(window, brand):
    code = factories.code(brand)
    owner = window("owner", PHONE)
    owner.page.clock.install()
    deactivate(owner, code)
    toast = owner.page.locator(".toast")
    owner.page.clock.run_for(120_000)
    assert toast.count() == 1

    toast.get_by_role("button", name="Undo").click()
    owner.page.locator(".toast", has_text="Undone.").wait_for()
    owner.page.clock.run_for(8_000)
    assert toast.count() == 1
    toast.hover()
    owner.page.clock.run_for(60_000)
    assert toast.count() == 1
    owner.page.mouse.move(5, 5)
    owner.page.clock.run_for(20_000)
    assert toast.count() == 0


def test_error_stays_until_it_is_closed(window, brand):
    code = factories.code(brand)
    owner = window()
    deactivate(owner, code)
    UndoOffer.objects.all().delete()
    owner.page.get_by_role("button", name="Undo").click()

    error = owner.page.get_by_role("alert").filter(has_text="This can no longer be undone here")
    error.wait_for()
    error.get_by_role("button", name="Close message").click()
    assert owner.page.locator(".toast").count() == 0


def test_without_scripts_the_message_is_on_the_page_and_can_be_undone(portal, browser, brand):
    code = factories.code(brand)
    user = staff(brand, email="olivia@example.com", password=factories.PASSWORD)
    context = browser.new_context(base_url=portal.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/admin/")
    page.get_by_label("E-mail").fill(user.email)
    page.get_by_label("Password").fill(factories.PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.goto(f"/admin/authcodes/authcode/{code.pk}/deactivate/")
    page.get_by_label("Reason").fill("Lost")
    page.get_by_role("button", name="Deactivate codes").click()

    toast = page.locator(".toast", has_text="Deactivated: 1")
    assert toast.evaluate("toast => getComputedStyle(toast.parentElement).position") == "static"
    assert not toast.get_by_role("button", name="Close message").is_visible()
    toast.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.").wait_for()
    assert not is_deactivated(code)
    assert re.search(r"/change/$", page.url)
    context.close()
