"""The lists of members and transactions: sorting and pagination."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.members.listing import refresh
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from portal.base.tenant_admin import TenantAdmin
from portal.lists import changelist, keyset_changelist
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db
MEMBERS, LEDGER = "loyalty.userpoints", "loyalty.loyaltytransaction"


def members(brand: Brand, *points: int) -> list[UserPoints]:
    accounts = [factories.account(factories.customer(brand), brand) for _ in points]
    for account, earned in zip(accounts, points, strict=True):
        UserPoints.objects.filter(pk=account.pk).update(points=earned, points_earned=earned)
    refresh.refresh(at=timezone.now())
    return accounts


def pages(client: Client, label: str, **query: str) -> list[list[Any]]:
    page = client.get(address(label), query).context["cl"]
    results = [list(page.result_list)]
    while page.paginator.next:
        page = client.get(address(label) + page.paginator.next).context["cl"]
        results.append(list(page.result_list))
    return results


@pytest.mark.parametrize("uses_keyset", [True, False])
@pytest.mark.parametrize("column", ["4"])
def test_members_are_sorted_by_points_across_pages(
    brand: Brand, monkeypatch: pytest.MonkeyPatch, column: str, uses_keyset: bool
) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 3)
    if uses_keyset:
        monkeypatch.setattr(changelist, "EXACT_UP_TO", 0)
        monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    members(brand, 5, 1, 5, 9, 0, 5, 7)
    members(factories.brand(), 99)
    client = browser(staff(brand))

    descending, ascending = pages(client, MEMBERS, o=f"-{column}"), pages(client, MEMBERS, o=column)

    assert [int(row.points) for page in descending for row in page] == [9, 7, 5, 5, 5, 1, 0]
    assert [int(row.points) for page in ascending for row in page] == [0, 1, 5, 5, 5, 7, 9]
    assert [len(page) for page in descending] == [3, 3, 1]
    assert len({row.pk for page in descending for row in page}) == 7


def test_transactions_are_sorted_by_time(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TenantAdmin, "list_per_page", 2)
    (account,) = members(brand, 0)
    entries = [
        LoyaltyTransaction.objects.create(
            user_point=account, points_earned=Decimal(1), reason="earned", reason_id=f"order:{number}"
        )
        for number in range(5)
    ]
    client = browser(staff(brand))

    assert [row for page in pages(client, LEDGER, o="0") for row in page] == entries
    assert [row for page in pages(client, LEDGER, o="-0") for row in page] == entries[::-1]


@pytest.mark.parametrize(("label", "column"), [(MEMBERS, 1), (MEMBERS, 4), (LEDGER, 0), ("authcodes.scan", 0)])
def test_list_column_can_be_sorted(brand: Brand, label: str, column: int) -> None:
    (account,) = members(brand, 3)
    account.transactions.create(points_earned=1, reason="earned", reason_id="order:1")
    scan(factories.code(brand))

    response = browser(staff(brand)).get(address(label))

    assert f"o={column}" in text(response) or f"o=-{column}" in text(response)
