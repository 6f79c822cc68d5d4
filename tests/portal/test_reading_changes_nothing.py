"""Opening a page changes nothing: every URL of the portal is requested by GET, and no row of any table may change.

The URLs are taken from the site, so a new page or action is tested without further work.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any
from uuid import UUID

import pytest
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from brands.models.people import StaffRole
from brands.models.tenants import Brand
from loyalty.models.webhooks import WebhookDelivery
from tests.support.portal import LABELS, brand_with_one_of_each, browser, staff

pytestmark = pytest.mark.django_db
PARAMETER = re.compile(r"<(?:(?P<converter>\w+):)?(?P<name>\w+)>")
SESSIONS = "django_session"  # a browser's own state, such as the brand chosen in the header
EXCLUDED_PATHS = {"/admin/logout/"}  # would end the session, so that every other page would redirect to the login
PATHS_WITHOUT_QUERY = ("/add/", "/change/", "/history/", "/delete/")  # pages of Django, which ignore QUERY
QUERY = {"q": "a", "term": "a", "code": "a", "first": "1", "last": "2", "index": "0", "action": "delete", "post": "yes"}


@pytest.fixture
def scenario() -> tuple[Brand, dict[str, Any]]:
    """A brand with one row of each model, in the states that allow the most actions."""
    brand, rows = brand_with_one_of_each("aardvark")
    WebhookDelivery.objects.update(state="delivered")
    return brand, rows


@pytest.fixture
def client(scenario: Any) -> Client:
    return browser(staff(scenario[0]))


def state_of_tables() -> dict[str, str]:
    """For each table, the number of its rows and a checksum of their places and transactions."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> %s", [SESSIONS])
        statement = (
            "SELECT '{0}', count(*) || ' ' || coalesce(sum(hashtext(ctid::text || xmin::text)::bigint), 0) FROM \"{0}\""
        )
        cursor.execute(" UNION ALL ".join(statement.format(name) for (name,) in cursor.fetchall()))
        return dict(cursor.fetchall())


def routes(patterns: Any, prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, prefix + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            yield prefix + str(pattern.pattern)


def portal_paths(rows: dict[str, Any]) -> Iterator[str]:
    """Each path of the portal, with the ids of this brand's rows."""
    for route in routes(get_resolver().url_patterns):
        if not route.startswith("admin/") or "(?P" in route:
            continue
        label = ".".join(route.split("/")[1:3])
        row = row_for(route, rows.get(label), rows)
        values = {
            "object_id": row.pk if row else 1,
            "pk": row.pk if row else 1,
            "kind": "list",
            "token": "nobody-was-sent-this",
            "key": UUID(int=1),
            "slug": "aardvark-brand",
            "name": "portal",
            "content_type_id": ContentType.objects.get_for_model(type(row)).pk if row else 1,
        }
        path = PARAMETER.sub(lambda match, values=values: str(values[match["name"]]), route)
        yield f"/{path}"
    yield from (f"/admin/{app}/" for app in {label.split(".")[0] for label in LABELS})


def row_for(route: str, row: Any, rows: dict[str, Any]) -> Any:
    """The row that a route is about; some routes of print runs are about rows of other models."""
    for fragment, label in (("printrun/batch/", "authcodes.batchrange"), ("printrun/poster/", "authcodes.recall")):
        if fragment in route:
            return rows.get(label)
    return row


def test_no_get_request_to_the_portal_changes_a_row(client: Client, scenario: Any) -> None:
    request_count, ok_count = 0, 0
    state_before = state_of_tables()
    for model, paths in groupby(
        sorted({*portal_paths(scenario[1])} - EXCLUDED_PATHS), key=lambda path: path.split("/")[2:4]
    ):
        for path in paths:
            for query in ({},) if path.endswith(PATHS_WITHOUT_QUERY) else ({}, QUERY):
                with transaction.atomic():
                    response = client.get(path, query)
                assert response.status_code < 500, path
                if response.streaming:
                    b"".join(response.streaming_content)
                request_count, ok_count = request_count + 1, ok_count + (response.status_code == 200)
        state_after = state_of_tables()
        changed = sorted(table for table in state_after if state_after[table] != state_before.get(table))
        assert not changed, (model, changed)
    assert request_count > 200
    assert ok_count > 100


def test_tested_paths_include_every_action_of_a_model_admin(scenario: Any) -> None:
    all_paths = set(portal_paths(scenario[1]))
    for model, model_admin in admin.site._registry.items():
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        own_patterns = [pattern for pattern in model_admin.get_urls() if isinstance(pattern, URLPattern)]
        assert len(own_patterns) <= len([path for path in all_paths if path.startswith(base)]) + 2, base


def test_control_changed_row_is_detected(scenario: Any) -> None:
    state_before = state_of_tables()
    StaffRole.objects.filter(brand=scenario[0]).update(role="owner")

    assert {table for table, state in state_of_tables().items() if state != state_before[table]} == {"brands_staffrole"}


def test_control_resend_by_post_changes_rows(client: Client, scenario: Any) -> None:
    """The page once did this by GET."""
    state_before, delivery = state_of_tables(), scenario[1]["loyalty.webhookdelivery"]
    assert client.post(f"/admin/loyalty/webhookdelivery/{delivery.pk}/resend/").status_code == 302

    assert "loyalty_webhookdelivery" in {
        table for table, state in state_of_tables().items() if state != state_before[table]
    }
