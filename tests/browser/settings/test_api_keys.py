"""A hub key is created with its scopes, and its page shows its calls, in a browser."""

import os
import re

import pytest
from django.utils import timezone

from brands.identity import api_keys
from brands.models.credentials import ApiKey
from tests.browser.window import DESKTOP, PHONE, Window
from tests.support.api import Api


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_api_key_gets_its_scopes_and_its_page_shows_its_calls(portal, brand, window, size):
    owner = window("owner", size)
    owner.goto("brands/apikey/add/")
    page = owner.page
    assert page.locator("[name=scopes]:checked").evaluate_all("found => found.map(it => it.value)") == ["read"]
    page.locator("[name=name]").fill("Shop system")
    page.locator("[name=kind]").select_option("hub")
    page.locator("[name=scopes][value=members]").check()
    page.locator("[name=networks]").fill("203.0.113.0/24")
    page.locator("[name=reason]").fill("New shop")
    save_screenshot(owner, f"key-form-{size[0]}")
    assert owner.audit() == []
    page.locator("[name=_save]").first.click()
    page.wait_for_load_state()

    key = ApiKey.objects.get(name="Shop system")
    assert (key.scopes, key.networks) == (["read", "members"], ["203.0.113.0/24"])
    _, text = api_keys.create(brand=brand, kind="hub", name="Till", at=timezone.now(), scopes=["read", "till"])
    Api(brand, {"api-key": text}).get("brand/levels")
    owner.goto(f"brands/apikey/{ApiKey.objects.get(name='Till').pk}/change/")
    owner.wait_for_text("GET /api/v1/brand/levels", re.compile("Till: check and use reward codes"))
    save_screenshot(owner, f"key-page-{size[0]}")
    assert owner.audit() == []
    assert owner.complaints == []


def save_screenshot(window: Window, name: str) -> None:
    """Save screenshots if SCREENSHOTS names a folder."""
    if folder := os.environ.get("SCREENSHOTS"):
        for scheme in ("dark", "light"):
            window.page.emulate_media(color_scheme=scheme)
            window.page.wait_for_timeout(300)
            window.page.screenshot(path=f"{folder}/{name}-{scheme}.png", full_page=True)
