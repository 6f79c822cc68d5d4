"""Orders, profile changes, logins and rewards: what they earn, and that they earn it once."""

import uuid
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from events import messages, publishing, worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories


def report(brand, customer, kind, payload, at=None):
    """Store an event as a hub would send it, deliver it and return it."""
    event = Event(
        event_id=uuid.uuid4(),
        source="shop.customer-app",
        detail_type=kind,
        brand=brand,
        time=at or timezone.now(),
        detail={"arguments": {"brand_id": brand.pk, "user_id": customer.pk}, "payload": payload},
    )
    publishing.receive(event=event)
    worker.drain()
    return Event.objects.get(event_id=event.event_id)


def order(number, subtotal="100.00", discount="10.00"):
    return {"type": "order", "order": {"orderId": number, "subtotal": subtotal, "discount": discount}}


def ledger():
    return list(LoyaltyTransaction.objects.order_by("pk").values_list("reason_id", "points_earned"))


def test_order_earns_a_percentage_of_the_amount_paid(brand, customer):
    factories.earning_rule(brand, "order-complete", value=5, reward_type="percentage")

    event = report(brand, customer, "order-complete", order("A-1"))

    assert (event.status, event.outcome["points_earned"]) == ("done", 5)
    assert ledger() == [("order:A-1", 5)]


def test_order_reported_under_two_event_ids_earns_once(brand, customer):
    factories.earning_rule(brand, "order-complete")

    report(brand, customer, "order-complete", order("A-1"))
    again = report(brand, customer, "order-complete", order("A-1"))

    assert (again.status, again.outcome["error"]) == ("refused", "POINTS_ALREADY_CLAIMED")
    assert ledger() == [("order:A-1", 5)]


def test_discount_above_the_subtotal_earns_zero_points(brand, customer):
    factories.earning_rule(brand, "order-complete", value=5, reward_type="percentage")

    report(brand, customer, "order-complete", order("A-1", subtotal="5", discount="9"))

    assert ledger() == [("order:A-1", 0)]


def test_each_completed_profile_field_earns_once(brand, customer):
    factories.earning_rule(brand, "log-user-profile-update", value=3)
    fields = {"type": "profile", "changedFields": ["phone"], "completedFields": ["phone", "birthday", "phone"]}

    report(brand, customer, "log-user-profile-update", fields)
    report(brand, customer, "log-user-profile-update", {"type": "profile", "completedFields": ["phone", "city"]})

    assert ledger() == [("profile:phone", 3), ("profile:birthday", 3), ("profile:city", 3)]


def test_notification_names_the_field_that_earned(brand, customer):
    factories.earning_rule(brand, "log-user-profile-update", value=3)
    report(brand, customer, "log-user-profile-update", {"type": "profile", "completedFields": ["phone"]})

    report(brand, customer, "log-user-profile-update", {"type": "profile", "completedFields": ["city", "phone"]})

    entry = LoyaltyTransaction.objects.get(reason_id="profile:city")
    payload = Event.objects.filter(detail_type="notify").latest("pk").detail["payload"]
    assert (payload["transaction_id"], payload["note"]) == (str(entry.pk), entry.note)


def test_profile_change_that_completes_no_field_earns_nothing(brand, customer):
    factories.earning_rule(brand, "log-user-profile-update")

    event = report(brand, customer, "log-user-profile-update", {"type": "profile", "changedFields": ["phone"]})

    assert (event.status, event.outcome["error"]) == ("refused", "NOT_ELIGIBLE")


def test_first_login_of_a_day_in_the_brands_time_zone_earns(customer, brand):
    brand.time_zone = "Asia/Kolkata"
    brand.save()
    factories.earning_rule(brand, "log-user-login", value=1)
    moments = [datetime(2026, 5, 1, hour, tzinfo=UTC) for hour in (10, 18, 19)]

    for moment in moments:
        report(brand, customer, "log-user-login", {"type": "login"}, at=moment)

    assert ledger() == [("login:2026-05-01", 1), ("login:2026-05-02", 1)]


def test_action_without_a_rule_is_rejected(brand, customer):
    event = report(brand, customer, "log-user-login", {"type": "login"})

    assert (event.status, event.outcome["error"]) == ("refused", "NOT_ELIGIBLE")


def test_action_without_a_rule_still_advances_a_campaign_once(brand, customer):
    campaign = factories.campaign(brand, type="order")

    report(brand, customer, "order-complete", order("A-1"))
    report(brand, customer, "order-complete", order("A-1"))

    assert customer.campaign_progress.get(campaign=campaign).progress == 1
    assert factories.account(customer, brand).points == 0


def test_only_campaigns_of_the_actions_type_advance(brand, customer):
    factories.earning_rule(brand, "order-complete")
    orders, _scans = factories.campaign(brand, type="order"), factories.campaign(brand)

    report(brand, customer, "order-complete", order("A-1"))

    assert list(customer.campaign_progress.values_list("campaign_id", flat=True)) == [orders.pk]


def test_claimed_reward_pays_points_and_advances_no_campaign(brand, customer):
    factories.earning_rule(brand, "order-complete")
    campaign = factories.campaign(brand, type="order")
    bonus = factories.milestone(campaign, 1, reward_points=50)

    report(brand, customer, "order-complete", order("A-1"))
    worker.drain()

    assert ledger() == [("order:A-1", 5), (f"milestone:{bonus.pk}", 50)]
    assert customer.campaign_progress.get().progress == 1


def test_reward_is_paid_in_full_beyond_the_daily_limit(brand, customer):
    brand.daily_point_limit = 5
    brand.save()
    factories.earning_rule(brand, "order-complete")
    factories.milestone(factories.campaign(brand, type="order"), 1, reward_points=50)

    report(brand, customer, "order-complete", order("A-1"))
    worker.drain()

    assert factories.account(customer, brand).points == 55


@pytest.mark.parametrize(
    ("rows", "temporary_state", "normal_state"),
    [
        (UserPoints.objects, {"status": "blocked"}, {"status": "active"}),
        (Brand.objects, {"loyalty_active": False}, {"loyalty_active": True}),
    ],
    ids=["blocked", "switched off"],
)
def test_reward_waits_while_the_member_is_blocked_or_the_programme_is_off(
    brand, customer, rows, temporary_state, normal_state
):
    payload = {"type": "reward", "milestone_id": 7, "reward_name": "Bonus", "points": "50"}
    arguments = {"brand_id": brand.pk, "user_id": customer.pk}
    message = messages.NewEvent(kind="reward-claimed", payload=payload, arguments=arguments)
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())

    rows.update(**temporary_state)
    worker.drain()
    postponed = Event.objects.get()
    rows.update(**normal_state)
    Event.objects.update(due_at=timezone.now())
    worker.drain()

    assert (postponed.status, postponed.attempts) == ("pending", 1)
    assert factories.account(customer, brand).points == 50


@pytest.mark.parametrize("status", ["blocked"])
def test_a_blocked_member_earns_nothing(brand, customer, status):
    factories.earning_rule(brand, "log-user-login")
    brand.members.update(status=status)

    event = report(brand, customer, "log-user-login", {"type": "login"})

    assert event.outcome["error"] == "MEMBER_BLOCKED"
    assert factories.account(customer, brand).points == 0
    assert not LoyaltyTransaction.objects.exists()
