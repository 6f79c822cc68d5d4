"""The lists of codes and scans: pages by key that lose no row, counts, and what they cost."""

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from authcodes.admin import filters
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.recalls.scopes import Part, Scope
from brands.models.tenants import Brand
from portal.base.tenant_admin import TenantAdmin
from portal.lists import changelist as lists
from portal.lists import keyset_changelist
from portal.lists.changelist import plan_of
from tests.authcodes.lists.conftest import CODES, NOON, SCANS, changelist, found
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db


# --- Pages ------------------------------------------------------------------------------------------------------------


def many(brand: Brand, count: int) -> list[Scan]:
    """Scans of as many codes, several of each moment, which is told to the microsecond."""
    codes = factories.batch(brand, quantity=count).codes.order_by("pk")
    return [scan(code, scanned_at=NOON + timedelta(microseconds=number // 4)) for number, code in enumerate(codes)]


def walked(client: Client, label: str, way: str, start: str = "", **query: Any) -> list[list[Any]]:
    """The pages from `start` on, following the links `way`."""
    shown = changelist(client, label, p=start, **query)
    pages = [list(shown.result_list)]
    while link := getattr(shown.paginator, way):
        shown = client.get(address(label) + link).context["cl"]
        pages.append(list(shown.result_list))
    return pages


def place_of(link: str) -> str:
    return parse_qs(urlsplit(link).query)["p"][0]


@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize(
    ("label", "query"),
    [(CODES, {}), (CODES, {"q": "T"}), (CODES, {"o": "1"}), (SCANS, {}), (SCANS, {"q": "T"}), (SCANS, {"o": "0"})],
)
def test_pages_show_every_row_once_forwards_and_backwards(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch, label: str, query: dict[str, str], sort: bool
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 7)
    if not sort:
        monkeypatch.setattr(lists, "EXACT_UP_TO", 0)
        monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    many(brand, 38)
    scan(factories.code(factories.brand()))
    every = list(changelist(client, label, **query).queryset)

    forwards = walked(client, label, "next", **query)
    last = changelist(client, label, **query).paginator.last
    backwards = walked(client, label, "previous", start=place_of(last), **query)

    assert [row for page in forwards for row in page] == every
    assert [len(page) for page in forwards] == [7, 7, 7, 7, 7, 3]
    assert [row for page in reversed(backwards[:-1]) for row in page] == every[3:]
    assert backwards[-1] == every[:7]


@pytest.mark.parametrize("superuser", [True, False])
def test_pages_merge_the_scans_of_several_brands(
    brand: Brand, monkeypatch: pytest.MonkeyPatch, superuser: bool
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 7)
    monkeypatch.setattr(lists, "EXACT_UP_TO", 0)
    monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    other, third = factories.brand(), factories.brand()
    shown = [*many(brand, 9), *many(other, 9), *(many(third, 3) if superuser else [])]
    if superuser:
        lost = {"outcome": "error", "reason": "unknown", "points_status": "not_eligible"}
        shown.append(Scan.objects.create(code="X", scanned_at=NOON, **lost))
    every = sorted(shown, key=lambda it: (it.scanned_at, it.scan_id), reverse=True)
    client = browser(factories.user(is_staff=True, is_superuser=True) if superuser else staff(brand, other))

    assert [row for page in walked(client, SCANS, "next") for row in page] == every
    backwards = walked(client, SCANS, "previous", start=place_of(changelist(client, SCANS).paginator.last))
    assert backwards[0] == every[-7:]
    only = walked(client, SCANS, "next", brand__id__exact=other.pk)
    assert [row for page in only for row in page] == [it for it in every if it.brand_id == other.pk]


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("label", [CODES, SCANS])
def test_pages_merge_what_is_recalled_of_several_batches(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch, label: str, merged: bool
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 4)
    monkeypatch.setattr(lists, "EXACT_UP_TO", 0)
    monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    monkeypatch.setattr(filters, "MAX_RECALLED_BATCHES", 2 if merged else 1)
    whole, partial, others = many(brand, 7), many(brand, 7), many(factories.brand(), 3)
    many(brand, 3)
    for scope in (
        Scope((Part(whole[0].batch), Part(partial[0].batch, partial[2].code, partial[5].code))),
        Scope((Part(others[0].batch),)),
    ):
        recalls.recall(scope=scope, recall_id="R-1", contact="x", message="x", reason="x", at=NOON)
    shown = sorted([*whole, *partial[2:6]], key=lambda it: (it.scanned_at, it.scan_id), reverse=True)
    every = shown if label == SCANS else [it.auth_code for it in sorted(shown, key=lambda it: -it.auth_code_id)]

    assert [row for page in walked(client, label, "next", status="recalled") for row in page] == every
    last = changelist(client, label, status="recalled").paginator.last
    assert walked(client, label, "previous", start=place_of(last), status="recalled")[0] == every[-4:]


def test_neighbours_are_named_only_where_there_are_some(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 2)
    many(brand, 4)

    first = changelist(client, SCANS)
    second = client.get(address(SCANS) + first.paginator.next).context["cl"]

    assert not (first.paginator.first or first.paginator.previous)
    assert first.paginator.next
    assert first.paginator.last
    assert second.paginator.first
    assert second.paginator.previous
    assert not (second.paginator.next or second.paginator.last)
    assert f'{first.paginator.next.replace("&", "&amp;")}" rel="next"' in text(client.get(address(SCANS)))


def test_a_place_in_one_list_is_none_in_another(client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 2)
    many(brand, 6)
    every = list(changelist(client, SCANS).queryset)
    place = place_of(changelist(client, SCANS).paginator.next)

    assert found(client, SCANS, p=place) == every[2:4]
    assert found(client, SCANS, p=place, outcome__exact="success") == every[:2]


def test_rows_that_go_away_leave_no_empty_page(client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 2)
    many(brand, 6)
    every = list(changelist(client, SCANS).queryset)
    first = changelist(client, SCANS).paginator.next
    third = client.get(address(SCANS) + first).context["cl"].paginator.next

    Scan.objects.exclude(pk__in=[every[0].pk, every[1].pk]).delete()

    assert list(client.get(address(SCANS) + third).context["cl"].result_list) == every[:2]


def test_deep_pages_skip_no_rows(client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 5)
    many(brand, 20)
    last = changelist(client, SCANS).paginator.last

    with CaptureQueriesContext(connection) as queries:
        client.get(address(SCANS) + last)

    statements = " ".join(query["sql"] for query in queries)
    assert "OFFSET" not in statements
    assert "DISTINCT" not in statements


def counted_as(client: Client, **query: Any) -> str:
    count_text: str = changelist(client, CODES, **query).count.text
    return count_text


@pytest.mark.parametrize("superuser", [False, True])
def test_codes_are_counted_by_their_batches(brand: Brand, monkeypatch: pytest.MonkeyPatch, superuser: bool) -> None:
    """Whatever the planner thinks of a table that was filled a moment ago."""
    monkeypatch.setattr(lists, "EXACT_UP_TO", 10)
    campaign, other = factories.campaign(brand), factories.brand()
    batch = factories.batch(brand, quantity=40, campaign=campaign)
    factories.batch(brand, quantity=35)
    factories.batch(other, quantity=50)
    client = browser(factories.user(is_staff=True, is_superuser=True) if superuser else staff(brand))

    assert counted_as(client) == ("125" if superuser else "75")
    assert counted_as(client, o="1", batch__id__exact=batch.pk) == "40"
    assert counted_as(client, batch__campaign__campaign_id__exact=campaign.pk, status="") == "40"
    if superuser:
        assert counted_as(client, brand__id__exact=other.pk) == "50"
    assert counted_as(client, status="unscanned") == counted_as(client, q=batch.prefix) == "more than 10"


def test_batches_of_other_brands_count_for_nobody(client: Client, brand: Brand) -> None:
    factories.batch(brand, quantity=3)
    foreign_batch = factories.batch(factories.brand(), quantity=50)

    assert counted_as(client) == "3"
    assert client.get(address(CODES), {"batch__id__exact": foreign_batch.pk}).status_code == 302


@pytest.mark.parametrize("label", [CODES, SCANS])
def test_lists_ask_as_many_questions_for_a_thousand_rows_as_for_ten(client: Client, brand: Brand, label: str) -> None:
    queries = (
        {},
        {"q": "T"},
        {"status": "expired"},
        {"location" if label == SCANS else "first_scan_location": "Goa"},
        {"batch__id__exact": factories.batch(brand).pk},
    )

    def counts() -> list[int]:
        found = []
        for query in queries:
            client.get(address(label), query)
            with CaptureQueriesContext(connection) as captured:
                client.get(address(label), query)
            found.append(len(captured))
        return found

    many(brand, 10)
    ten = counts()
    for code in factories.batch(brand, quantity=1000, prefix="T-").codes.all():
        code.scans.create(brand=brand, code=code.code, outcome="success", reason="accepted", points_status="pending")

    assert counts() == ten
    assert max(ten) <= 15


# --- Indexes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "updated"),
    [
        ("authcodes_authcode", {"scan_count", "first_scan_at", "first_scan_location"}),
        ("authcodes_scan", {"points_status", "points_awarded"}),
    ],
)
def test_no_index_holds_what_a_scan_or_its_points_update(table: str, updated: set[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE tablename = %s", [table])
        definitions = [definition for (definition,) in cursor.fetchall()]

    assert len(definitions) >= 4
    assert [found for found in definitions if any(name in found for name in updated)] == []


@pytest.mark.parametrize(
    ("label", "query", "index"),
    [
        (CODES, {}, "auth_code_of_brand"),
        (CODES, {"created_at_to": "2020-01-01"}, "auth_code_of_brand"),
        (CODES, {"batch": True}, "auth_code_of_batch"),
        (CODES, {"product": True}, "auth_code_of_product"),
        (CODES, {"q": "T"}, "auth_code_unique"),
        (SCANS, {}, "scan_of_brand"),
        (SCANS, {"reason__exact": "recalled"}, "scan_of_brand"),
        (SCANS, {"location": "Goa, Goa", "scanned_at_from": "2026-01-01"}, "scan_of_brand"),
        (SCANS, {"campaign": True, "outcome__exact": "error"}, "scan_of_brand"),
    ],
)
def test_rows_are_found_in_an_index(
    client: Client, brand: Brand, label: str, query: dict[str, Any], index: str
) -> None:
    factories.batch(factories.brand(), quantity=3_000)  # among whom this brand's codes are few
    batch = factories.batch(brand)
    for name, row in (("batch", batch), ("product", batch.product)):
        if query.pop(name, None):
            query[f"{name}__id__exact"] = row.pk
    if query.pop("campaign", None):
        query["campaign__campaign_id__exact"] = factories.campaign(brand).pk
    shown = changelist(client, label, **query)
    key = keyset_changelist.Key(shown.model, shown.queryset.query.order_by)
    page = shown.queryset.order_by(*key.ordering(back=False)).values_list("pk", flat=True)[:31]

    with connection.as_owner(), connection.cursor() as cursor:  # type: ignore[attr-defined] # our own backend's
        cursor.execute("ANALYZE authcodes_authcode")  # else the plan follows what other tests have left
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        plan = plan_of(page)

    assert index in {node.get("Index Name") for node in keyset_changelist.nodes(plan)}


@pytest.mark.parametrize("label", [CODES, SCANS])
def test_no_place_breaks_a_list(client: Client, brand: Brand, label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 1)
    many(brand, 3)
    shown = changelist(client, label)
    key = keyset_changelist.Key(shown.model, shown.queryset.query.order_by)
    wrong: list[tuple[Any, ...]] = [
        (),
        (None,),
        ("x",),
        (10**30,),
        (2**63,),
        ("9999-12-31T23:59:59-23:59", "x"),
        ("0001-01-01", "\0"),
        ({}, []),
        (True, False),
        ("\0", "\0"),
        ("10000-01-01", 1),
        (float("inf"), float("nan")),
    ]
    for values in wrong:
        for back in (True, False):
            place = key.write(keyset_changelist.Cursor(back, values), shown.list_digest)
            assert client.get(address(label), {"p": place}).status_code == 200, values


def test_columns_without_an_index_are_not_sorted_by(client: Client, brand: Brand) -> None:
    many(brand, 3)
    every = list(AuthCode.objects.filter(brand=brand).order_by("-pk"))

    assert [found(client, CODES, o=order) for order in ("5", "6.-7", "-2")] == [every] * 3
    assert "o=5" not in text(client.get(address(CODES)))
