"""The portal's pages about points: blocking members, retrying events, reading the ledger."""

from decimal import Decimal
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.models.campaigns import UserLoyaltyCampaign
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.approvals import PointsApproval
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import BrandLevel
from loyalty.points import adjustments
from tests.support import factories
from tests.support.portal import address, browser, event, form_of, scan, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(brand: Brand) -> Client:
    return browser(staff(brand))


def run_action(client: Client, label: str, action: str, *rows: Any) -> str:
    form_data = {"action": action, "_selected_action": [row.pk for row in rows]}
    return text(client.post(address(label), form_data, follow=True))


def listed_rows(client: Client, label: str, **query: str) -> list[Any]:
    return list(client.get(address(label), query).context["cl"].result_list)


def confirm_action(client: Client, action: str, *rows: Any, reason: str = "Asked by phone") -> str:
    """Runs an action of the list of members and confirms it with a reason."""
    form_data = {"action": action, "_selected_action": [row.pk for row in rows], "reason": reason}
    return text(client.post(address("loyalty.userpoints"), form_data, follow=True))


def test_member_is_blocked_and_unblocked(client: Client, brand: Brand, customer: User) -> None:
    member = factories.account(customer, brand)

    confirmation = run_action(client, "loyalty.userpoints", "block", member)
    assert customer.email in confirmation
    assert "Blocked members cannot earn or redeem points" in confirmation
    member.refresh_from_db()
    assert member.status == UserPoints.Status.ACTIVE
    confirm_action(client, "block", member, reason=" ")
    member.refresh_from_db()
    assert member.status == UserPoints.Status.ACTIVE

    assert "Blocked: 1" in confirm_action(client, "block", member)
    member.refresh_from_db()
    assert member.status == UserPoints.Status.BLOCKED

    assert "Unblocked: 1" in confirm_action(client, "unblock", member)
    assert "Unblocked: 0" in confirm_action(client, "unblock", member)
    member.refresh_from_db()
    assert member.status == UserPoints.Status.ACTIVE
    history = client.get(address("loyalty.userpoints", "history", member.pk)).context["entries"]
    assert [(entry.action, entry.reason) for entry in history] == [
        ("Unblocked", "Asked by phone"),
        ("Blocked", "Asked by phone"),
    ]


def test_member_is_blocked_and_unblocked_on_their_own_page(client: Client, brand: Brand) -> None:
    customer = factories.customer(brand, first_name="Ada", last_name="Lovelace")
    member = factories.account(customer, brand)
    block = reverse("admin:loyalty_userpoints_block_one", args=[member.pk])
    unblock = reverse("admin:loyalty_userpoints_unblock_one", args=[member.pk])

    assert f"Ada Lovelace, {customer.email}" in text(client.get(block))
    assert client.get(unblock).status_code == 403
    client.post(block, {"reason": "Sells codes"})
    member.refresh_from_db()
    assert member.status == UserPoints.Status.BLOCKED
    assert AuditLogEntry.objects.get(kind="loyalty.userpoints").reason == "Sells codes"

    client.post(unblock, {"reason": "A mistake"})
    member.refresh_from_db()
    assert member.status == UserPoints.Status.ACTIVE
    assert browser(staff(brand, role="support")).post(block, {"reason": "x"}).status_code == 403
    assert browser(staff(factories.brand())).post(block, {"reason": "x"}).status_code == 404


def test_adjustment_pages_name_the_member(client: Client, brand: Brand, settings: Any) -> None:
    settings.ADJUSTMENT_CONFIRM_ABOVE = 10
    customer = factories.customer(brand, first_name="Ada", last_name="Lovelace")
    url = reverse("admin:loyalty_userpoints_adjust", args=[factories.account(customer, brand).pk])
    name = f"Ada Lovelace, {customer.email}"

    form_page = text(client.get(url))
    form_data = {"direction": "add", "amount": "50", "reason": "Sorry", "key": str(uuid4())}
    confirmation = text(client.post(url, form_data))

    assert f"Adjust the points of {name}" in form_page
    assert f"Add 50 points for {name}?" in confirmation


def test_member_page_shows_source_author_and_balance_of_each_movement(brand: Brand, customer: User) -> None:
    staff_user = staff(brand, first_name="Grace", last_name="Hopper")
    member = factories.account(customer, brand)
    factories.points(customer, brand, 10, reason_id="CODE-1")
    adjustments.adjust(
        account=member,
        points=Decimal(-4),
        key=uuid4(),
        audit_context=AuditContext(staff_user, timezone.now(), "", "Slip"),
    )

    adjusted, earned = browser(staff_user).get(address("loyalty.userpoints", "change", member.pk)).context["lines"]

    assert (earned.points, earned.balance, earned.details) == ("10 points", "10", ["CODE-1"])
    assert (adjusted.points, adjusted.balance, adjusted.details) == ("-4 points", "6", ["by Grace Hopper", "Slip"])
    entry = LoyaltyTransaction.objects.get(reason="redeemed")
    page_text = text(browser(staff_user).get(address("loyalty.loyaltytransaction", "change", entry.pk)))
    assert "Adjusted" in page_text
    assert "Grace Hopper" in page_text
    assert "Redeemed" not in page_text


def test_amounts_of_a_member_cannot_be_edited(client: Client, brand: Brand, customer: User) -> None:
    member = factories.account(customer, brand)

    assert client.post(address("loyalty.userpoints", "change", member.pk), {"points": 1000}).status_code == 403


