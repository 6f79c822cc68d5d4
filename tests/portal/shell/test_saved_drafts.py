"""The browser hears which drafts were saved, and only those."""

from typing import Any

import pytest
from django.test import Client

from brands.models.tenants import Brand
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff

pytestmark = pytest.mark.django_db
DRAFT = "0a1b2c"


def saved(response: Any) -> str:
    cookie = response.cookies.get("portal_saved")
    return cookie.value if cookie else ""


def sent(client: Client, brand: Brand, **fields: Any) -> Any:
    where = address("authcodes.product", "add")
    form = form_of(client.get(where))
    return client.post(where, {**form, "brand": brand.pk, "title": "Mug", "draft": DRAFT, **fields})


def test_a_form_that_is_saved(brand: Brand) -> None:
    assert saved(sent(browser(staff(brand)), brand, sku="mug")) == DRAFT


def test_not_one_that_is_refused(brand: Brand) -> None:
    assert saved(sent(browser(staff(brand)), brand, sku="")) == ""


def test_not_one_of_an_ended_session(brand: Brand) -> None:
    answer = Client().post(address("authcodes.product", "add"), {"draft": DRAFT})

    assert answer.status_code == 302
    assert saved(answer) == ""


def test_not_one_that_is_answered_by_an_error_message(brand: Brand) -> None:
    client = browser(staff(brand))
    where = address("authcodes.product")

    answer = client.post(where, {"action": "delete_selected", "_selected_action": "x", "draft": DRAFT})

    assert saved(answer) == ""


@pytest.mark.parametrize("draft", ["", "<script>", "x" * 10, "a.", ".".join(["a"] * 11), "a; path=/", "a\r\nb"])
def test_nothing_that_is_no_id_gets_into_a_cookie(brand: Brand, draft: str) -> None:
    assert saved(sent(browser(staff(brand)), brand, sku="mug", draft=draft)) == ""


def test_two_steps_of_one_thing(brand: Brand) -> None:
    code = factories.code(brand)
    where = address("authcodes.authcode", "deactivate", code.pk)

    assert saved(browser(staff(brand)).post(where, {"reason": "Lost", "draft": "aa.bb"})) == "aa.bb"
