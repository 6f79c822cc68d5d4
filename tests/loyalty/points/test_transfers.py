"""Transfers of points: both entries or none, idempotent, limited, and without revealing who is a member."""

import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from events import worker
from events.models import Event
from loyalty.members import numbers
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction, PointTransfer
from loyalty.models.notifications import Notification, NotificationSettings
from loyalty.models.webhooks import WebhookEndpoint
from loyalty.points import ledger, transfers
from loyalty.programme import consistency as programme_consistency
from loyalty.programme import roll_forward, rollups
from tests.loyalty.points.conftest import balances, contradictions
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    Brand.objects.filter(pk=brand.pk).update(transfers_allowed=True, transfer_daily_limit=100)
    brand.refresh_from_db()
    return brand


@pytest.fixture
def receiver(brand):
    return factories.customer(brand)


@pytest.fixture
def transfer(api, brand, customer, receiver):
    """Transfers points from the customer, or `sender`, and returns the response."""

    def send(points=30, *, to=None, key="one", sender=None, number=None):
        caller = api.as_customer(sender or customer).with_headers(idempotency_key=key)
        number_text = number or numbers.barcode(factories.account(to or receiver, brand).pk)
        return caller.post("customer/loyalty/transfers", {"receiver": number_text, "points": points})

    return send


def error(response):
    return response.status_code, response.json()["error"]


def test_transfer_moves_points_from_sender_to_receiver(brand, customer, receiver, transfer):
    factories.points(customer, brand, 50)

    response = transfer(30)

    assert response.status_code == 201
    row = PointTransfer.objects.get()
    data = response.json()["data"]
    assert (data["transfer_id"], data["points"], data["new_balance"]) == (row.pk, 30, 20)
    assert balances(customer, receiver) == [20, 30]
    entries = LoyaltyTransaction.objects.filter(reason_id=f"transfer:{row.pk}").order_by("reason")
    assert [(entry.reason, entry.change, entry.note) for entry in entries] == [
        ("earned", 30, "Received from another member"),
        ("redeemed", -30, "Given to another member"),
    ]
    assert contradictions() == []


def test_repeated_request_gets_the_same_response(brand, customer, receiver, transfer):
    factories.points(customer, brand, 50)
    first, second = transfer(30), transfer(30)

    assert first.json()["data"] == second.json()["data"]
    assert balances(customer, receiver) == [20, 30]
    assert error(transfer(31)) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert error(transfer(30, to=factories.customer(brand))) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_received_points_count_for_no_level_and_no_limit(brand, customer, receiver, transfer):
    factories.level(brand, "Gold", 10)
    factories.points(customer, brand, 50)
    transfer(30)

    account = factories.account(receiver, brand)
    assert (account.points, account.lifetime) == (30, 0)
    assert account.current_level != "Gold"
    assert factories.account(customer, brand).lifetime == 50
    ledger.credit(account=account.pk, points=Decimal(5), reason_id="x", note="", at=timezone.now())
    account.refresh_from_db()
    assert account.lifetime == 5


def test_received_points_settle_owed_points_first(brand, customer, receiver, transfer):
    factories.points(customer, brand, 50)
    factories.points(receiver, brand, 20, reason_id="order:A")
    account = factories.account(receiver, brand)
    ledger.debit(account=account.pk, points=Decimal(20), reason_id="redeem:x", note="", at=timezone.now())
    ledger.reverse(account=account.pk, points=Decimal(20), reason_id="return:A:whole", note="", at=timezone.now())

    transfer(30)

    account.refresh_from_db()
    assert (account.points, account.points_owed, account.lifetime) == (10, 0, 0)


def test_received_points_cannot_be_transferred_again(brand, customer, receiver, transfer):
    factories.points(customer, brand, 50)
    factories.points(receiver, brand, 5)
    transfer(30)

    assert error(transfer(6, sender=receiver, to=customer)) == (409, "NOT_ENOUGH_POINTS")
    assert transfer(5, sender=receiver, to=customer, key="two").status_code == 201
    account = factories.account(receiver, brand)
    ledger.debit(account=account.pk, points=Decimal(30), reason_id="redeem:x", note="", at=timezone.now())
    factories.points(receiver, brand, 7)
    assert transfer(7, sender=receiver, to=customer, key="three").status_code == 201


