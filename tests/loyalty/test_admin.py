"""The portal's pages about points: blocking members, redelivering events, reading the ledger."""

from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from brands.models import Brand, User
from campaigns.models import UserLoyaltyCampaign
from loyalty.models import BrandLevel, Event, UserPoints
from tests import make
from tests.portal import address, browser, event, form_of, scan, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def plain_http(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = False


@pytest.fixture
def client(brand: Brand) -> Client:
    return browser(staff(brand))


def act(client: Client, label: str, action: str, *rows: Any) -> str:
    sent = {"action": action, "_selected_action": [row.pk for row in rows]}
    return text(client.post(address(label), sent, follow=True))


def found(client: Client, label: str, **query: str) -> list[Any]:
    return list(client.get(address(label), query).context["cl"].result_list)


def test_member_is_blocked_and_let_in_again(client: Client, brand: Brand, customer: User) -> None:
    member = make.account(customer, brand)

    assert "Blocked: 1" in act(client, "loyalty.userpoints", "block", member)
    member.refresh_from_db()
    assert member.status == UserPoints.Status.BLOCKED

    assert "Unblocked: 1" in act(client, "loyalty.userpoints", "unblock", member)
    assert "Unblocked: 0" in act(client, "loyalty.userpoints", "unblock", member)
    member.refresh_from_db()
    assert member.status == UserPoints.Status.ACTIVE
    history = client.get(address("loyalty.userpoints", "history", member.pk)).context["entries"]
    assert [entry.action for entry in history] == ["Unblocked", "Blocked"]


def test_members_numbers_are_for_reading(client: Client, brand: Brand, customer: User) -> None:
    member = make.account(customer, brand)

    assert client.post(address("loyalty.userpoints", "change", member.pk), {"points": 1000}).status_code == 403


def test_members_are_found_by_address_and_name(client: Client, brand: Brand) -> None:
    anna = make.account(make.customer(brand, email="anna@example.com", first_name="Anna", last_name="Adler"), brand)
    make.customer(brand, email="ben@example.com", first_name="Ben")

    for words in ("anna@example.com", " ANNA@example.com ", "anna@", "ann", "adl"):
        assert found(client, "loyalty.userpoints", q=words) == ([anna] if words != "anna@" else [])


def test_member_page_shows_the_last_of_each_list_and_leads_to_all(client: Client, brand: Brand, customer: User) -> None:
    member = make.account(customer, brand)
    page = address("loyalty.userpoints", "change", member.pk)
    before = text(client.get(page))
    assert all(words in before for words in ("No points were", "No campaign was", "Nothing was scanned"))
    for number in range(12):
        make.points(customer, brand, number + 1, reason_id=f"shop:{number}")
    progress = UserLoyaltyCampaign.objects.create(user=customer, campaign=make.campaign(brand), progress=3)
    scanned = scan(make.code(brand), user=customer, location="Pune")
    another = make.brand()
    scan(make.code(another), user=customer, location="Elsewhere")

    shown = text(client.get(page))

    assert [f">{number}.00 points" in shown for number in (12, 3, 2)] == [True, True, False]
    assert "3 / 5" in shown
    assert "Pune" in shown
    assert "Elsewhere" not in shown
    for row in (progress, scanned, member.transactions.first()):
        label = row._meta.label_lower
        assert f'href="{address(label, "change", row.pk)}"' in shown
        assert f'href="{address(label)}?q={quote(customer.email, safe="")}"' in shown
        assert row in found(client, label, q=customer.email)


def test_member_page_costs_the_same_whatever_the_member_did(
    client: Client, brand: Brand, customer: User, django_assert_num_queries: Any
) -> None:
    page = address("loyalty.userpoints", "change", make.account(customer, brand).pk)

    def did(number: int) -> None:
        make.points(customer, brand, number)
        UserLoyaltyCampaign.objects.create(user=customer, campaign=make.campaign(brand))
        scan(make.code(brand), user=customer)

    did(1)
    client.get(page)
    with CaptureQueriesContext(connection) as asked:
        client.get(page)
    for number in range(2, 9):
        did(number)
    with django_assert_num_queries(len(asked)):
        client.get(page)


def test_dead_events_get_another_chance(client: Client, brand: Brand) -> None:
    dead, done = event(brand, status="dead", attempts=9, last_error="no answer"), event(brand)

    assert "Redelivered: 1" in act(client, "loyalty.event", "redeliver", dead, done)

    dead.refresh_from_db()
    done.refresh_from_db()
    assert (dead.status, dead.attempts, done.status) == (Event.Status.PENDING, 0, Event.Status.DONE)


def test_events_are_found_by_their_id(client: Client, brand: Brand) -> None:
    wanted = event(brand)
    event(brand)

    assert found(client, "loyalty.event", q=str(wanted.event_id)) == [wanted]
    assert found(client, "loyalty.event", q="no id") == []


def test_event_shows_what_it_holds(client: Client, brand: Brand) -> None:
    stored = event(brand, detail={"payload": {"name": "<b>Zoë</b>"}}, outcome={"points": 3})

    shown = text(client.get(address("loyalty.event", "change", stored.pk)))

    assert "&lt;b&gt;Zoë&lt;/b&gt;" in shown
    assert "&quot;points&quot;: 3" in shown


def test_ledger_is_found_by_code_and_customer(client: Client, brand: Brand, customer: User) -> None:
    account = make.account(customer, brand)
    line = account.transactions.create(points_redeemed=2, reason="redeemed", reason_id="redeem:1", note="A mug")
    make.account(make.customer(brand), brand).transactions.create(points_earned=1, reason="earned", reason_id="X-1")

    assert found(client, "loyalty.loyaltytransaction", q="redeem:1") == [line]
    assert found(client, "loyalty.loyaltytransaction", q=customer.email) == [line]
    assert ">-2.00<" in text(client.get(address("loyalty.loyaltytransaction"), {"q": "redeem:1"})).replace(" ", "")


def test_level_keeps_its_name(client: Client, brand: Brand) -> None:
    level = BrandLevel.objects.get(brand=brand)
    its = address("loyalty.brandlevel", "change", level.pk)

    client.post(its, {**form_of(client.get(its)), "name": "Iron", "scan_reward_value": 12})

    level.refresh_from_db()
    assert (level.name, level.scan_reward_value) == ("Bronze", 12)
