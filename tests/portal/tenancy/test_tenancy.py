"""The portal's walls: staff of one brand see nothing of another's, whichever way they try."""

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
    of_a_row,
    page,
    staff,
    text,
    unrendered,
)

pytestmark = pytest.mark.django_db


# Pages of print runs whose id is a batch's, or a recall's.
OF_OTHER_ROWS = {("authcodes.printrun", what) for what in ("batch", "preview", "poster")}


def relations() -> list[Any]:
    return [
        (model._meta.label_lower, field)
        for model in admin.site._registry
        for field in model._meta.get_fields()
        if isinstance(field, ForeignKey)
    ]


def test_every_page_is_in_the_role_table_and_here(own: Any, foreign: Any) -> None:
    assert set(LABELS) == set(own[1]) == set(foreign[1])
    assert set(LABELS) <= set(TABLE)


@pytest.mark.parametrize("label", LABELS)
def test_lists_forms_and_histories_name_nobody_elses_rows(client: Client, own: Any, label: str) -> None:
    row = own[1][label]
    listed = client.get(address(label))
    addresses = [address(label, "change", row.pk), address(label, "history", row.pk)]
    if page(label).has_add_permission(listed.wsgi_request):
        addresses += [address(label, "add"), address(label, "add") + "?_popup=1"]

    for response in (listed, *map(client.get, addresses)):
        assert response.status_code == 200, response.request
        assert MARKER not in text(response).lower(), response.request
    assert "aardvark" in text(listed) or label in {
        "campaigns.earningrule",
        "events.event",
        "loyalty.currencyrate",
    }


@pytest.mark.parametrize("label", LABELS)
def test_searches_and_filters_find_and_name_nobody_elses_rows(client: Client, foreign: Any, label: str) -> None:
    its = foreign[1]
    for search_text in (MARKER, its["brands.user"].email, str(its[label].pk), its["authcodes.authcode"].code):
        with unrendered():
            found = client.get(address(label), {"q": search_text})
        assert found.status_code == 200
        assert not set(found.context_data["cl"].queryset) & set(its.values()), search_text  # type: ignore[attr-defined]

    for spec in client.get(address(label)).context["cl"].filter_specs:
        related = getattr(getattr(spec, "field", None), "related_model", None)
        row = next((row for row in its.values() if type(row) is related), its[label])
        for name in spec.expected_parameters():
            found = client.get(address(label), {name: row.pk}, follow=True)
            assert found.status_code == 200
            assert MARKER not in text(found).lower(), name


@pytest.mark.parametrize(("label", "field"), relations(), ids=lambda it: it if isinstance(it, str) else it.name)
def test_choices_looked_up_while_typing_are_ones_own(client: Client, label: str, field: Any) -> None:
    app, model = label.split(".")
    where = {"app_label": app, "model_name": model, "field_name": field.name}

    for term in ("", MARKER, "z"):
        response = client.get(reverse("admin:autocomplete"), {**where, "term": term})
        assert response.status_code in {200, 403, 404}
        assert MARKER not in text(response).lower()


def test_every_link_leads_somewhere_of_ones_own(client: Client) -> None:
    seen: set[str] = set()
    waiting = {reverse("admin:index")}
    while waiting:
        path = waiting.pop()
        seen.add(path)
        response = client.get(path, follow=True)
        assert response.status_code == 200, path
        assert MARKER not in text(response).lower(), path
        waiting |= {link for link in links(text(response)) if "logout" not in link and "?" not in link} - seen
    assert len(seen) > 4 * len(LABELS) - 10


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("label", LABELS)
def test_another_brands_id_does_not_exist(client: Client, foreign: Any, label: str, method: str) -> None:
    row = foreign[1][label]

    for what in ("change", "delete", "history"):
        answers = [getattr(client, method)(address(label, what, pk)) for pk in (row.pk, missing(row))]
        assert [answer.status_code for answer in answers] == [404, 404], what
        assert len({text(answer).replace(answer["X-Request-ID"], "") for answer in answers}) == 1


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("label", LABELS)
def test_nothing_can_be_done_with_another_brands_row(client: Client, foreign: Any, label: str, method: str) -> None:
    """Whether the page asks before it acts or not: the same answer as for a row that does not exist."""
    row = foreign[1][label]

    for what in of_a_row(label):
        if (label, what) not in OF_OTHER_ROWS:
            addresses = [address(label, what, pk) for pk in (row.pk, missing(row))]
            answers = [getattr(client, method)(each, follow=True) for each in addresses]
            assert {answer.status_code for answer in answers} in ({403}, {404}, {405}), what
            assert len({text(answer).replace(answer["X-Request-ID"], "") for answer in answers}) == 1, what


def test_the_walk_comes_by_the_acts_of_pages() -> None:
    acts = {f"{label} {what}" for label in LABELS for what in of_a_row(label)}
    assert {"loyalty.userpoints adjust", "loyalty.redemption cancel", "brands.apikey revoke"} <= acts
    assert len(acts) > 3 * len(LABELS) + 20


def missing(row: Any) -> Any:
    """An id of the same kind that no row has."""
    return UUID(int=0) if isinstance(row.pk, UUID) else 10**12


@pytest.mark.parametrize("label", LABELS)
def test_ids_that_cannot_be_do_not_exist(client: Client, label: str) -> None:
    for pk in ("0", "-1", "x", "9" * 30, "1' OR 1=1", "%2e%2e", "_add", UUID(int=0)):
        assert client.get(address(label, "change", pk)).status_code == 404, pk


@pytest.mark.parametrize(
    "lookup",
    ["password__startswith=pbkdf2", "email__startswith=a", "staff_roles__user__password__startswith=p", "id=1"],
)
def test_a_list_answers_only_what_its_filters_ask(db, lookup):
    brand = factories.brand()
    person = staff(brand, role="support")

    response = browser(person).get(f"{address('brands.user')}?{lookup}")

    assert response.status_code in {302, 400}
