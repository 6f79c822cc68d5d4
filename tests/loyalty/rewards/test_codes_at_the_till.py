"""Redemption codes at the till over the API, cancelled redemptions and undone uses."""

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
from tests.loyalty.rewards.conftest import audit_context, balance, issue_pass
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.usefixtures("consistent_ledger")


def test_till_sees_the_reward_of_a_code_but_not_the_members_address(api, customer, redemption):
    data = api.hub().post("redemptions/check", {"code": redemption.code.lower()}).json()["data"]

    assert (data["name"], data["state"], data["cost"]) == ("A mug", "good", 10)
    assert customer.email not in str(data)
    assert data["member"].endswith("@example.com")


def test_code_can_be_used_once(api, redemption):
    hub = api.hub()

    response = hub.post("redemptions/use", {"code": redemption.code})
    repeated = hub.post("redemptions/use", {"code": redemption.code})

    assert response.json()["data"]["state"] == "used"
    assert error(repeated) == (409, "REDEMPTION_USED")
    assert hub.post("redemptions/check", {"code": redemption.code}).json()["data"]["state"] == "used"


def test_repeated_idempotency_key_gets_the_same_response(api, redemption):
    hub = api.hub()
    first = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")
    repeated = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")

    assert (first.status_code, repeated.json()) == (200, first.json())
    assert error(hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="another")) == (
        409,
        "REDEMPTION_USED",
    )


def test_expired_and_cancelled_codes_are_rejected(api, brand, customer, redemption):
    factories.points(customer, brand, 30)
    expired = factories.redemption(
        customer, factories.reward(brand, code_days=1), at=timezone.now() - timedelta(days=2)
    )
    cancellation.cancel(redemption=redemption, audit_context=audit_context(brand))
    hub = api.hub()

    assert error(hub.post("redemptions/use", {"code": expired.code})) == (409, "REDEMPTION_EXPIRED")
    assert error(hub.post("redemptions/use", {"code": redemption.code})) == (409, "REDEMPTION_CANCELLED")


def test_code_of_a_blocked_member_is_valid_again_once_unblocked(api, brand, redemption):
    hub = api.hub()
    brand.members.update(status="blocked")

    state = hub.post("redemptions/check", {"code": redemption.code}).json()["data"]["state"]
    rejected = hub.post("redemptions/use", {"code": redemption.code})
    brand.members.update(status="active")
    used = hub.post("redemptions/use", {"code": redemption.code})

    assert (state, error(rejected)) == ("blocked", (403, "MEMBER_BLOCKED"))
    assert used.json()["data"]["state"] == "used"


def test_repeated_request_succeeds_although_the_member_was_blocked_since(api, brand, redemption):
    hub = api.hub()
    first = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")
    brand.members.update(status="blocked")

    repeated = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")

    assert repeated.json() == first.json()


def test_foreign_and_mistyped_codes_are_unknown(api, redemption):
    other_brand = factories.brand()
    mistyped = redemption.code[:-1] + ("A" if redemption.code[-1] != "A" else "B")

    for caller, code in [(api.hub(brand=other_brand), redemption.code), (api.hub(), mistyped), (api.hub(), "x")]:
        assert error(caller.post("redemptions/use", {"code": code})) == (404, "REDEMPTION_CODE_UNKNOWN")


def test_only_hubs_can_check_and_use_codes(api, customer_api, redemption):
    for path in ("redemptions/check", "redemptions/use"):
        assert error(customer_api.post(path, {"code": redemption.code})) == (401, "API_KEY_INVALID")
        assert error(customer_api.app().post(path, {"code": redemption.code})) == (403, "FORBIDDEN")


def test_customer_can_list_their_redemptions(api, customer_api, brand, redemption):
    data = customer_api.get("customer/loyalty/redemptions").json()["data"]

    assert [(each["redemption_id"], each["name"], each["state"]) for each in data] == [(redemption.pk, "A mug", "good")]
    assert api.as_customer(factories.customer(brand)).get("customer/loyalty/redemptions").json()["data"] == []
    assert customer_api.get("customer/loyalty/redemptions", status="issued").json()["data"] == data
    assert customer_api.get("customer/loyalty/redemptions", status="used").json()["data"] == []


