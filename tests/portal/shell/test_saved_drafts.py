"""A cookie names the browser's drafts whose forms were saved, and no others."""

from typing import Any

import pytest
from django.test import Client

from brands.models.tenants import Brand
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db
DRAFT = "0a1b2c"


def saved_draft_ids(response: Any) -> str:
    cookie = response.cookies.get("portal_saved")
    return cookie.value if cookie else ""


def submit_product(client: Client, brand: Brand, **fields: Any) -> Any:
    url = address("authcodes.product", "add")
    form = form_of(client.get(url))
    return client.post(url, {**form, "brand": brand.pk, "title": "Mug", "draft": DRAFT, **fields})


def test_saved_form_sets_the_cookie(brand: Brand) -> None:
    assert saved_draft_ids(submit_product(browser(staff(brand)), brand, sku="mug")) == DRAFT


def test_form_that_is_answered_with_a_secret_sets_the_cookie(brand: Brand) -> None:
    client, url = browser(staff(brand)), address("brands.apikey", "add")
    form = {**form_of(client.get(url)), "name": "Shop", "kind": "app", "reason": "A new shop", "draft": DRAFT}

    created, rejected = client.post(url, form), client.post(url, {**form, "name": ""})

    assert "Copy the new key" in text(created)
    assert (saved_draft_ids(created), saved_draft_ids(rejected)) == (DRAFT, "")


def test_rejected_form_does_not_set_the_cookie(brand: Brand) -> None:
    assert saved_draft_ids(submit_product(browser(staff(brand)), brand, sku="")) == ""


def test_form_of_an_ended_session_does_not_set_the_cookie(brand: Brand) -> None:
    response = Client().post(address("authcodes.product", "add"), {"draft": DRAFT})

    assert response.status_code == 302
    assert saved_draft_ids(response) == ""


def test_list_action_with_an_error_does_not_set_the_cookie(brand: Brand) -> None:
    client = browser(staff(brand))
    url = address("authcodes.product")

    response = client.post(url, {"action": "delete_selected", "_selected_action": "x", "draft": DRAFT})

    assert saved_draft_ids(response) == ""


@pytest.mark.parametrize("draft", ["", "<script>", "x" * 10, "a.", ".".join(["a"] * 11), "a; path=/", "a\r\nb"])
def test_invalid_draft_id_does_not_set_the_cookie(brand: Brand, draft: str) -> None:
    assert saved_draft_ids(submit_product(browser(staff(brand)), brand, sku="mug", draft=draft)) == ""


def test_several_draft_ids_are_saved_in_one_cookie(brand: Brand) -> None:
    code = factories.code(brand)
    url = address("authcodes.authcode", "deactivate", code.pk)

    assert saved_draft_ids(browser(staff(brand)).post(url, {"reason": "Lost", "draft": "aa.bb"})) == "aa.bb"
