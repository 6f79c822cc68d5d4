"""Codes of rewards at the till, cancelled redemptions, and uses that are taken back: over the API."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from core.errors import Invalid
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import BrandLevel
from loyalty.models.rewards import Reward
from loyalty.rewards import cancellation, till
from tests.loyalty.rewards.conftest import balance, deed, hold_a_pass
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.usefixtures("books_are_right")


def test_till_sees_what_a_code_is_for_and_not_whose_it_is(api, customer, redemption):
    data = api.hub().post("redemptions/check", {"code": redemption.code.lower()}).json()["data"]

    assert (data["name"], data["state"], data["cost"]) == ("A mug", "good", 10)
    assert customer.email not in str(data)
    assert data["member"].endswith("@example.com")


def test_code_is_used_once(api, redemption):
    hub = api.hub()

    used = hub.post("redemptions/use", {"code": redemption.code})
    again = hub.post("redemptions/use", {"code": redemption.code})

    assert used.json()["data"]["state"] == "used"
    assert error(again) == (409, "REDEMPTION_USED")
    assert hub.post("redemptions/check", {"code": redemption.code}).json()["data"]["state"] == "used"


def test_same_request_is_told_again_that_the_code_is_used(api, redemption):
    hub = api.hub()
    first = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")
    again = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")

    assert (first.status_code, again.json()) == (200, first.json())
    assert error(hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="another")) == (
        409,
        "REDEMPTION_USED",
    )


def test_expired_and_cancelled_codes_are_worth_nothing(api, brand, customer, redemption):
    factories.points(customer, brand, 30)
    old = factories.redemption(customer, factories.reward(brand, code_days=1), at=timezone.now() - timedelta(days=2))
    cancellation.cancel(redemption=redemption, audit_context=deed(brand))
    hub = api.hub()

    assert error(hub.post("redemptions/use", {"code": old.code})) == (409, "REDEMPTION_EXPIRED")
    assert error(hub.post("redemptions/use", {"code": redemption.code})) == (409, "REDEMPTION_CANCELLED")


def test_code_of_a_blocked_member_is_good_again_once_they_are_let_in(api, brand, redemption):
    hub = api.hub()
    brand.members.update(status="blocked")

    state = hub.post("redemptions/check", {"code": redemption.code}).json()["data"]["state"]
    refused = hub.post("redemptions/use", {"code": redemption.code})
    brand.members.update(status="active")
    used = hub.post("redemptions/use", {"code": redemption.code})

    assert (state, error(refused)) == ("blocked", (403, "MEMBER_BLOCKED"))
    assert used.json()["data"]["state"] == "used"


def test_request_that_used_a_code_is_told_so_though_the_member_is_blocked_since(api, brand, redemption):
    hub = api.hub()
    first = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")
    brand.members.update(status="blocked")

    again = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")

    assert again.json() == first.json()


def test_codes_of_others_and_slips_are_unknown(api, redemption):
    other = factories.brand()
    slip = redemption.code[:-1] + ("A" if redemption.code[-1] != "A" else "B")

    for caller, code in [(api.hub(of=other), redemption.code), (api.hub(), slip), (api.hub(), "x")]:
        assert error(caller.post("redemptions/use", {"code": code})) == (404, "REDEMPTION_CODE_UNKNOWN")


def test_only_a_hub_looks_codes_up(api, customer_api, redemption):
    for path in ("redemptions/check", "redemptions/use"):
        assert error(customer_api.post(path, {"code": redemption.code})) == (401, "API_KEY_INVALID")
        assert error(customer_api.app().post(path, {"code": redemption.code})) == (403, "FORBIDDEN")


def test_customer_reads_what_they_took(api, customer_api, brand, redemption):
    data = customer_api.get("customer/loyalty/redemptions").json()["data"]

    assert [(each["redemption_id"], each["name"], each["state"]) for each in data] == [(redemption.pk, "A mug", "good")]
    assert api.as_customer(factories.customer(brand)).get("customer/loyalty/redemptions").json()["data"] == []
    assert customer_api.get("customer/loyalty/redemptions", status="issued").json()["data"] == data
    assert customer_api.get("customer/loyalty/redemptions", status="used").json()["data"] == []


def test_cancelled_redemption_gives_points_and_stock_back_but_no_lifetime(brand, customer, redemption):
    account = UserPoints.objects.get(user=customer)
    lifetime = account.lifetime
    brand.daily_point_limit = 30
    hold_a_pass(customer, brand)

    cancellation.cancel(redemption=redemption, audit_context=deed(brand))

    account.refresh_from_db()
    assert (account.points, account.lifetime, account.redeemed) == (30, lifetime, 0)
    assert Reward.objects.get().stock == 3
    line = LoyaltyTransaction.objects.latest("pk")
    assert (line.reason, line.reason_id) == ("earned", f"redeem-undo:{redemption.pk}")
    assert AuditLogEntry.objects.get().reason == "A mistake"
    balance_events = Event.objects.filter(detail_type="balance-changed").order_by("pk")
    assert [event.status for event in balance_events] == ["ignored", "pending"]


def test_points_that_came_back_take_nobody_to_a_level(api, customer_api, brand, customer, deliver):
    BrandLevel.objects.all().delete()
    factories.level(brand, "Bronze", 0, value=1)
    factories.level(brand, "Silver", 40)
    factories.points(customer, brand, 30)
    for _ in range(3):
        redemption = factories.redemption(customer, factories.reward(brand, cost=30))
        cancellation.cancel(redemption=redemption, audit_context=deed(brand))

    customer_api.verify(factories.code(brand))
    deliver()

    data = customer_api.get("customer/loyalty/points").json()["data"]
    assert (data["points"], data["lifetime"], data["redeemed"], data["level"]) == (31, 31, 0, "Bronze")


def test_points_that_came_back_use_up_no_limit(customer_api, brand, customer, redemption, deliver):
    brand.daily_point_limit = 45
    brand.save(update_fields=["daily_point_limit"])
    cancellation.cancel(redemption=redemption, audit_context=deed(brand))

    customer_api.verify(factories.code(brand))  # 10 points, beside the 30
    deliver()

    assert balance(customer) == 40


def test_used_codes_are_not_cancelled_and_nothing_twice(brand, redemption):
    cancellation.cancel(redemption=redemption, audit_context=deed(brand))
    with pytest.raises(Invalid):
        cancellation.cancel(redemption=redemption, audit_context=deed(brand))
    with pytest.raises(Invalid):
        cancellation.undo_use(redemption=redemption, audit_context=deed(brand))


def test_use_is_taken_back_within_minutes_and_with_a_reason(settings, brand, redemption):
    now = timezone.now()
    till.use(redemption=redemption, at=now, request=uuid4())
    with pytest.raises(Invalid):
        cancellation.undo_use(redemption=redemption, audit_context=deed(brand, reason=" "))
    with pytest.raises(Invalid):
        late = now + timedelta(minutes=settings.REDEMPTION_UNDO_MINUTES)
        cancellation.undo_use(redemption=redemption, audit_context=deed(brand, at=late))

    cancellation.undo_use(redemption=redemption, audit_context=deed(brand))

    redemption.refresh_from_db()
    assert (redemption.status, redemption.used_at, redemption.used_request) == ("issued", None, None)
