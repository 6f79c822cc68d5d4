"""The lists of codes and scans: keyset pagination without lost rows, counts, query counts and indexes."""

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
from tests.authcodes.lists.conftest import CODES, NOON, SCANS, changelist, listed_rows
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db


# --- Pages ------------------------------------------------------------------------------------------------------------


def create_scans(brand: Brand, count: int) -> list[Scan]:
    """Creates scans of as many codes, in groups of four at the same microsecond."""
    codes = factories.batch(brand, quantity=count).codes.order_by("pk")
    return [scan(code, scanned_at=NOON + timedelta(microseconds=number // 4)) for number, code in enumerate(codes)]


def follow_pages(client: Client, label: str, direction: str, start: str = "", **query: Any) -> list[list[Any]]:
    """The pages from the cursor `start` on, following the links in `direction`."""
    page = changelist(client, label, p=start, **query)
    pages = [list(page.result_list)]
    while link := getattr(page.paginator, direction):
        page = client.get(address(label) + link).context["cl"]
        pages.append(list(page.result_list))
    return pages


def cursor_in(link: str) -> str:
    return parse_qs(urlsplit(link).query)["p"][0]


@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize(
    ("label", "query"),
    [(CODES, {}), (CODES, {"q": "T"}), (CODES, {"o": "1"}), (SCANS, {}), (SCANS, {"q": "T"}), (SCANS, {"o": "0"})],
)
def test_pages_list_every_row_once_forwards_and_backwards(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch, label: str, query: dict[str, str], sort: bool
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 7)
    if not sort:
        monkeypatch.setattr(lists, "EXACT_UP_TO", 0)
        monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    create_scans(brand, 38)
    scan(factories.code(factories.brand()))
    expected = list(changelist(client, label, **query).queryset)

    forwards = follow_pages(client, label, "next", **query)
    last = changelist(client, label, **query).paginator.last
    backwards = follow_pages(client, label, "previous", start=cursor_in(last), **query)

    assert [row for page in forwards for row in page] == expected
    assert [len(page) for page in forwards] == [7, 7, 7, 7, 7, 3]
    assert [row for page in reversed(backwards[:-1]) for row in page] == expected[3:]
    assert backwards[-1] == expected[:7]


@pytest.mark.parametrize("superuser", [True, False])
def test_pages_merge_the_scans_of_several_brands(
    brand: Brand, monkeypatch: pytest.MonkeyPatch, superuser: bool
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 7)
    monkeypatch.setattr(lists, "EXACT_UP_TO", 0)
    monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    other, third = factories.brand(), factories.brand()
    scans = [*create_scans(brand, 9), *create_scans(other, 9), *(create_scans(third, 3) if superuser else [])]
    if superuser:
        unknown_scan = {"outcome": "error", "reason": "unknown", "points_status": "not_eligible"}
        scans.append(Scan.objects.create(code="X", scanned_at=NOON, **unknown_scan))
    expected = sorted(scans, key=lambda row: (row.scanned_at, row.scan_id), reverse=True)
    client = browser(factories.user(is_staff=True, is_superuser=True) if superuser else staff(brand, other))

    assert [row for page in follow_pages(client, SCANS, "next") for row in page] == expected
    backwards = follow_pages(client, SCANS, "previous", start=cursor_in(changelist(client, SCANS).paginator.last))
    assert backwards[0] == expected[-7:]
    filtered = follow_pages(client, SCANS, "next", brand__id__exact=other.pk)
    assert [row for page in filtered for row in page] == [row for row in expected if row.brand_id == other.pk]


@pytest.mark.parametrize("is_merged", [True, False])
@pytest.mark.parametrize("label", [CODES, SCANS])
def test_pages_merge_recalled_codes_and_scans_of_several_batches(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch, label: str, is_merged: bool
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 4)
    monkeypatch.setattr(lists, "EXACT_UP_TO", 0)
    monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    monkeypatch.setattr(filters, "MAX_RECALLED_BATCHES", 2 if is_merged else 1)
    fully_recalled, partly_recalled, other_brands_scans = (
        create_scans(brand, 7),
        create_scans(brand, 7),
        create_scans(factories.brand(), 3),
    )
    create_scans(brand, 3)
    for scope in (
        Scope(
            (
                Part(fully_recalled[0].batch),
                Part(partly_recalled[0].batch, partly_recalled[2].code, partly_recalled[5].code),
            )
        ),
        Scope((Part(other_brands_scans[0].batch),)),
    ):
        recalls.recall(scope=scope, recall_id="R-1", contact="x", message="x", reason="x", at=NOON)
    recalled_scans = sorted(
        [*fully_recalled, *partly_recalled[2:6]], key=lambda row: (row.scanned_at, row.scan_id), reverse=True
    )
    expected = (
        recalled_scans
        if label == SCANS
        else [row.auth_code for row in sorted(recalled_scans, key=lambda row: -row.auth_code_id)]
    )

    assert [row for page in follow_pages(client, label, "next", status="recalled") for row in page] == expected
    last = changelist(client, label, status="recalled").paginator.last
    assert follow_pages(client, label, "previous", start=cursor_in(last), status="recalled")[0] == expected[-4:]


def test_first_and_last_pages_have_no_links_beyond_the_list(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 2)
    create_scans(brand, 4)

    first = changelist(client, SCANS)
    second = client.get(address(SCANS) + first.paginator.next).context["cl"]

    assert not (first.paginator.first or first.paginator.previous)
    assert first.paginator.next
    assert first.paginator.last
    assert second.paginator.first
    assert second.paginator.previous
    assert not (second.paginator.next or second.paginator.last)
    assert f'{first.paginator.next.replace("&", "&amp;")}" rel="next"' in text(client.get(address(SCANS)))


def test_cursor_of_one_list_is_ignored_in_another(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 2)
    create_scans(brand, 6)
    expected = list(changelist(client, SCANS).queryset)
    cursor_text = cursor_in(changelist(client, SCANS).paginator.next)

    assert listed_rows(client, SCANS, p=cursor_text) == expected[2:4]
    assert listed_rows(client, SCANS, p=cursor_text, outcome__exact="success") == expected[:2]


def test_deleted_rows_leave_no_empty_page(client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 2)
    create_scans(brand, 6)
    expected = list(changelist(client, SCANS).queryset)
    first = changelist(client, SCANS).paginator.next
    third = client.get(address(SCANS) + first).context["cl"].paginator.next

    Scan.objects.exclude(pk__in=[expected[0].pk, expected[1].pk]).delete()

    assert list(client.get(address(SCANS) + third).context["cl"].result_list) == expected[:2]


def test_deep_pages_need_no_offset(client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 5)
    create_scans(brand, 20)
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
def test_codes_are_counted_from_their_batches(brand: Brand, monkeypatch: pytest.MonkeyPatch, superuser: bool) -> None:
    """The counts of batches are exact even if the planner's statistics are outdated."""
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


def test_batches_of_other_brands_are_not_counted(client: Client, brand: Brand) -> None:
    factories.batch(brand, quantity=3)
    foreign_batch = factories.batch(factories.brand(), quantity=50)

    assert counted_as(client) == "3"
    assert client.get(address(CODES), {"batch__id__exact": foreign_batch.pk}).status_code == 302


@pytest.mark.parametrize("label", [CODES, SCANS])
def test_lists_need_the_same_query_counts_for_10_and_1000_rows(client: Client, brand: Brand, label: str) -> None:
    queries = (
        {},
        {"q": "T"},
        {"status": "expired"},
        {"location" if label == SCANS else "first_scan_location": "Goa"},
        {"batch__id__exact": factories.batch(brand).pk},
    )

    def counts_of_queries() -> list[int]:
        query_counts = []
        for query in queries:
            client.get(address(label), query)
            with CaptureQueriesContext(connection) as captured:
                client.get(address(label), query)
            query_counts.append(len(captured))
        return query_counts

    create_scans(brand, 10)
    baseline = counts_of_queries()
    for code in factories.batch(brand, quantity=1000, prefix="T-").codes.all():
        code.scans.create(brand=brand, code=code.code, outcome="success", reason="accepted", points_status="pending")

    assert counts_of_queries() == baseline
    assert max(baseline) <= 15


# --- Indexes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "updated"),
    [
        ("authcodes_authcode", {"scan_count", "first_scan_at", "first_scan_location"}),
        ("authcodes_scan", {"points_status", "points_awarded"}),
    ],
)
def test_no_index_covers_columns_that_scans_or_points_update(table: str, updated: set[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE tablename = %s", [table])
        definitions = [definition for (definition,) in cursor.fetchall()]

    assert len(definitions) >= 4
    assert [definition for definition in definitions if any(name in definition for name in updated)] == []


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
def test_list_rows_are_read_from_an_index(
    client: Client, brand: Brand, label: str, query: dict[str, Any], index: str
) -> None:
    factories.batch(factories.brand(), quantity=3_000)  # so that this brand has only a few of the codes
    batch = factories.batch(brand)
    for name, related in (("batch", batch), ("product", batch.product)):
        if query.pop(name, None):
            query[f"{name}__id__exact"] = related.pk
    if query.pop("campaign", None):
        query["campaign__campaign_id__exact"] = factories.campaign(brand).pk
    change_list = changelist(client, label, **query)
    key = keyset_changelist.Key(change_list.model, change_list.queryset.query.order_by)
    page = change_list.queryset.order_by(*key.ordering(back=False)).values_list("pk", flat=True)[:31]

    with connection.as_owner(), connection.cursor() as cursor:  # type: ignore[attr-defined] # our own backend's
        cursor.execute("ANALYZE authcodes_authcode")  # otherwise the plan depends on the statistics of earlier tests
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        plan = plan_of(page)

    assert index in {node.get("Index Name") for node in keyset_changelist.plan_nodes(plan)}


@pytest.mark.parametrize("label", [CODES, SCANS])
def test_invalid_cursors_do_not_break_a_list(
    client: Client, brand: Brand, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 1)
    create_scans(brand, 3)
    change_list = changelist(client, label)
    key = keyset_changelist.Key(change_list.model, change_list.queryset.query.order_by)
    invalid_values: list[tuple[Any, ...]] = [
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
    for values in invalid_values:
        for back in (True, False):
            cursor_text = key.write(keyset_changelist.Cursor(back, values), change_list.list_digest)
            assert client.get(address(label), {"p": cursor_text}).status_code == 200, values


def test_lists_cannot_be_sorted_by_columns_without_an_index(client: Client, brand: Brand) -> None:
    create_scans(brand, 3)
    expected = list(AuthCode.objects.filter(brand=brand).order_by("-pk"))

    assert [listed_rows(client, CODES, o=order) for order in ("5", "6.-7", "-2")] == [expected] * 3
    assert "o=5" not in text(client.get(address(CODES)))
