"""Opening a page changes nothing: every address of the portal is asked by GET, and no row of any table may differ.

The addresses come from the site, so a new page or action is asked without anybody remembering it.
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
LEAVES = {"/admin/logout/"}  # a POST for browsers, and afterwards every other page would be closed
PLAIN = ("/add/", "/change/", "/history/", "/delete/")  # Django's own, which read no such parameters
QUERY = {"q": "a", "term": "a", "code": "a", "first": "1", "last": "2", "index": "0", "action": "delete", "post": "yes"}


@pytest.fixture
def scenario() -> tuple[Brand, dict[str, Any]]:
    """A brand with one row of every kind, in the states in which the pages offer most."""
    brand, rows = brand_with_one_of_each("aardvark")
    WebhookDelivery.objects.update(state="delivered")
    return brand, rows


@pytest.fixture
def client(scenario: Any) -> Client:
    return browser(staff(scenario[0]))


def state_of_tables() -> dict[str, str]:
    """Of each table how many rows it has, and where and by which transaction each was written."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> %s", [SESSIONS])
        one = (
            "SELECT '{0}', count(*) || ' ' || coalesce(sum(hashtext(ctid::text || xmin::text)::bigint), 0) FROM \"{0}\""
        )
        cursor.execute(" UNION ALL ".join(one.format(name) for (name,) in cursor.fetchall()))
        return dict(cursor.fetchall())


def routes(patterns: Any, before: str = "") -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, before + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            yield before + str(pattern.pattern)


def addresses(rows: dict[str, Any]) -> Iterator[str]:
    """Each address of the portal, with the row of this brand that it is about."""
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
        filled = PARAMETER.sub(lambda found, values=values: str(values[found["name"]]), route)
        yield f"/{filled}"
    yield from (f"/admin/{app}/" for app in {label.split(".")[0] for label in LABELS})


def row_for(route: str, row: Any, rows: dict[str, Any]) -> Any:
    """Some addresses of a page are about a row of another one."""
    for piece, label in (("printrun/batch/", "authcodes.batchrange"), ("printrun/poster/", "authcodes.recall")):
        if piece in route:
            return rows[label]
    return row


def test_no_address_of_the_portal_changes_a_row_by_get(client: Client, scenario: Any) -> None:
    requests, good = 0, 0
    before = state_of_tables()
    for model, its in groupby(sorted({*addresses(scenario[1])} - LEAVES), key=lambda address: address.split("/")[2:4]):
        for address in its:
            for query in ({},) if address.endswith(PLAIN) else ({}, QUERY):
                with transaction.atomic():
                    answer = client.get(address, query)
                assert answer.status_code < 500, address
                if answer.streaming:
                    b"".join(answer.streaming_content)
                requests, good = requests + 1, good + (answer.status_code == 200)
        now = state_of_tables()
        changed = sorted(table for table in now if now[table] != before.get(table))
        assert not changed, (model, changed)
    assert requests > 200
    assert good > 100


def test_every_action_of_a_page_is_among_the_addresses(scenario: Any) -> None:
    all_addresses = set(addresses(scenario[1]))
    for model, page in admin.site._registry.items():
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        own = [pattern for pattern in page.get_urls() if isinstance(pattern, URLPattern)]
        assert len(own) <= len([address for address in all_addresses if address.startswith(base)]) + 2, base


def test_control_a_row_that_is_changed_is_seen(scenario: Any) -> None:
    before = state_of_tables()
    StaffRole.objects.filter(brand=scenario[0]).update(role="owner")

    assert {table for table, state in state_of_tables().items() if state != before[table]} == {"brands_staffrole"}


def test_control_sending_again_changes_rows(client: Client, scenario: Any) -> None:
    """What the page once did when it was opened."""
    before, message = state_of_tables(), scenario[1]["loyalty.webhookdelivery"]
    assert client.post(f"/admin/loyalty/webhookdelivery/{message.pk}/resend/").status_code == 302

    assert "loyalty_webhookdelivery" in {table for table, state in state_of_tables().items() if state != before[table]}
