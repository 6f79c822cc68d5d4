"""A colleague is invited in the portal and comes in by the link, in a browser."""

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
def test_a_colleague_is_invited_and_comes_in(portal, browser, brand, window, size):
    owner = window("owner", size)
    owner.goto("brands/staffrole/")
    if size == PHONE:  # the list's actions are behind its menu
        owner.goto("brands/staffrole/invite")
    else:
        owner.link("Invite a colleague").first.click()
    owner.page.get_by_label("E-mail address").fill("nora@example.com")
    assert owner.page.locator("[name=role]").input_value() == ""
    pictured(owner, f"invite-{size[0]}")
    assert owner.audit() == []
    owner.page.locator("[name=role]").select_option("support")
    owner.page.locator("[name=_save]").first.click()
    owner.wait_for_text("nora@example.com", "Pending")
    pictured(owner, f"invitations-{size[0]}")

    token = invitations.new_token(invitation_id=Invitation.objects.get().pk, at=timezone.now())
    newcomer = Window(browser, portal.url, size)
    newcomer.goto(f"invitation/{token}/")
    newcomer.wait_for_text("invites nora@example.com to work for Northwind Coffee")
    pictured(newcomer, f"join-{size[0]}")
    assert newcomer.audit() == []
    newcomer.page.get_by_label("First name").fill("Nora")
    newcomer.page.locator("[name=password1]").fill(PASSWORD)
    newcomer.page.locator("[name=password2]").fill(PASSWORD)
    newcomer.button("Accept the invitation").click()
    newcomer.page.wait_for_url(re.compile("/admin/$"))

    assert StaffRole.objects.get(user__email="nora@example.com").role == "support"
    assert newcomer.complaints == []
    newcomer.close()


def pictured(window: Window, name: str) -> None:
    """A picture for whoever asks for one."""
    if folder := os.environ.get("SCREENSHOTS"):
        window.page.emulate_media(color_scheme="dark")
        window.page.screenshot(path=f"{folder}/{name}-dark.png")
        window.page.emulate_media(color_scheme="light")
        window.page.screenshot(path=f"{folder}/{name}.png")
