"""Staff import members and partner codes by file: upload, preview, confirm."""

import os
from pathlib import Path

import pytest

from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import PoolCode
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories

MEMBERS = "email,first_name,last_name,phone,wants_notifications,opening_balance\n"
GOOD = "ada@example.com,Ada,Lovelace,+4930123456,yes,120\nbob@example.com,Bob,,,no,12.5\n"
CODES = "reward,code,expires_at\nVoucher,PARTNER-0001,2190-12-31\nVoucher,PARTNER-0002,\n"


def upload(staff, path, content):
    staff.goto(path)
    file = {"name": "file.csv", "mimeType": "text/csv", "buffer": content.encode()}
    staff.page.locator("input[type=file]").set_input_files(file)
    staff.button("Preview").click()


def save_screenshot(staff, name):
    """Save a screenshot if PICTURES names a folder."""
    if folder := os.environ.get("PICTURES"):
        staff.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
        staff.page.evaluate("document.documentElement.classList.add('dark')")
        staff.page.screenshot(path=Path(folder) / f"{name}-dark.png", full_page=True)
        staff.page.evaluate("document.documentElement.classList.remove('dark')")


@pytest.mark.parametrize(("size", "name"), [(DESKTOP, "desktop"), (PHONE, "phone")])
def test_member_and_partner_code_files_are_previewed_and_confirmed(window, brand, size, name):
    factories.reward(brand, name="Voucher", uses_pool=True)
    staff = window("manager", size)
    staff.goto("loyalty/userpoints/import/")
    assert staff.audit() == []
    save_screenshot(staff, f"members-upload-{name}")

    upload(staff, "loyalty/userpoints/import/", MEMBERS + GOOD)
    staff.wait_for_text("What would change", "opening_balance")
    assert staff.audit() == []
    save_screenshot(staff, f"members-preview-{name}")
    staff.button("Confirm").click()
    staff.wait_for_text("2 rows added")
    assert UserPoints.objects.get(user__email="ada@example.com").points == 120

    upload(staff, "loyalty/poolcode/import/", CODES)
    staff.wait_for_text("What would change")
    save_screenshot(staff, f"codes-preview-{name}")
    staff.button("Confirm").click()
    staff.wait_for_text("2 rows added", "In the pool")
    assert PoolCode.objects.count() == 2
    assert staff.audit() == []
    save_screenshot(staff, f"codes-{name}")
    staff.goto("loyalty/reward/")
    staff.wait_for_text("2 left: import more")
    save_screenshot(staff, f"rewards-{name}")
