"""The walk over every page, with and without the application's own filters, with and without the database's guard."""

from collections.abc import Iterable
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import ForeignKey
from django.test import Client
from django.urls import reverse

from brands.identity.roles import BrandScope
from brands.models.people import StaffRole
from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from tests.support import factories
from tests.support.portal import LABELS, address, brand_with_one_of_each, browser, of_a_row, scan, staff, text

pytestmark = pytest.mark.django_db
MARKER = "zebra"


@pytest.fixture
def foreign() -> tuple[Brand, dict[str, Any]]:
    return brand_with_one_of_each(MARKER)


@pytest.fixture
def client(foreign: Any) -> Client:
    """Of an owner of another brand, which shares a customer and a scan with the foreign one."""
    own, its = brand_with_one_of_each("aardvark")
    shared = factories.user(email="shared@example.com", registered_brand=foreign[0], is_staff=True)
    StaffRole.objects.create(user=shared, brand=foreign[0], role="support")
    UserPoints.objects.create(user=shared, brand=own)
    scan(its["authcodes.authcode"], user=foreign[1]["brands.user"], outcome="error", reason="other_brand")
    return browser(staff(own))


@pytest.fixture
def without_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every page had forgotten its filter: whoever may do something at all may do it with every row."""
    monkeypatch.setattr(BrandScope, "of", lambda _self, rows, _path: rows)
    monkeypatch.setattr(BrandScope, "__contains__", lambda self, _brand_id: bool(self))


@pytest.fixture
def without_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.ensure_connection()
    connection.assume()
    monkeypatch.setitem(connection.settings_dict, "GUARD", False)


def addresses_of(foreign: dict[str, Any]) -> list[str]:
    """Every page there is, each also with the foreign row's id."""
    found = [reverse("admin:index"), reverse("admin:search") + "?s=z"]
    for label in LABELS:
        row = foreign[label]
        found += [address(label), address(label, "add"), address(label) + "?all="]
        found += [address(label, what, row.pk) for what in of_a_row(label)]
        found += [f"{address(label)}?q={search_text}" for search_text in (row.pk, "a")]
    for model in admin.site._registry:
        for field in model._meta.get_fields():
            if isinstance(field, ForeignKey):
                where = f"app_label={model._meta.app_label}&model_name={model._meta.model_name}&field_name={field.name}"
                found += [f"{reverse('admin:autocomplete')}?{where}&term={term}" for term in ("", "z")]
    return found


def leaks(client: Client, foreign: dict[str, Any], *, addresses: Iterable[str]) -> set[str]:
    """The addresses whose answers tell anything of the other brand."""
    found = set()
    for where in addresses:
        response = client.get(where, follow=True)
        assert response.status_code in {200, 400, 403, 404, 405}, where
        if MARKER in text(response).lower():
            found.add(where)
    return found


def test_as_shipped_nothing_of_another_brand_is_told(client: Client, foreign: Any) -> None:
    """By searches, and by pages whose id is another row's; tests/portal/tenancy/test_tenancy.py visits the rest."""
    lookups = reverse("admin:autocomplete")
    searched = [where for where in addresses_of(foreign[1]) if "?" in where and not where.startswith(lookups)]
    of_other_rows = [where for where in addresses_of(foreign[1]) if where.startswith(address("authcodes.printrun"))]

    assert leaks(client, foreign[1], addresses=dict.fromkeys([*searched, *of_other_rows])) == set()


def test_with_every_filter_forgotten_the_database_tells_nothing(
    client: Client, foreign: Any, without_filters: None
) -> None:
    assert leaks(client, foreign[1], addresses=addresses_of(foreign[1])) == set()


def test_control_without_filters_and_guard_almost_every_page_leaks(
    client: Client, foreign: Any, without_filters: None, without_guard: None
) -> None:
    plain = [where for where in addresses_of(foreign[1]) if where.startswith("/admin/") and "?" not in where]
    found = leaks(client, foreign[1], addresses=plain)

    tight = {label for label in LABELS if not any(where.startswith(address(label)) for where in found)}
    # The pages of schedules and of saved lists also ask whose these are.
    assert tight <= {"brands.user", "brands.savedlist", "jobs.reportschedule"}, tight
    assert len(found) > 3 * len(LABELS)
