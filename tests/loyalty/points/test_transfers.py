"""Points that members give to each other: both sides or none, once, within limits, and nobody learns who is one."""

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
from loyalty.programme import consistency as books
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
def friend(brand):
    return factories.customer(brand)


@pytest.fixture
def give(api, brand, customer, friend):
    """The customer gives points to somebody; the answer."""

    def given(points=30, *, to=None, key="one", sender=None, number=None):
        caller = api.as_customer(sender or customer).having(idempotency_key=key)
        receiver = number or numbers.barcode(factories.account(to or friend, brand).pk)
        return caller.post("customer/loyalty/transfers", {"receiver": receiver, "points": points})

    return given


def error(answer):
    return answer.status_code, answer.json()["error"]


def test_points_move_from_one_to_the_other(brand, customer, friend, give):
    factories.points(customer, brand, 50)

    answer = give(30)

    assert answer.status_code == 201
    made = PointTransfer.objects.get()
    data = answer.json()["data"]
    assert (data["transfer_id"], data["points"], data["new_balance"]) == (made.pk, 30, 20)
    assert balances(customer, friend) == [20, 30]
    lines = LoyaltyTransaction.objects.filter(reason_id=f"transfer:{made.pk}").order_by("reason")
    assert [(line.reason, line.change, line.note) for line in lines] == [
        ("earned", 30, "Received from another member"),
        ("redeemed", -30, "Given to another member"),
    ]
    assert contradictions() == []


def test_the_same_request_again_gets_the_same_answer(brand, customer, friend, give):
    factories.points(customer, brand, 50)
    first, second = give(30), give(30)

    assert first.json()["data"] == second.json()["data"]
    assert balances(customer, friend) == [20, 30]
    assert error(give(31)) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert error(give(30, to=factories.customer(brand))) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_received_points_reach_no_level_and_use_no_limit_up(brand, customer, friend, give):
    factories.level(brand, "Gold", 10)
    factories.points(customer, brand, 50)
    give(30)

    account = factories.account(friend, brand)
    assert (account.points, account.lifetime) == (30, 0)
    assert account.current_level != "Gold"
    assert factories.account(customer, brand).lifetime == 50
    ledger.credit(account=account.pk, points=Decimal(5), reason_id="x", note="", at=timezone.now())
    account.refresh_from_db()
    assert account.lifetime == 5


def test_what_the_receiver_owes_is_settled_first(brand, customer, friend, give):
    factories.points(customer, brand, 50)
    factories.points(friend, brand, 20, reason_id="order:A")
    account = factories.account(friend, brand)
    ledger.debit(account=account.pk, points=Decimal(20), reason_id="redeem:x", note="", at=timezone.now())
    ledger.reverse(account=account.pk, points=Decimal(20), reason_id="return:A:whole", note="", at=timezone.now())

    give(30)

    account.refresh_from_db()
    assert (account.points, account.points_owed, account.lifetime) == (10, 0, 0)


def test_points_that_were_given_cannot_be_given_on(brand, customer, friend, give):
    factories.points(customer, brand, 50)
    factories.points(friend, brand, 5)
    give(30)

    assert error(give(6, sender=friend, to=customer)) == (409, "NOT_ENOUGH_POINTS")
    assert give(5, sender=friend, to=customer, key="two").status_code == 201
    account = factories.account(friend, brand)
    ledger.debit(account=account.pk, points=Decimal(30), reason_id="redeem:x", note="", at=timezone.now())
    factories.points(friend, brand, 7)
    assert give(7, sender=friend, to=customer, key="three").status_code == 201


def test_points_that_were_given_stay_own_gifts_or_not(brand, customer, friend, give):
    """Received first, earned then: giving away what was earned makes nothing of the received points one's own."""
    factories.points(customer, brand, 100)
    give(50)
    factories.points(friend, brand, 50)

    assert give(50, sender=friend, to=customer, key="two").status_code == 201
    assert error(give(1, sender=friend, to=customer, key="three")) == (409, "NOT_ENOUGH_POINTS")
    account = factories.account(friend, brand)
    ledger.debit(account=account.pk, points=Decimal(50), reason_id="redeem:x", note="", at=timezone.now())
    factories.points(friend, brand, 7)
    assert give(7, sender=friend, to=customer, key="four").status_code == 201


def test_many_givers_bring_one_receiver_no_more_than_a_day_allows(brand, customer, friend, give):
    third = factories.customer(brand)
    for each in (customer, third):
        factories.points(each, brand, 100)

    assert give(80).status_code == 201
    assert error(give(21, sender=third, key="two")) == (409, "TRANSFER_LIMIT_REACHED")
    assert give(20, sender=third, key="three").status_code == 201


@pytest.mark.parametrize("points", [0, -1, 0.001, "30", None, 10**9, True, [5]])
def test_what_is_no_amount_is_refused(brand, customer, give, points):
    factories.points(customer, brand, 50)

    assert error(give(points)) == (400, "VALIDATION_ERROR")
    assert not PointTransfer.objects.exists()


def test_a_key_is_needed(api, brand, customer, friend):
    body = {"receiver": numbers.barcode(factories.account(friend, brand).pk), "points": 1}

    answer = api.as_customer(customer).post("customer/loyalty/transfers", body)

    assert (*error(answer), answer.json()["details"]) == (400, "VALIDATION_ERROR", {"header": "Idempotency-Key"})