def test_cancelled_redemption_returns_points_and_stock_but_no_lifetime_points(brand, customer, redemption):
    account = UserPoints.objects.get(user=customer)
    lifetime = account.lifetime
    brand.daily_point_limit = 30
    issue_pass(customer, brand)

    cancellation.cancel(redemption=redemption, audit_context=audit_context(brand))

    account.refresh_from_db()
    assert (account.points, account.lifetime, account.redeemed) == (30, lifetime, 0)
    assert Reward.objects.get().stock == 3
    entry = LoyaltyTransaction.objects.latest("pk")
    assert (entry.reason, entry.reason_id) == ("earned", f"redeem-undo:{redemption.pk}")
    assert AuditLogEntry.objects.get().reason == "A mistake"
    balance_events = Event.objects.filter(detail_type="balance-changed").order_by("pk")
    assert [event.status for event in balance_events] == ["ignored", "pending"]


def test_returned_points_do_not_count_for_a_level(api, customer_api, brand, customer, deliver_events):
    BrandLevel.objects.all().delete()
    factories.level(brand, "Bronze", 0, value=1)
    factories.level(brand, "Silver", 40)
    factories.points(customer, brand, 30)
    for _ in range(3):
        redemption = factories.redemption(customer, factories.reward(brand, cost=30))
        cancellation.cancel(redemption=redemption, audit_context=audit_context(brand))

    customer_api.verify(factories.code(brand))
    deliver_events()

    data = customer_api.get("customer/loyalty/points").json()["data"]
    assert (data["points"], data["lifetime"], data["redeemed"], data["level"]) == (31, 31, 0, "Bronze")


def test_returned_points_do_not_use_the_daily_limit(customer_api, brand, customer, redemption, deliver_events):
    brand.daily_point_limit = 45
    brand.save(update_fields=["daily_point_limit"])
    cancellation.cancel(redemption=redemption, audit_context=audit_context(brand))

    customer_api.verify(factories.code(brand))  # 10 points in addition to the 30
    deliver_events()

    assert balance(customer) == 40


def test_redemption_cannot_be_cancelled_twice_or_undone_after_a_cancellation(brand, redemption):
    cancellation.cancel(redemption=redemption, audit_context=audit_context(brand))
    with pytest.raises(Invalid):
        cancellation.cancel(redemption=redemption, audit_context=audit_context(brand))
    with pytest.raises(Invalid):
        cancellation.undo_use(redemption=redemption, audit_context=audit_context(brand))


def test_used_code_cannot_be_cancelled_until_its_use_is_undone(brand, customer, redemption):
    till.use(redemption=redemption, at=timezone.now(), request=uuid4())
    with pytest.raises(Invalid, match="Only unused codes"):
        cancellation.cancel(redemption=redemption, audit_context=audit_context(brand))
    redemption.refresh_from_db()
    assert (redemption.status, balance(customer), Reward.objects.get().stock) == ("used", 20, 2)

    cancellation.undo_use(redemption=redemption, audit_context=audit_context(brand))
    cancellation.cancel(redemption=redemption, audit_context=audit_context(brand))

    redemption.refresh_from_db()
    assert (redemption.status, balance(customer), Reward.objects.get().stock) == ("cancelled", 30, 3)


def test_use_of_an_unused_code_cannot_be_undone(brand, redemption):
    with pytest.raises(Invalid, match="The code is not used"):
        cancellation.undo_use(redemption=redemption, audit_context=audit_context(brand))

    assert not AuditLogEntry.objects.exists()


def test_use_can_be_undone_within_minutes_and_with_a_reason(settings, brand, redemption):
    now = timezone.now()
    till.use(redemption=redemption, at=now, request=uuid4())
    with pytest.raises(Invalid):
        cancellation.undo_use(redemption=redemption, audit_context=audit_context(brand, reason=" "))
    with pytest.raises(Invalid):
        too_late = now + timedelta(minutes=settings.REDEMPTION_UNDO_MINUTES)
        cancellation.undo_use(redemption=redemption, audit_context=audit_context(brand, at=too_late))

    cancellation.undo_use(redemption=redemption, audit_context=audit_context(brand))

    redemption.refresh_from_db()
    assert (redemption.status, redemption.used_at, redemption.used_request) == ("issued", None, None)
