"""Tenancy of the portal's pages: staff of one brand see nothing of another brand on any page."""

from typing import Any
from uuid import UUID

import pytest
from django.contrib import admin
from django.db.models import ForeignKey
from django.test import Client
from django.urls import reverse

from brands.identity.roles import TABLE
from tests.portal.tenancy.conftest import MARKER
from tests.support import factories
from tests.support.portal import (
    LABELS,
    address,
    browser,
    links,
    page,
    row_action_names,
    staff,
    text,
    without_rendering,
)

pytestmark = pytest.mark.django_db


# Pages of print runs whose id is that of a batch or a recall.
PAGES_WITH_FOREIGN_IDS = {("authcodes.printrun", action) for action in ("batch", "preview", "poster")}


def relations() -> list[Any]:
    return [
        (model._meta.label_lower, field)
        for model in admin.site._registry
        for field in model._meta.get_fields()
        if isinstance(field, ForeignKey)
    ]


def test_every_page_is_in_the_role_table_and_has_a_test_row(own_data: Any, foreign_data: Any) -> None:
    assert set(LABELS) == set(own_data[1]) == set(foreign_data[1])
    assert set(LABELS) <= set(TABLE)


@pytest.mark.parametrize("label", LABELS)
def test_lists_forms_and_histories_show_no_rows_of_another_brand(client: Client, own_data: Any, label: str) -> None:
    row = own_data[1][label]
    list_response = client.get(address(label))
    urls = [address(label, "change", row.pk), address(label, "history", row.pk)]
    if page(label).has_add_permission(list_response.wsgi_request):
        urls += [address(label, "add"), address(label, "add") + "?_popup=1"]

    for response in (list_response, *map(client.get, urls)):
        assert response.status_code == 200, response.request
        assert MARKER not in text(response).lower(), response.request
    assert "aardvark" in text(list_response) or label in {
        "campaigns.earningrule",
        "events.event",
        "loyalty.currencyrate",
    }


@pytest.mark.parametrize("label", LABELS)
def test_searches_and_filters_find_no_rows_of_another_brand(client: Client, foreign_data: Any, label: str) -> None:
    rows = foreign_data[1]
    for search_text in (MARKER, rows["brands.user"].email, str(rows[label].pk), rows["authcodes.authcode"].code):
        with without_rendering():
            response = client.get(address(label), {"q": search_text})
        assert response.status_code == 200
        assert not set(response.context_data["cl"].queryset) & set(rows.values()), search_text  # type: ignore[attr-defined]

    for spec in client.get(address(label)).context["cl"].filter_specs:
        related = getattr(getattr(spec, "field", None), "related_model", None)
        row = next((row for row in rows.values() if type(row) is related), rows[label])
        for name in spec.expected_parameters():
            response = client.get(address(label), {name: row.pk}, follow=True)
            assert response.status_code == 200
            assert MARKER not in text(response).lower(), name


@pytest.mark.parametrize(("label", "field"), relations(), ids=lambda it: it if isinstance(it, str) else it.name)
def test_autocomplete_finds_no_rows_of_another_brand(client: Client, label: str, field: Any) -> None:
    app, model = label.split(".")
    field_query = {"app_label": app, "model_name": model, "field_name": field.name}

    for term in ("", MARKER, "z"):
        response = client.get(reverse("admin:autocomplete"), {**field_query, "term": term})
        assert response.status_code in {200, 403, 404}
        assert MARKER not in text(response).lower()


def test_pages_reached_by_links_show_no_rows_of_another_brand(client: Client) -> None:
    visited: set[str] = set()
    pending = {reverse("admin:index")}
    while pending:
        path = pending.pop()
        visited.add(path)
        response = client.get(path, follow=True)
        assert response.status_code == 200, path
        assert MARKER not in text(response).lower(), path
        pending |= {link for link in links(text(response)) if "logout" not in link and "?" not in link} - visited
    assert len(visited) > 4 * len(LABELS) - 10


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("label", LABELS)
def test_row_of_another_brand_is_not_found_like_a_missing_one(
    client: Client, foreign_data: Any, label: str, method: str
) -> None:
    row = foreign_data[1][label]

    for action in ("change", "delete", "history"):
        responses = [getattr(client, method)(address(label, action, pk)) for pk in (row.pk, missing_id(row))]
        assert [response.status_code for response in responses] == [404, 404], action
        assert len({text(response).replace(response["X-Request-ID"], "") for response in responses}) == 1


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("label", LABELS)
def test_actions_on_a_row_of_another_brand_respond_as_for_a_missing_one(
    client: Client, foreign_data: Any, label: str, method: str
) -> None:
    """The response is the same as for a row that does not exist, with or without a confirmation page."""
    row = foreign_data[1][label]

    for action in row_action_names(label):
        if (label, action) not in PAGES_WITH_FOREIGN_IDS:
            urls = [address(label, action, pk) for pk in (row.pk, missing_id(row))]
            responses = [getattr(client, method)(url, follow=True) for url in urls]
            assert {response.status_code for response in responses} in ({403}, {404}, {405}), action
            assert len({text(response).replace(response["X-Request-ID"], "") for response in responses}) == 1, action


def test_tested_actions_include_those_of_the_model_admins() -> None:
    row_actions = {f"{label} {action}" for label in LABELS for action in row_action_names(label)}
    assert {"loyalty.userpoints adjust", "loyalty.redemption cancel", "brands.apikey revoke"} <= row_actions
    assert len(row_actions) > 3 * len(LABELS) + 20


def missing_id(row: Any) -> Any:
    """An id of the same kind that no row has."""
    return UUID(int=0) if isinstance(row.pk, UUID) else 10**12


@pytest.mark.parametrize("label", LABELS)
def test_invalid_ids_are_not_found(client: Client, label: str) -> None:
    for pk in ("0", "-1", "x", "9" * 30, "1' OR 1=1", "%2e%2e", "_add", UUID(int=0)):
        assert client.get(address(label, "change", pk)).status_code == 404, pk


@pytest.mark.parametrize(
    "lookup",
    ["password__startswith=pbkdf2", "email__startswith=a", "staff_roles__user__password__startswith=p", "id=1"],
)
def test_user_list_rejects_lookups_outside_its_filters(db, lookup):
    brand = factories.brand()
    user = staff(brand, role="support")

    response = browser(user).get(f"{address('brands.user')}?{lookup}")

    assert response.status_code == 400