def test_received_points_stay_untransferable_after_a_transfer_of_earned_points(brand, customer, receiver, transfer):
    """Transferring earned points does not make points that were received before transferable."""
    factories.points(customer, brand, 100)
    transfer(50)
    factories.points(receiver, brand, 50)

    assert transfer(50, sender=receiver, to=customer, key="two").status_code == 201
    assert error(transfer(1, sender=receiver, to=customer, key="three")) == (409, "NOT_ENOUGH_POINTS")
    account = factories.account(receiver, brand)
    ledger.debit(account=account.pk, points=Decimal(50), reason_id="redeem:x", note="", at=timezone.now())
    factories.points(receiver, brand, 7)
    assert transfer(7, sender=receiver, to=customer, key="four").status_code == 201


def test_daily_limit_also_applies_to_the_receiver(brand, customer, receiver, transfer):
    other_sender = factories.customer(brand)
    for member in (customer, other_sender):
        factories.points(member, brand, 100)

    assert transfer(80).status_code == 201
    assert error(transfer(21, sender=other_sender, key="two")) == (409, "TRANSFER_LIMIT_REACHED")
    assert transfer(20, sender=other_sender, key="three").status_code == 201


@pytest.mark.parametrize("points", [0, -1, 0.001, "30", None, 10**9, True, [5]])
def test_invalid_amount_is_rejected(brand, customer, transfer, points):
    factories.points(customer, brand, 50)

    assert error(transfer(points)) == (400, "VALIDATION_ERROR")
    assert not PointTransfer.objects.exists()


def test_idempotency_key_is_required(api, brand, customer, receiver):
    body = {"receiver": numbers.barcode(factories.account(receiver, brand).pk), "points": 1}

    response = api.as_customer(customer).post("customer/loyalty/transfers", body)

    assert (*error(response), response.json()["details"]) == (400, "VALIDATION_ERROR", {"header": "Idempotency-Key"})


def test_every_unusable_receiver_number_gets_the_same_error(brand, customer, receiver, transfer):
    """Numbers that are unknown, foreign, blocked, inactive, unsigned or forged all get the same answer."""
    factories.points(customer, brand, 50)
    other = factories.brand(transfers_allowed=True)
    foreign_account = factories.account(factories.customer(other), other).pk
    blocked = factories.account(factories.customer(brand), brand)
    UserPoints.objects.filter(pk=blocked.pk).update(status="blocked")
    inactive_customer = factories.customer(brand)
    inactive_account = factories.account(inactive_customer, brand).pk
    type(inactive_customer).objects.filter(pk=inactive_customer.pk).update(is_active=False)
    receiver_account = factories.account(receiver, brand).pk
    texts = [numbers.barcode(number) for number in (foreign_account, blocked.pk, inactive_account, 10**9)]
    texts += [
        numbers.number(receiver_account),
        f"{numbers.number(receiver_account)}.AAAA",
        receiver.email,
        "٠٠٠",
        "x" * 120,
    ]

    responses = [transfer(number=text, key=str(position)) for position, text in enumerate(texts)]

    assert {error(response) for response in responses} == {(404, "RECEIVER_NOT_FOUND")}
    assert len({response.json()["message"] for response in responses}) == 1
    assert balances(customer) == [50]


def test_transfer_to_oneself_is_rejected(brand, customer, transfer):
    factories.points(customer, brand, 50)

    assert error(transfer(to=customer)) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    ("brand_fields", "code"),
    [
        ({"transfers_allowed": False}, (403, "TRANSFERS_NOT_ALLOWED")),
        ({"loyalty_active": False}, (403, "LOYALTY_DISABLED")),
        ({"transfer_daily_limit": 29}, (409, "TRANSFER_LIMIT_REACHED")),
    ],
)
def test_brand_settings_can_forbid_or_limit_transfers(brand, customer, transfer, brand_fields, code):
    factories.points(customer, brand, 50)
    Brand.objects.filter(pk=brand.pk).update(**brand_fields)

    assert error(transfer(30)) == code
    assert balances(customer) == [50]


def test_blocked_member_cannot_transfer_points(brand, customer, transfer):
    factories.points(customer, brand, 50)
    UserPoints.objects.filter(user=customer).update(status="blocked")

    assert error(transfer(30)) == (403, "MEMBER_BLOCKED")


