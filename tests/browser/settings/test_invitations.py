"""A colleague is invited in the portal and accepts by the link, in a browser."""

import os
import re

import pytest
from django.utils import timezone

from brands.models.people import StaffRole
from brands.staff_login import invitations
from brands.staff_login.models import Invitation
from tests.browser.window import DESKTOP, PHONE, Window

PASSWORD = "an0ther-pass-phrase"


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_colleague_is_invited_and_accepts(portal, browser, brand, window, size):
    owner = window("owner", size)
    owner.goto("brands/staffrole/")
    if size == PHONE:  # the actions of the list are behind a menu
        owner.goto("brands/staffrole/invite")
    else:
        owner.link("Invite a colleague").first.click()
    owner.page.get_by_label("E-mail address").fill("nora@example.com")
    assert owner.page.locator("[name=role]").input_value() == ""
    save_screenshot(owner, f"invite-{size[0]}")
    assert owner.audit() == []
    owner.page.locator("[name=role]").select_option("support")
    owner.page.locator("[name=_save]").first.click()
    owner.wait_for_text("nora@example.com", "Pending")
    save_screenshot(owner, f"invitations-{size[0]}")

    token = invitations.new_token(invitation_id=Invitation.objects.get().pk, at=timezone.now())
    colleague = Window(browser, portal.url, size)
    colleague.goto(f"invitation/{token}/")
    colleague.wait_for_text("invites nora@example.com to work for Northwind Coffee")
    save_screenshot(colleague, f"join-{size[0]}")
    assert colleague.audit() == []
    colleague.page.get_by_label("First name").fill("Nora")
    colleague.page.locator("[name=password1]").fill(PASSWORD)
    colleague.page.locator("[name=password2]").fill(PASSWORD)
    colleague.button("Accept the invitation").click()
    colleague.page.wait_for_url(re.compile("/admin/$"))

    assert StaffRole.objects.get(user__email="nora@example.com").role == "support"
    assert colleague.complaints == []
    colleague.close()


def save_screenshot(window: Window, name: str) -> None:
    """Save screenshots if SCREENSHOTS names a folder."""
    if folder := os.environ.get("SCREENSHOTS"):
        window.page.emulate_media(color_scheme="dark")
        window.page.screenshot(path=f"{folder}/{name}-dark.png")
        window.page.emulate_media(color_scheme="light")
        window.page.screenshot(path=f"{folder}/{name}.png")
