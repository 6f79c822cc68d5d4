"""The list of members: sorting by its columns, choosing columns, and filters."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.saved_lists import SavedList
from loyalty.members.listing import refresh
from loyalty.models.accounts import UserPoints
from loyalty.models.members.listed_members import ListedMember, ListedMembersMark
from portal.base.tenant_admin import TenantAdmin
from portal.lists import changelist, keyset_changelist
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db
MEMBERS = "loyalty.userpoints"
COLUMNS = {"name": 1, "email": 2, "balance": 4, "spent": 5, "last_seen": 6, "joined": 7}


@pytest.fixture
def members(brand):
    """Accounts that differ in name, address, points earned and spent, and in the time of the last scan."""
    now = timezone.now()
    rows = [("Zoe", "a@example.com", 50, 0, 3), ("Anna", "z@example.com", 50, 20, 1), ("", "m@example.com", 10, 0, 2)]
    accounts = []
    for first, email, earned, spent, minutes in rows:
        customer = factories.customer(brand, email=email, first_name=first)
        factories.points(customer, brand, earned, at=now - timedelta(days=9))
        if spent:
            factories.redemption(customer, factories.reward(brand, cost=spent), at=now - timedelta(days=8))
        account = factories.account(customer, brand)
        UserPoints.objects.filter(pk=account.pk).update(enrolled_at=now - timedelta(days=10), updated_at=now)
        scan(factories.code(brand), user=customer, scanned_at=now - timedelta(minutes=minutes))
        accounts.append(account)
    refresh.refresh(at=now)
    return accounts


def listed_rows(client, **query):
    """The rows of all pages, in order."""
    page = client.get(address(MEMBERS), query).context["cl"]
    rows = list(page.result_list)
    while page.paginator.next:
        page = client.get(address(MEMBERS) + page.paginator.next).context["cl"]
        rows += page.result_list
    return rows


@pytest.mark.parametrize("uses_keyset", [True, False])
@pytest.mark.parametrize(
    ("column", "order"),
    [
        ("name", [1, 2, 0]),
        ("email", [0, 2, 1]),
        ("balance", [2, 1, 0]),
        ("last_seen", [0, 2, 1]),
        ("joined", [0, 1, 2]),
    ],
)
def test_list_is_sorted_in_both_directions_across_pages(brand, members, monkeypatch, uses_keyset, column, order):
    monkeypatch.setattr(TenantAdmin, "list_per_page", 1)
    if uses_keyset:
        monkeypatch.setattr(changelist, "EXACT_UP_TO", 0)
        monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    client, number = browser(staff(brand)), COLUMNS[column]

    assert listed_rows(client, o=str(number)) == [members[index] for index in order]
    assert listed_rows(client, o=f"-{number}") == [members[index] for index in order[::-1]]


def test_rows_with_equal_sort_keys_have_a_stable_order(brand, members, monkeypatch):
    monkeypatch.setattr(TenantAdmin, "list_per_page", 1)
    monkeypatch.setattr(changelist, "EXACT_UP_TO", 0)
    monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    client = browser(staff(brand))

    assert listed_rows(client, o="5") == [members[0], members[2], members[1]]
    assert listed_rows(client, o="-5") == [members[1], members[2], members[0]]


def test_order_follows_a_changed_balance_after_the_refresh(brand, members):
    client = browser(staff(brand))
    factories.points(members[2].user, brand, 500)

    before = listed_rows(client, o="-4")
    refresh.refresh(at=timezone.now())
    after = listed_rows(client, o="-4")

    assert "510" in text(client.get(address(MEMBERS)))
    assert (before[-1], after[0]) == (members[2], members[2])


def test_refresh_writes_only_changed_and_missing_rows(brand, members):
    now = timezone.now()

    assert refresh.refresh(at=now) == 0

    ListedMember.objects.all().delete()
    ListedMembersMark.objects.update(until=now - timedelta(days=30))
    assert refresh.refresh(at=now) == 3


def test_unsuccessful_scan_counts_as_last_seen(brand, members):
    later = timezone.now()
    scan(factories.code(brand), user=members[0].user, outcome="error", reason="expired", scanned_at=later)

    refresh.refresh(at=later)

    assert ListedMember.objects.get(account=members[0]).last_seen_at == later


def test_adjustment_by_staff_does_not_count_as_last_seen(brand, customer):
    account = factories.account(customer, brand)
    factories.points(customer, brand, 5, reason_id="adjust:1")

    refresh.refresh(at=timezone.now())

    assert ListedMember.objects.get(account=account).last_seen_at == account.enrolled_at
    assert "not yet" in text(browser(staff(brand)).get(address(MEMBERS)))


def test_new_member_is_listed_before_and_after_the_refresh(brand, members):
    newcomer = factories.account(factories.customer(brand), brand)
    client = browser(staff(brand))

    assert newcomer in listed_rows(client)
    refresh.refresh(at=timezone.now())
    assert newcomer in listed_rows(client, o="1")


def test_members_of_another_brand_are_not_listed(brand, members):
    other_brand = factories.brand()
    factories.points(factories.customer(other_brand, first_name="Bea"), other_brand, 60)
    refresh.refresh(at=timezone.now())

    assert set(listed_rows(browser(staff(brand)), o="4")) == set(members)


def test_chosen_columns_are_saved_with_the_list(brand, members):
    client = browser(staff(brand))
    query = "column=balance&column=external_id&status__exact=active"

    chosen = client.get(f"{address(MEMBERS)}?{query}").context["cl"]
    client.post(
        address("brands.savedlist", "add"), {"brand": brand.pk, "name": "Balances", "list": MEMBERS, "address": query}
    )
    [saved] = SavedList.objects.all()
    opened = client.get(address("brands.savedlist", "open", saved.pk), follow=True)

    names = [getattr(column, "__name__", column) for column in chosen.list_display]
    assert names == ["action_checkbox", "name", "balance", "external_id"]
    assert saved.query["column"] == ["balance", "external_id"]
    opened_columns = opened.context["cl"].list_display
    assert [getattr(column, "__name__", column) for column in opened_columns] == names
    assert [each.name for each in opened.context["column_choices"] if each.is_chosen] == ["balance", "external_id"]


def test_unknown_column_is_ignored(brand, members):
    client = browser(staff(brand))

    columns = client.get(address(MEMBERS), {"column": ["password", "user__password"]}).context["cl"].list_display

    assert [getattr(column, "__name__", column) for column in columns][1:3] == ["name", "email"]


def test_each_filter_has_a_chip_that_removes_it(brand, members):
    client = browser(staff(brand))

    page = client.get(address(MEMBERS), {"status__exact": "active", "q": "anna", "column": "balance"})

    texts = [chip.text for chip in page.context["limited"].chips]
    assert [each for each in texts if "Active" in each]
    assert all(chip.label == f"{chip.text}: remove" for chip in page.context["limited"].chips)
    assert [each for each in texts if "anna" in each]
    addresses = [chip.address for chip in page.context["limited"].chips]
    assert sorted("status__exact" in each for each in addresses) == [False, True]
    assert all("column=balance" in each for each in addresses)


def test_unknown_sort_column_is_ignored(brand, members):
    """Saved addresses may contain numbers of columns that no longer exist."""
    assert set(listed_rows(browser(staff(brand)), o="99")) == set(members)
