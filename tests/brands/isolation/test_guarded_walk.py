"""Visits every page with and without the application's filters, and with and without the database's guard."""

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
from tests.support.portal import LABELS, address, brand_with_one_of_each, browser, row_action_names, scan, staff, text

pytestmark = pytest.mark.django_db
MARKER = "zebra"


@pytest.fixture
def foreign() -> tuple[Brand, dict[str, Any]]:
    return brand_with_one_of_each(MARKER)


@pytest.fixture
def client(foreign: Any) -> Client:
    """A client of an owner of another brand, which shares a customer and a scan with the foreign one."""
    own, own_rows = brand_with_one_of_each("aardvark")
    shared = factories.user(email="shared@example.com", registered_brand=foreign[0], is_staff=True)
    StaffRole.objects.create(user=shared, brand=foreign[0], role="support")
    UserPoints.objects.create(user=shared, brand=own)
    scan(own_rows["authcodes.authcode"], user=foreign[1]["brands.user"], outcome="error", reason="other_brand")
    return browser(staff(own))


@pytest.fixture
def without_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate pages without filters: a user who may do something may do it with every row."""
    monkeypatch.setattr(BrandScope, "of", lambda _self, rows, _path: rows)
    monkeypatch.setattr(BrandScope, "__contains__", lambda self, _brand_id: bool(self))


@pytest.fixture
def without_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.ensure_connection()
    connection.assume()
    monkeypatch.setitem(connection.settings_dict, "GUARD", False)


def addresses_of(foreign: dict[str, Any]) -> list[str]:
    """Return the URLs of all pages, also with the foreign row's id."""
    urls = [reverse("admin:index"), reverse("admin:search") + "?s=z"]
    for label in LABELS:
        row = foreign[label]
        urls += [address(label), address(label, "add"), address(label) + "?all="]
        urls += [address(label, action, row.pk) for action in row_action_names(label)]
        urls += [f"{address(label)}?q={search_text}" for search_text in (row.pk, "a")]
    for model in admin.site._registry:
        for field in model._meta.get_fields():
            if isinstance(field, ForeignKey):
                query = f"app_label={model._meta.app_label}&model_name={model._meta.model_name}&field_name={field.name}"
                urls += [f"{reverse('admin:autocomplete')}?{query}&term={term}" for term in ("", "z")]
    return urls


def leaks(client: Client, foreign: dict[str, Any], *, addresses: Iterable[str]) -> set[str]:
    """Return the URLs whose answers contain data of the other brand."""
    leaking = set()
    for url in addresses:
        response = client.get(url, follow=True)
        assert response.status_code in {200, 400, 403, 404, 405}, url
        if MARKER in text(response).lower():
            leaking.add(url)
    return leaking


def test_pages_leak_no_data_of_another_brand(client: Client, foreign: Any) -> None:
    """By searches, and by pages of another row's id; tests/portal/tenancy/test_tenancy.py visits the other pages."""
    lookups = reverse("admin:autocomplete")
    searched = [url for url in addresses_of(foreign[1]) if "?" in url and not url.startswith(lookups)]
    of_other_rows = [url for url in addresses_of(foreign[1]) if url.startswith(address("authcodes.printrun"))]

    assert leaks(client, foreign[1], addresses=dict.fromkeys([*searched, *of_other_rows])) == set()


def test_guard_prevents_leaks_without_the_applications_filters(
    client: Client, foreign: Any, without_filters: None
) -> None:
    assert leaks(client, foreign[1], addresses=addresses_of(foreign[1])) == set()


def test_control_without_filters_and_guard_almost_every_page_leaks(
    client: Client, foreign: Any, without_filters: None, without_guard: None
) -> None:
    plain = [url for url in addresses_of(foreign[1]) if url.startswith("/admin/") and "?" not in url]
    leaking = leaks(client, foreign[1], addresses=plain)

    without_leak = {label for label in LABELS if not any(url.startswith(address(label)) for url in leaking)}
    # The pages of schedules and of saved lists also check their owner.
    assert without_leak <= {"brands.user", "brands.savedlist", "jobs.reportschedule"}, without_leak
    assert len(leaking) > 3 * len(LABELS)
