"""Two tabs with one row: a stale tab does not silently overwrite newer values."""

from typing import Any

import pytest
from django.test import Client

from brands.models.tenants import Brand
from brands.staff_login.models import SignInSettings
from portal.base import stale_forms
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, errors, form_of, staff, text


@pytest.fixture
def product(brand: Brand) -> Any:
    return factories.product(brand, sku="white", title="Mug")


def open_change_form(client: Client, row: Any) -> tuple[str, dict[str, Any]]:
    """Open the row's page in a tab: the URL of its form, and the data that it submits."""
    url = address(row._meta.label_lower, "change", row.pk)
    response = client.get(url)
    return url, {**form_of(response), "row_version": response.context["adminform"].form.row_version}


@pytest.mark.django_db
class TestStaleTab:
    def test_is_rejected_with_the_changed_values_and_their_author(self, brand: Brand, product: Any) -> None:
        first, second = (browser(staff(brand, email=f"{name}@example.com")) for name in ("anna", "ben"))
        url, first_form = open_change_form(first, product)
        _url, second_form = open_change_form(second, product)
        first.post(url, {**first_form, "title": "Blue mug"})

        response = second.post(url, {**second_form, "sku": "typed"})

        [message] = errors(response)["__all__"]
        assert "Title is now “Blue mug” (anna@example.com, " in message
        product.refresh_from_db()
        assert (product.title, product.sku) == ("Blue mug", "white")

    def test_keeps_typed_values_and_updates_the_other_fields(self, brand: Brand, product: Any) -> None:
        client = browser(staff(brand))
        url, form_data = open_change_form(client, product)
        client.post(url, {**form_data, "title": "Blue mug"})

        rejected = client.post(url, {**form_data, "sku": "typed"})
        form = rejected.context["adminform"].form
        again = client.post(url, {**form_of(rejected), "row_version": form.row_version})

        assert (form["title"].value(), form["sku"].value()) == ("Blue mug", "typed")
        assert again.status_code == 302
        product.refresh_from_db()
        assert (product.title, product.sku) == ("Blue mug", "typed")

    def test_is_accepted_when_the_same_values_are_sent_twice(self, brand: Brand, product: Any) -> None:
        client = browser(staff(brand))
        url, form_data = open_change_form(client, product)

        answers = [client.post(url, {**form_data, "title": "Blue mug"}) for _attempt in range(2)]

        assert [answer["Location"] for answer in answers] == [address("authcodes.product")] * 2
        product.refresh_from_db()
        assert product.title == "Blue mug"

    def test_control_form_without_a_version_overwrites_newer_values(self, brand: Brand, product: Any) -> None:
        client = browser(staff(brand))
        url, form_data = open_change_form(client, product)
        client.post(url, {**form_data, "title": "Blue mug"})

        del form_data["row_version"]
        client.post(url, {**form_data, "sku": "typed"})

        product.refresh_from_db()
        assert product.title == "Mug"

    @pytest.mark.parametrize("version", ["x", "[]", "[" * 30_000, '{"title": 1}', '{"title": null, "a": {}}', "{}"])
    def test_with_a_forged_version_causes_no_server_error(self, brand: Brand, product: Any, version: str) -> None:
        client = browser(staff(brand))
        url, form_data = open_change_form(client, product)

        assert client.post(url, {**form_data, "row_version": version, "title": "Blue mug"}).status_code == 302

    def test_version_and_messages_contain_no_secrets(self, brand: Brand) -> None:
        row = SignInSettings.objects.create(brand=brand, oidc_client_secret="hush-hush")
        field = row._meta.get_field("oidc_client_secret")

        assert stale_forms.value_of(row, field) == ""
        assert "hush" not in str(stale_forms.version_of(row, ["oidc_client_secret"]))

    def test_change_form_contains_the_version(self, brand: Brand, product: Any) -> None:
        page = text(browser(staff(brand)).get(address("authcodes.product", "change", product.pk)))

        assert 'name="row_version"' in page


@pytest.mark.django_db(transaction=True)
def test_only_one_of_several_concurrent_saves_succeeds(brand: Brand) -> None:
    product = factories.product(brand, sku="mug", title="Mug")
    clients = [browser(staff(brand)) for _tab in range(6)]
    tabs = [(client, *open_change_form(client, product)) for client in clients]

    def save(number: int) -> str:
        client, url, form_data = tabs[number]
        return str(client.post(url, {**form_data, "title": f"Mug {number}"}).headers.get("Location", "refused"))

    results = run_concurrently(save, range(6), threads=6)

    assert results.count(address("authcodes.product")) == 1
    product.refresh_from_db()
    assert product.title == f"Mug {results.index(address('authcodes.product'))}"
