"""The list of members: sorted by name, address, balance, spent, last seen and joined; columns that people choose."""

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
def people(brand):
    """Of each the name, the address, points earned and spent, and how many days ago they scanned."""
    now = timezone.now()
    rows = [("Zoe", "a@example.com", 50, 0, 3), ("Anna", "z@example.com", 50, 20, 1), ("", "m@example.com", 10, 0, 2)]
    made = []
    for first, email, earned, spent, days in rows:
        person = factories.customer(brand, email=email, first_name=first)
        factories.points(person, brand, earned, at=now - timedelta(days=9))
        if spent:
            factories.redemption(person, factories.reward(brand, cost=spent), at=now - timedelta(days=8))
        account = factories.account(person, brand)
        UserPoints.objects.filter(pk=account.pk).update(enrolled_at=now - timedelta(days=10), updated_at=now)
        scan(factories.code(brand), user=person, scanned_at=now - timedelta(minutes=days))
        made.append(account)
    refresh.refresh(at=now)
    return made


def shown(client, **query):
    """Of all pages, in their order."""
    changes = client.get(address(MEMBERS), query).context["cl"]
    rows = list(changes.result_list)
    while changes.paginator.next:
        changes = client.get(address(MEMBERS) + changes.paginator.next).context["cl"]
        rows += changes.result_list
    return rows


@pytest.mark.parametrize("walks", [True, False])
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
def test_it_is_sorted_either_way_page_by_page(brand, people, monkeypatch, walks, column, order):
    monkeypatch.setattr(TenantAdmin, "list_per_page", 1)
    if walks:
        monkeypatch.setattr(changelist, "EXACT_UP_TO", 0)
        monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    client, number = browser(staff(brand)), COLUMNS[column]

    assert shown(client, o=str(number)) == [people[place] for place in order]
    assert shown(client, o=f"-{number}") == [people[place] for place in order[::-1]]


def test_equal_keys_are_told_apart(brand, people, monkeypatch):
    monkeypatch.setattr(TenantAdmin, "list_per_page", 1)
    monkeypatch.setattr(changelist, "EXACT_UP_TO", 0)
    monkeypatch.setattr(keyset_changelist, "MAX_SORTED_ROWS", 0)
    client = browser(staff(brand))

    assert shown(client, o="5") == [people[0], people[2], people[1]]
    assert shown(client, o="-5") == [people[1], people[2], people[0]]


def test_the_columns_say_the_accounts_own_numbers_and_the_order_follows_within_a_minute(brand, people):
    client = browser(staff(brand))
    factories.points(people[2].user, brand, 500)

    before = shown(client, o="-4")
    refresh.refresh(at=timezone.now())
    after = shown(client, o="-4")

    assert "510" in text(client.get(address(MEMBERS)))
    assert (before[-1], after[0]) == (people[2], people[2])


def test_a_run_writes_only_what_changed_and_what_it_missed_before(brand, people):
    now = timezone.now()

    assert refresh.refresh(at=now) == 0

    ListedMember.objects.all().delete()
    ListedMembersMark.objects.update(until=now - timedelta(days=30))
    assert refresh.refresh(at=now) == 3


def test_who_scans_in_vain_was_seen_too(brand, people):
    later = timezone.now()
    scan(factories.code(brand), user=people[0].user, outcome="error", reason="expired", scanned_at=later)

    refresh.refresh(at=later)

    assert ListedMember.objects.get(account=people[0]).last_seen_at == later


def test_what_staff_or_time_did_is_no_visit(brand, customer):
    account = factories.account(customer, brand)
    factories.points(customer, brand, 5, reason_id="adjust:1")

    refresh.refresh(at=timezone.now())

    assert ListedMember.objects.get(account=account).last_seen_at == account.enrolled_at
    assert "not yet" in text(browser(staff(brand)).get(address(MEMBERS)))


def test_a_member_of_this_minute_is_listed_and_not_lost(brand, people):
    newcomer = factories.account(factories.customer(brand), brand)
    client = browser(staff(brand))

    assert newcomer in shown(client)
    refresh.refresh(at=timezone.now())
    assert newcomer in shown(client, o="1")


def test_another_brands_members_are_not_among_them(brand, people):
    another = factories.brand()
    factories.points(factories.customer(another, first_name="Bea"), another, 60)
    refresh.refresh(at=timezone.now())

    assert set(shown(browser(staff(brand)), o="4")) == set(people)


def test_columns_are_chosen_and_saved_with_the_list(brand, people):
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
    again = opened.context["cl"].list_display
    assert [getattr(column, "__name__", column) for column in again] == names
    assert [each.name for each in opened.context["column_choices"] if each.is_chosen] == ["balance", "external_id"]


def test_a_column_that_the_list_does_not_have_changes_nothing(brand, people):
    client = browser(staff(brand))

    shown_columns = client.get(address(MEMBERS), {"column": ["password", "user__password"]}).context["cl"].list_display

    assert [getattr(column, "__name__", column) for column in shown_columns][1:3] == ["name", "email"]


def test_a_filter_is_a_chip_that_removes_it(brand, people):
    client = browser(staff(brand))

    page = client.get(address(MEMBERS), {"status__exact": "active", "q": "anna", "column": "balance"})

    texts = [chip.text for chip in page.context["limited"].chips]
    assert [each for each in texts if "Active" in each]
    assert all(chip.label == f"{chip.text}: remove" for chip in page.context["limited"].chips)
    assert [each for each in texts if "anna" in each]
    addresses = [chip.address for chip in page.context["limited"].chips]
    assert sorted("status__exact" in each for each in addresses) == [False, True]
    assert all("column=balance" in each for each in addresses)


def test_an_order_of_before_leads_nowhere_wrong(brand, people):
    """Saved addresses with numbers of columns that are not there any more."""
    assert set(shown(browser(staff(brand)), o="99")) == set(people)