def test_nobody_learns_who_is_a_member(brand, customer, friend, give):
    """A number that is nobody's, another brand's, blocked, erased, unsigned or made up: one answer, and equal work."""
    factories.points(customer, brand, 50)
    other = factories.brand(transfers_allowed=True)
    foreign = factories.account(factories.customer(other), other).pk
    blocked = factories.account(factories.customer(brand), brand)
    UserPoints.objects.filter(pk=blocked.pk).update(status="blocked")
    inactive = factories.customer(brand)
    gone = factories.account(inactive, brand).pk
    type(inactive).objects.filter(pk=inactive.pk).update(is_active=False)
    account = factories.account(friend, brand).pk
    texts = [numbers.barcode(number) for number in (foreign, blocked.pk, gone, 10**9)]
    texts += [numbers.number(account), f"{numbers.number(account)}.AAAA", friend.email, "٠٠٠", "x" * 120]

    answers = [give(number=each, key=str(at)) for at, each in enumerate(texts)]

    assert {error(answer) for answer in answers} == {(404, "RECEIVER_NOT_FOUND")}
    assert len({answer.json()["message"] for answer in answers}) == 1
    assert balances(customer) == [50]


def test_ones_own_number_is_refused_in_words(brand, customer, give):
    factories.points(customer, brand, 50)

    assert error(give(to=customer)) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"transfers_allowed": False}, (403, "TRANSFERS_NOT_ALLOWED")),
        ({"loyalty_active": False}, (403, "LOYALTY_DISABLED")),
        ({"transfer_daily_limit": 29}, (409, "TRANSFER_LIMIT_REACHED")),
    ],
)
def test_the_brand_decides(brand, customer, give, change, code):
    factories.points(customer, brand, 50)
    Brand.objects.filter(pk=brand.pk).update(**change)

    assert error(give(30)) == code
    assert balances(customer) == [50]


def test_a_blocked_member_gives_nothing(brand, customer, give):
    factories.points(customer, brand, 50)
    UserPoints.objects.filter(user=customer).update(status="blocked")

    assert error(give(30)) == (403, "MEMBER_BLOCKED")


def test_somebody_who_is_no_member_gives_nothing(brand, give):
    assert error(give(30, sender=factories.customer(brand, enrolled=False))) == (422, "USER_NOT_ENROLLED")


def test_the_limit_is_of_a_day_by_the_brands_clock(brand, customer, friend, give):
    factories.points(customer, brand, 500)
    assert give(60).status_code == 201
    refused = give(41, key="two")
    assert error(refused) == (409, "TRANSFER_LIMIT_REACHED")
    assert "you can give 40 more today" in refused.json()["message"]
    tomorrow = timezone.now() + timedelta(days=1)
    request = transfers.TransferRequest(
        brand.pk,
        customer.pk,
        factories.account(friend, brand).pk,
        Decimal(100),
        uuid.UUID(int=1),
        tomorrow,
    )

    transfers.transfer(request)

    assert balances(customer, friend) == [340, 160]


def test_what_follows_is_published_for_both(brand, customer, friend, give):
    WebhookEndpoint.objects.create(brand=brand, url="https://a.example/", secret="s" * 40, types=["points.transferred"])
    factories.points(customer, brand, 50)
    give(30)

    events = Event.objects.filter(brand=brand)
    changed = events.filter(detail_type="balance-changed", detail__payload__cause__startswith="transfer:")
    assert sorted(each.detail["payload"]["points"] for each in changed) == [20, 30]
    announced = [each.detail["payload"]["data"] for each in events.filter(detail_type="announce").order_by("pk")]
    assert sorted(
        (each["user_id"] == friend.pk, each["points_transferred"], each["new_balance"]) for each in announced
    ) == [
        (False, -30, 20),
        (True, 30, 30),
    ]


def test_the_receiver_is_notified_and_not_of_whom(brand, customer, friend, give):
    NotificationSettings.objects.create(brand=brand)
    factories.points(customer, brand, 50)
    give(30)
    worker.drain_slow(lane="notices")

    notification = Notification.objects.get(template="NOTIFY_POINTS_RECEIVED")
    assert notification.user == friend
    assert notification.payload["points"] == 30
    assert customer.email not in str(notification.payload)
    assert str(customer.pk) not in str({**notification.payload, "cause": ""})


def test_members_read_their_number_and_the_entries(api, brand, customer, friend, give):
    factories.points(customer, brand, 50)
    give(30)
    german = api.as_customer(friend).having(accept_language="de")

    number = api.as_customer(friend).get("customer/loyalty/number").json()["data"]["number"]

    assert numbers.read(number) == factories.account(friend, brand).pk
    assert (
        german.get("customer/loyalty/transactions").json()["data"][0]["note"] == "Von einem anderen Mitglied erhalten"
    )


def test_the_books_close_with_transfers(brand, customer, friend, give):
    factories.points(customer, brand, "50.50")
    give(30.25)
    month = rollups.month_of(timezone.now().astimezone(brand.zone).date())

    [line] = roll_forward.months(brand=brand, first=month, last=month, at=timezone.now())

    assert (line.points["received"], line.points["sent"]) == (Decimal("30.25"), Decimal("30.25"))
    assert line.closing == Decimal("50.50") == sum(balances(customer, friend))
    rollups.catch_up(brand=brand, at=timezone.now() + timedelta(days=2))
    assert contradictions(books.CHECKS) == []


def test_checks_find_a_side_that_is_missing(brand, customer, friend):
    made = factories.transfer(factories.account(customer, brand), factories.account(friend, brand), 5)

    assert set(contradictions()) == {("transfer is not what the ledger says", f"transfer {made.pk}")}


def test_staff_read_transfers_and_find_them_by_either_member(brand, customer, friend, give):
    factories.points(customer, brand, 50)
    give(30)
    client = browser(staff(brand, role="support"))

    for person in (customer, friend):
        assert customer.email in text(client.get(address("loyalty.pointtransfer"), {"q": person.email}))
    assert PointTransfer.objects.count() == 1
