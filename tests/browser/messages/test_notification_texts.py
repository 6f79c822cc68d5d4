"""A marketer writes a notification's text and sees it, or what is wrong with it, while typing."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.django_db(transaction=True)


def test_text_is_previewed_while_it_is_typed(window, brand):
    staff = window("manager")
    preview = staff.page.locator("[data-notification-draft]")
    staff.goto("loyalty/notificationtemplate/add/?template=NOTIFY_LEVEL_REACHED&channel=email&language=en")

    staff.page.locator("[name=subject]").fill("Well done")
    staff.page.locator("[name=body]").fill("You have reached {level_name}.")
    expect(preview.locator("[data-part=subject]")).to_have_text("Well done")

    staff.page.locator("[name=body]").fill("You have reached {platinum}.")
    expect(preview.locator("[data-part=problem]")).to_contain_text("{platinum} is not available here.")


def test_new_text_requests_no_preview_before_everything_is_chosen(window, brand):
    staff = window("manager")
    with staff.page.expect_response(lambda response: response.url.endswith("notification_editor.js")):
        staff.goto("loyalty/notificationtemplate/add/")
    staff.page.locator("[name=subject]").fill("Well done")
    staff.page.wait_for_timeout(800)  # longer than the pause after typing; a request would fail, and with it the test

    expect(staff.page.locator("[data-notification-draft] [data-part=problem]")).to_be_hidden()
