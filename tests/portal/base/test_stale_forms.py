"""Two tabs on one row: the older one overwrites nothing in silence."""

from typing import Any

import pytest
from django.test import Client

from brands.models.tenants import Brand
from brands.staff_login.models import SignInSettings
from portal.base import stale_forms
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, errors, form_of, staff, text


@pytest.fixture
def product(brand: Brand) -> Any:
    return factories.product(brand, sku="white", title="Mug")


def opened(client: Client, row: Any) -> tuple[str, dict[str, Any]]:
    """A tab with the row's page: where it sends its form, and what."""
    where = address(row._meta.label_lower, "change", row.pk)
    page = client.get(where)
    return where, {**form_of(page), "row_version": page.context["adminform"].form.row_version}


@pytest.mark.django_db
class TestStaleTab:
    def test_is_refused_with_what_changed_and_by_whom(self, brand: Brand, product: Any) -> None:
        first, second = (browser(staff(brand, email=f"{name}@example.com")) for name in ("anna", "ben"))
        where, first_form = opened(first, product)
        _where, second_form = opened(second, product)
        first.post(where, {**first_form, "title": "Blue mug"})

        response = second.post(where, {**second_form, "sku": "typed"})

        [message] = errors(response)["__all__"]
        assert "Title is now “Blue mug” (anna@example.com, " in message
        product.refresh_from_db()
        assert (product.title, product.sku) == ("Blue mug", "white")

    def test_keeps_what_was_typed_and_shows_the_rest_as_it_is_now(self, brand: Brand, product: Any) -> None:
        client = browser(staff(brand))
        where, form_data = opened(client, product)
        client.post(where, {**form_data, "title": "Blue mug"})

        refused = client.post(where, {**form_data, "sku": "typed"})
        form = refused.context["adminform"].form
        again = client.post(where, {**form_of(refused), "row_version": form.row_version})

        assert (form["title"].value(), form["sku"].value()) == ("Blue mug", "typed")
        assert again.status_code == 302
        product.refresh_from_db()
        assert (product.title, product.sku) == ("Blue mug", "typed")

    def test_that_sends_the_same_twice_is_not_refused(self, brand: Brand, product: Any) -> None:
        client = browser(staff(brand))
        where, form_data = opened(client, product)

        answers = [client.post(where, {**form_data, "title": "Blue mug"}).status_code for _click in range(2)]

        assert answers == [302, 302]

    def test_control_a_page_without_a_version_overwrites(self, brand: Brand, product: Any) -> None:
        client = browser(staff(brand))
        where, form_data = opened(client, product)
        client.post(where, {**form_data, "title": "Blue mug"})

        del form_data["row_version"]
        client.post(where, {**form_data, "sku": "typed"})

        product.refresh_from_db()
        assert product.title == "Mug"

    @pytest.mark.parametrize("version", ["x", "[]", "[" * 30_000, '{"title": 1}', '{"title": null, "a": {}}', "{}"])
    def test_with_a_made_up_version_is_no_server_error(self, brand: Brand, product: Any, version: str) -> None:
        client = browser(staff(brand))
        where, form_data = opened(client, product)

        assert client.post(where, {**form_data, "row_version": version, "title": "Blue mug"}).status_code == 302

    def test_neither_shows_secrets_nor_carries_their_values(self, brand: Brand) -> None:
        row = SignInSettings.objects.create(brand=brand, oidc_client_secret="hush-hush")
        field = row._meta.get_field("oidc_client_secret")

        assert stale_forms.value_of(row, field) == ""
        assert "hush" not in str(stale_forms.version_of(row, ["oidc_client_secret"]))

    def test_every_change_form_carries_a_version(self, brand: Brand, product: Any) -> None:
        page = text(browser(staff(brand)).get(address("authcodes.product", "change", product.pk)))

        assert 'name="row_version"' in page


@pytest.mark.django_db(transaction=True)
def test_of_tabs_that_save_at_the_same_moment_one_wins(brand: Brand) -> None:
    product = factories.product(brand, sku="mug", title="Mug")
    clients = [browser(staff(brand)) for _tab in range(6)]
    tabs = [(client, *opened(client, product)) for client in clients]

    def save(number: int) -> str:
        client, where, form_data = tabs[number]
        return str(client.post(where, {**form_data, "title": f"Mug {number}"}).headers.get("Location", "refused"))

    results = at_once(save, range(6), threads=6)

    assert results.count(address("authcodes.product")) == 1
    product.refresh_from_db()
    assert product.title == f"Mug {results.index(address('authcodes.product'))}"
