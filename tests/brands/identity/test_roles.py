"""What each role may do over HTTP, and that records of past events are read-only."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from brands.identity.roles import ACT, ADD, CHANGE, DELETE, ROLES, SUPERUSER, TABLE, VERBS, VIEW, declare, may
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from portal.base.sidebar import GROUPS
from portal.shell import navigation
from tests.support import factories
from tests.support.machinery.log_watch import LogWatch
from tests.support.machinery.module_rows import shared_rows
from tests.support.portal import LABELS, READ_ONLY, address, brand_with_one_of_each, browser, page, staff, text

pytestmark = pytest.mark.django_db

ALL_GROUPS = [str(group) for group in GROUPS]
PERMISSIONS = Path(__file__).parents[3] / "docs" / "permissions.md"


@pytest.fixture(scope="module")
def scenarios(django_db_setup: None, django_db_blocker: Any, log_watch: LogWatch) -> Iterator[Callable[[], Any]]:
    def make_one() -> Any:
        return brand_with_one_of_each("aardvark")

    with shared_rows(make_one, blocker=django_db_blocker, log_watch=log_watch) as copied:
        yield copied


@pytest.fixture
def scenario(scenarios: Callable[[], Any], db: None) -> tuple[Brand, dict[str, Any]]:
    copied: tuple[Brand, dict[str, Any]] = scenarios()
    return copied


def test_every_page_has_a_row_in_the_table() -> None:
    assert set(LABELS) <= set(TABLE)


def test_page_missing_in_the_table_is_allowed_to_no_role() -> None:
    assert not any(may(role, VIEW, "auth.group") for role in ROLES)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("label", LABELS)
def test_roles_have_the_documented_permissions(scenario: Any, label: str, role: str) -> None:
    user = factories.user(is_staff=True, is_superuser=True) if role == SUPERUSER else staff(scenario[0], role=role)
    client = browser(user)
    row = scenario[1][label]
    if hasattr(row, "owner_id"):  # users change only their own rows
        type(row).objects.filter(pk=row.pk).update(owner=user)

    def allowed(verb: str) -> bool:
        return may(role, verb, label)

    list_page = client.get(address(label))
    assert list_page.status_code == (200 if allowed(VIEW) else 403)
    if allowed(VIEW):
        assert {f'value="{name}"' in text(list_page) for name in page(label).actions} <= {allowed(ACT)}
    assert client.get(address(label, "add")).status_code == (200 if allowed(ADD) else 403)
    denied_status = 403 if allowed(VIEW) else 404
    assert (client.post(address(label, "change", row.pk), {}).status_code == denied_status) is not allowed(CHANGE)
    assert (client.get(address(label, "delete", row.pk)).status_code == denied_status) is not allowed(DELETE)


@pytest.mark.parametrize("label", READ_ONLY)
def test_records_of_past_events_are_read_only_for_everyone(scenario: Any, label: str) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True))
    row = scenario[1][label]
    before = type(row).objects.filter(pk=row.pk).values().get()

    assert client.get(address(label, "change", row.pk)).status_code == 200
    for action, args in (("add", ()), ("change", (row.pk,)), ("delete", (row.pk,))):
        assert client.post(address(label, action, *args), {"note": "x", "post": "yes"}).status_code == 403
    client.post(address(label), {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})

    assert type(row).objects.filter(pk=row.pk).values().get() == before


@pytest.mark.parametrize("fields", [{"is_staff": False}, {"is_active": False}])
def test_user_without_staff_access_is_redirected_to_the_login(scenario: Any, fields: dict[str, bool]) -> None:
    user = staff(scenario[0])
    User.objects.filter(pk=user.pk).update(**fields)

    for label in LABELS:
        response = browser(user).get(address(label))
        assert response.status_code == 302
        assert response["Location"].startswith(reverse("admin:login"))


def test_removal_of_a_role_takes_effect_at_once(scenario: Any) -> None:
    user = staff(scenario[0])
    client = browser(user)
    assert client.get(address("authcodes.product")).status_code == 200
    user.staff_roles.all().delete()

    assert client.get(address("authcodes.product")).status_code == 403


@pytest.mark.parametrize(
    ("role", "groups"),
    [
        ("owner", ["Home", *ALL_GROUPS]),
        ("manager", ["Home", *ALL_GROUPS]),
        ("printer", ["Print", "Products & codes"]),
        ("support", ["Customers", "Scans & safety", "Messages"]),
    ],
)
def test_sidebar_has_the_groups_of_a_role(scenario: Any, role: str, groups: list[str]) -> None:
    answer = browser(staff(scenario[0], role=role)).get(address("authcodes.batchrange"))

    items = [item for group in answer.context["sidebar_navigation"] for item in group["items"]]

    assert [item["title"] for item in items] == groups
    assert all(f'href="{item["link"]}"' in text(answer) for item in items)
    assert [item["title"] for item in items if item["active"]] == ["Products & codes"] * (role != "support")


@pytest.mark.parametrize("role", ["owner", "manager", "printer", "support"])
def test_pages_of_the_sidebar_link_every_list_that_a_role_may_see(scenario: Any, role: str) -> None:
    client = browser(staff(scenario[0], role=role))
    menu = client.get(reverse("admin:index")).context["sidebar_navigation"]
    starts = [item["link"] for group in menu for item in group["items"]]

    html = "".join(text(client.get(link)) for link in starts)

    for label in LABELS:
        if page(label).sidebar:
            is_linked = f'href="{navigation.address_of(label)}"' in html
            assert is_linked is may(role, VIEW, label), label


def test_sidebar_of_a_user_with_two_roles_has_the_groups_of_both(scenario: Any) -> None:
    user = staff(scenario[0], role="printer")
    StaffRole.objects.create(user=user, brand=factories.brand(), role="support")

    menu = browser(user).get(address("authcodes.batchrange")).context["sidebar_navigation"]

    titles = [item["title"] for group in menu for item in group["items"]]
    assert titles == ["Print", "Products & codes", "Customers", "Scans & safety", "Messages"]


@pytest.mark.parametrize(
    ("role", "first"),
    [("owner", "index"), ("printer", "index"), ("support", "loyalty_redemption_till")],
)
def test_login_leads_to_the_start_page_of_the_role(scenario: Any, role: str, first: str) -> None:
    user = staff(scenario[0], role=role, password=factories.PASSWORD)

    answer = Client().post(reverse("admin:login"), {"username": user.email, "password": factories.PASSWORD})
    with_next = Client().post(
        reverse("admin:login") + "?next=/admin/authcodes/scan/",
        {"username": user.email, "password": factories.PASSWORD, "next": "/admin/authcodes/scan/"},
    )

    assert (answer["Location"], with_next["Location"]) == (reverse(f"admin:{first}"), "/admin/authcodes/scan/")


@pytest.mark.parametrize(("role", "has_till"), [("owner", True), ("support", True), ("printer", False)])
def test_till_is_linked_for_roles_that_may_use_it(scenario: Any, role: str, has_till: bool) -> None:
    html = text(browser(staff(scenario[0], role=role)).get(address("authcodes.batchrange")))

    assert (f'href="{reverse("admin:loyalty_redemption_till")}"' in html) is has_till


def test_documented_table_matches_the_declared_permissions() -> None:
    verb_names = {verb: word.replace("-", " ") for word, verb in VERBS.items()}
    rows = [
        [f"`{label}`", *(", ".join(verb_names[verb] for verb in TABLE[label][role]) or "–" for role in ROLES)]
        for label in sorted(TABLE)
        if any(TABLE[label].values())
    ]

    lines = [line.strip("| ").split(" | ") for line in PERMISSIONS.read_text().splitlines() if line.startswith("| `")]
    assert lines == rows


@pytest.mark.parametrize("permissions", [{"owner": "look"}, {"boss": "view"}])
def test_declaring_an_unknown_verb_or_role_raises_an_error(permissions: dict[str, str]) -> None:
    with pytest.raises((KeyError, ValueError)):
        declare("no.model", permissions)
    assert "no.model" not in TABLE