def test_members_are_found_by_address_and_name(client: Client, brand: Brand) -> None:
    anna = factories.account(
        factories.customer(brand, email="anna@example.com", first_name="Anna", last_name="Adler"), brand
    )
    factories.customer(brand, email="ben@example.com", first_name="Ben")

    for search_text in ("anna@example.com", " ANNA@example.com ", "anna@", "ann", "adl"):
        assert listed_rows(client, "loyalty.userpoints", q=search_text) == [anna]


def test_member_page_shows_activity_and_links_to_the_lists(client: Client, brand: Brand, customer: User) -> None:
    member = factories.account(customer, brand)
    page = address("loyalty.userpoints", "change", member.pk)
    before = text(client.get(page))
    assert all(
        message in before for message in ("Nothing else has happened yet", "No campaign started", "No notes yet")
    )
    for number in range(12):
        factories.points(customer, brand, number + 1, reason_id=f"shop:{number}")
    progress = UserLoyaltyCampaign.objects.create(user=customer, campaign=factories.campaign(brand), progress=3)
    scanned = scan(factories.code(brand), user=customer, location="Pune")
    another = factories.brand()
    scan(factories.code(another), user=customer, location="Elsewhere")

    page_text = text(client.get(page))

    assert "3 / 5" in page_text
    assert "Pune" in page_text
    assert "Elsewhere" not in page_text
    for row in (progress, scanned, member.transactions.first()):
        assert f'href="{address(row._meta.label_lower, "change", row.pk)}"' in page_text
        assert row in listed_rows(client, row._meta.label_lower, q=customer.email)
    for label in ("authcodes.scan", "loyalty.loyaltytransaction"):
        assert f'href="{address(label)}?q={quote(customer.email, safe="")}"' in page_text


def test_member_page_needs_a_constant_number_of_queries(
    client: Client, brand: Brand, customer: User, django_assert_num_queries: Any
) -> None:
    page = address("loyalty.userpoints", "change", factories.account(customer, brand).pk)

    def add_activity(number: int) -> None:
        factories.points(customer, brand, number)
        UserLoyaltyCampaign.objects.create(user=customer, campaign=factories.campaign(brand))
        scan(factories.code(brand), user=customer)

    add_activity(1)
    client.get(page)
    with CaptureQueriesContext(connection) as queries:
        client.get(page)
    for number in range(2, 9):
        add_activity(number)
    with django_assert_num_queries(len(queries)):
        client.get(page)


def test_dead_events_are_retried(client: Client, brand: Brand) -> None:
    dead, done = event(brand, status="dead", attempts=9, last_error="no answer"), event(brand)

    assert "Retried: 1" in run_action(client, "events.event", "redeliver", dead, done)

    dead.refresh_from_db()
    done.refresh_from_db()
    assert (dead.status, dead.attempts, done.status) == (Event.Status.PENDING, 0, Event.Status.DONE)


def test_events_are_found_by_their_id(client: Client, brand: Brand) -> None:
    expected = event(brand)
    event(brand)

    assert listed_rows(client, "events.event", q=str(expected.event_id)) == [expected]
    assert listed_rows(client, "events.event", q="no id") == []


def test_event_page_shows_payload_and_outcome(client: Client, brand: Brand) -> None:
    stored = event(brand, detail={"payload": {"name": "<b>Zoë</b>"}}, outcome={"points": 3})

    page_text = text(client.get(address("events.event", "change", stored.pk)))

    assert "&lt;b&gt;Zoë&lt;/b&gt;" in page_text
    assert "&quot;points&quot;: 3" in page_text


def test_ledger_entries_are_found_by_reason_id_and_customer(client: Client, brand: Brand, customer: User) -> None:
    account = factories.account(customer, brand)
    entry = account.transactions.create(points_redeemed=2, reason="redeemed", reason_id="redeem:1", note="A mug")
    factories.account(factories.customer(brand), brand).transactions.create(
        points_earned=1, reason="earned", reason_id="X-1"
    )

    assert listed_rows(client, "loyalty.loyaltytransaction", q="redeem:1") == [entry]
    assert listed_rows(client, "loyalty.loyaltytransaction", q=customer.email) == [entry]
    assert ">-2<" in text(client.get(address("loyalty.loyaltytransaction"), {"q": "redeem:1"})).replace(" ", "")


def test_name_of_a_level_cannot_be_changed(client: Client, brand: Brand) -> None:
    level = BrandLevel.objects.get(brand=brand)
    url = address("loyalty.brandlevel", "change", level.pk)

    client.post(url, {**form_of(client.get(url)), "name": "Iron", "scan_reward_value": 12})

    level.refresh_from_db()
    assert (level.name, level.scan_reward_value) == ("Bronze", 12)


def test_read_only_page_has_no_help_texts_of_fields(client: Client, brand: Brand, customer: User) -> None:
    factories.points(customer, brand, 3)
    entry = LoyaltyTransaction.objects.get()

    page_text = text(client.get(address("loyalty.loyaltytransaction", "change", entry.pk)))
    form = text(client.get(address("loyalty.reward", "add")))

    assert "The code for scans" not in page_text
    assert "Number in stock" in form


def test_ceiling_of_a_percentage_and_the_requested_value_are_in_the_readers_language(brand: Brand) -> None:
    level = factories.level(brand, "Gold", 500, "percentage", 50)
    url, client = address("loyalty.brandlevel", "change", level.pk), browser(staff(brand))

    saved = text(client.post(url, {**form_of(client.get(url)), "scan_reward_value": "1500"}, follow=True))
    german = browser(staff(brand, portal_language="de"))
    request_page = text(german.get(address("loyalty.pointsapproval", "change", PointsApproval.objects.get().pk)))

    assert "Above the ceiling of 100. " in saved
    assert "Until then the value is 100." in saved
    assert ("1.500" in request_page, "1,500" in request_page) == (True, False)