def test_customer_who_is_not_enrolled_cannot_transfer_points(brand, transfer):
    assert error(transfer(30, sender=factories.customer(brand, enrolled=False))) == (422, "USER_NOT_ENROLLED")


def test_daily_limit_resets_on_the_next_day(brand, customer, receiver, transfer):
    factories.points(customer, brand, 500)
    assert transfer(60).status_code == 201
    response = transfer(41, key="two")
    assert error(response) == (409, "TRANSFER_LIMIT_REACHED")
    assert "you can give 40 more today" in response.json()["message"]
    tomorrow = timezone.now() + timedelta(days=1)
    request = transfers.TransferRequest(
        brand.pk,
        customer.pk,
        factories.account(receiver, brand).pk,
        Decimal(100),
        uuid.UUID(int=1),
        tomorrow,
    )

    transfers.transfer(request)

    assert balances(customer, receiver) == [340, 160]


def test_balance_and_webhook_events_are_published_for_both_members(brand, customer, receiver, transfer):
    WebhookEndpoint.objects.create(brand=brand, url="https://a.example/", secret="s" * 40, types=["points.transferred"])
    factories.points(customer, brand, 50)
    transfer(30)

    events = Event.objects.filter(brand=brand)
    balance_events = events.filter(detail_type="balance-changed", detail__payload__cause__startswith="transfer:")
    assert sorted(event.detail["payload"]["points"] for event in balance_events) == [20, 30]
    webhooks = [event.detail["payload"]["data"] for event in events.filter(detail_type="announce").order_by("pk")]
    assert sorted(
        (data["user_id"] == receiver.pk, data["points_transferred"], data["new_balance"]) for data in webhooks
    ) == [
        (False, -30, 20),
        (True, 30, 30),
    ]


def test_receiver_is_notified_without_the_senders_identity(brand, customer, receiver, transfer):
    NotificationSettings.objects.create(brand=brand)
    factories.points(customer, brand, 50)
    transfer(30)
    worker.drain_slow(lane="notices")

    notification = Notification.objects.get(template="NOTIFY_POINTS_RECEIVED")
    assert notification.user == receiver
    assert notification.payload["points"] == 30
    assert customer.email not in str(notification.payload)
    assert str(customer.pk) not in str({**notification.payload, "cause": ""})


def test_members_can_read_their_number_and_translated_entries(api, brand, customer, receiver, transfer):
    factories.points(customer, brand, 50)
    transfer(30)
    german_api = api.as_customer(receiver).with_headers(accept_language="de")

    number = api.as_customer(receiver).get("customer/loyalty/number").json()["data"]["number"]

    assert numbers.read(number) == factories.account(receiver, brand).pk
    assert (
        german_api.get("customer/loyalty/transactions").json()["data"][0]["note"]
        == "Von einem anderen Mitglied erhalten"
    )


def test_roll_forward_includes_transfers(brand, customer, receiver, transfer):
    factories.points(customer, brand, "50.50")
    transfer(30.25)
    month = rollups.month_of(timezone.now().astimezone(brand.zone).date())

    [line] = roll_forward.months(brand=brand, first=month, last=month, at=timezone.now())

    assert (line.points["received"], line.points["sent"]) == (Decimal("30.25"), Decimal("30.25"))
    assert line.closing == Decimal("50.50") == sum(balances(customer, receiver))
    rollups.catch_up(brand=brand, at=timezone.now() + timedelta(days=2))
    assert contradictions(programme_consistency.CHECKS) == []


def test_consistency_check_finds_a_transfer_without_ledger_entries(brand, customer, receiver):
    row = factories.transfer(factories.account(customer, brand), factories.account(receiver, brand), 5)

    assert set(contradictions()) == {("transfer is not what the ledger says", f"transfer {row.pk}")}


def test_staff_can_search_transfers_by_either_member(brand, customer, receiver, transfer):
    factories.points(customer, brand, 50)
    transfer(30)
    client = browser(staff(brand, role="support"))

    for member in (customer, receiver):
        assert customer.email in text(client.get(address("loyalty.pointtransfer"), {"q": member.email}))
    assert PointTransfer.objects.count() == 1
