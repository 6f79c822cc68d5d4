"""Accruals and returned orders at a brand whose levels have periods, at the current time."""

from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from brands.models.tenants import Brand
from events.models import Event
from loyalty.members.moving_in import opening_balances
from loyalty.models.levels import LevelChange
from loyalty.models.orders import CreditedOrder
from loyalty.models.webhooks import WebhookEndpoint, WebhookType
from loyalty.points import accounts, transfers
from loyalty.points.level_periods import run
from loyalty.points.level_periods.rules import rule_of
from loyalty.points.level_periods.settle import settle
from tests.loyalty.points.level_periods.conftest import on, payloads_of
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def programme(new_programme):
    programme = new_programme(level_period="quarter")
    factories.earning_rule(programme.brand, "order-complete", value=100, reward_type="percentage")
    programme.night(timezone.now() - timedelta(days=900))
    return programme


def start_of_period(brand, back=0):
    """A moment on the first day of the current period, or of the one `back` periods ago."""
    rule = rule_of(brand)
    first = rule.counted_from(rule.today(timezone.now()))
    for _ in range(back):
        first = rule.counted_from(first - timedelta(days=1))
    return timezone.now().replace(year=first.year, month=first.month, day=first.day, hour=12)


def level_of(member):
    member.refresh_from_db()
    return member.current_level, member.period_points


def test_accrual_that_reaches_a_level_sets_its_end_and_history(programme):
    member = programme.member()

    event = shop.buy(programme.brand, member.user, subtotal="120.00")

    assert (event.outcome["level_updated"], event.outcome["current_level"]) == (True, "Silver")
    member = shop.checked_account(programme.brand, member.user)
    rule = rule_of(programme.brand)
    assert (member.current_level, member.level_until) == ("Silver", rule.last_day_of_level(rule.today(timezone.now())))
    level_change = LevelChange.objects.get(user_point=member)
    assert (level_change.level_before, level_change.level_after, level_change.reason) == ("Bronze", "Silver", "reached")
    assert (level_change.points, level_change.level_until) == (120, member.level_until)


def test_level_counts_only_points_of_the_current_period(programme):
    member = programme.member()
    programme.earn(member, 90, start_of_period(programme.brand, 1))

    event = shop.buy(programme.brand, member.user, subtotal="20.00")

    assert (event.outcome["current_level"], event.outcome["next_level_threshold"]) == ("Bronze", 100)
    assert level_of(member) == ("Bronze", 20)
    shop.checked_account(programme.brand, member.user)


def test_accrual_before_the_job_lowers_an_ended_level_first(programme):
    member = programme.member()
    programme.earn(member, 600, start_of_period(programme.brand, 3))

    event = shop.buy(programme.brand, member.user, subtotal="120.00")

    assert (event.outcome["level_updated"], event.outcome["current_level"]) == (True, "Silver")
    assert programme.history(member) == [
        ("Bronze", "Gold", "reached"),
        ("Gold", "Bronze", "lowered"),
        ("Bronze", "Silver", "reached"),
    ]
    shop.checked_account(programme.brand, member.user)


def test_first_accrual_of_a_new_member_starts_the_period(programme):
    customer = factories.customer(programme.brand, enrolled=False)

    shop.buy(programme.brand, customer, subtotal="20.00")

    member = shop.checked_account(programme.brand, customer)
    assert (member.period_points, member.period_from) == (20, start_of_period(programme.brand).date())
    assert member.level_due_at > timezone.now()


def test_accrual_with_lifetime_levels_stores_no_period_and_no_history(new_programme):
    programme = new_programme(level_period="lifetime")
    factories.earning_rule(programme.brand, "order-complete", value=100, reward_type="percentage")
    member = programme.member()

    shop.buy(programme.brand, member.user, subtotal="120.00")

    member = shop.checked_account(programme.brand, member.user)
    assert (member.current_level, member.level_until, member.period_from) == ("Silver", None, None)
    assert not LevelChange.objects.exists()


# --- Returned orders -------------------------------------------------------------------------------------------------


def create_past_order(programme, member, order_id, points, at):
    """Create an order of the past that earned its amount in points."""
    programme.earn(member, points, at, reason_id=f"order:{order_id}")
    CreditedOrder.objects.create(
        brand=programme.brand, order_id=order_id, user=member.user, amount=points, event_id=uuid4(), credited_at=at
    )


@pytest.fixture
def returns_lower(programme):
    programme.set(after_return=Brand.AfterReturn.RECOMPUTE)
    return programme


def test_return_deducts_its_points_from_the_period_of_the_order(programme):
    member = programme.member()
    shop.buy(programme.brand, member.user, "A-1", subtotal="60.00")
    shop.buy(programme.brand, member.user, "A-2", subtotal="20.00")

    shop.return_order(programme.brand, member.user, "A-1", return_id="R-1", amount="50.00")

    assert level_of(member) == ("Bronze", 30)
    shop.checked_account(programme.brand, member.user)


def test_return_of_an_order_of_an_earlier_period_leaves_the_current_one(programme):
    member = programme.member()
    create_past_order(programme, member, "A-1", 60, start_of_period(programme.brand, 1))
    shop.buy(programme.brand, member.user, "A-2", subtotal="20.00")
    assert level_of(member) == ("Bronze", 20)

    shop.return_order(programme.brand, member.user, "A-1")

    assert level_of(member) == ("Bronze", 20)
    assert member.lifetime == 20
    shop.checked_account(programme.brand, member.user)


def test_return_lowers_the_level_that_its_order_reached(returns_lower):
    programme = returns_lower
    member = programme.member()
    shop.buy(programme.brand, member.user, "A-1", subtotal="120.00")
    assert level_of(member)[0] == "Silver"

    shop.return_order(programme.brand, member.user, "A-1")

    assert level_of(member) == ("Bronze", 0)
    assert programme.history(member)[-1] == ("Silver", "Bronze", "returned")
    assert member.level_until is None
    shop.checked_account(programme.brand, member.user)


def test_level_may_be_lowered_by_returns_twice_a_day(returns_lower):
    programme = returns_lower
    member = programme.member()
    url, types = "https://hooks.example.com", [WebhookType.LEVEL_LOWERED.value]
    WebhookEndpoint.objects.create(brand=programme.brand, url=url, types=types)

    for number in ("A-1", "A-2"):
        shop.buy(programme.brand, member.user, number, subtotal="120.00")
        shop.return_order(programme.brand, member.user, number)

    assert [each[2] for each in programme.history(member)] == ["reached", "returned"] * 2
    assert Event.objects.filter(detail__payload__type=WebhookType.LEVEL_LOWERED).count() == 2
    shop.checked_account(programme.brand, member.user)


def test_member_is_warned_again_of_the_lower_level_after_a_return(returns_lower):
    programme = returns_lower
    member = programme.member()
    last_period = start_of_period(programme.brand, 1)
    programme.earn(member, 150, last_period)
    create_past_order(programme, member, "A-1", 450, last_period)
    programme.set(level_warning_days=30)
    member.refresh_from_db()
    near_the_end = on(str(member.level_until))
    run.catch_up(at=near_the_end)

    shop.return_order(programme.brand, member.user, "A-1")
    settle(brand=programme.brand, accounts=[member.pk], at=near_the_end)

    assert level_of(member) == ("Silver", 0)
    warnings = payloads_of(programme.brand, "NOTIFY_LEVEL_ENDING")
    assert [each["level_name"] for each in warnings] == ["Gold", "Silver"]
    assert len({each["level_until"] for each in warnings}) == 1


def test_return_lowers_a_level_reached_by_an_order_of_the_previous_period(returns_lower):
    programme = returns_lower
    member = programme.member()
    create_past_order(programme, member, "A-1", 120, start_of_period(programme.brand, 1))
    shop.buy(programme.brand, member.user, "A-2", subtotal="20.00")
    assert level_of(member) == ("Silver", 20)

    shop.return_order(programme.brand, member.user, "A-1", return_id="R-1", amount="30.00")

    assert level_of(member) == ("Bronze", 20)


def test_return_leaves_a_level_reached_before_periods_were_switched_on(new_programme):
    programme = new_programme(level_period="lifetime", after_return=Brand.AfterReturn.RECOMPUTE)
    factories.earning_rule(programme.brand, "order-complete", value=100, reward_type="percentage")
    member = programme.member()
    programme.earn(member, 600, timezone.now() - timedelta(days=900))
    programme.set(level_period="quarter")
    run.catch_up(at=timezone.now())
    shop.buy(programme.brand, member.user, "A-1", subtotal="20.00")

    shop.return_order(programme.brand, member.user, "A-1")

    assert level_of(member) == ("Gold", 0)
    shop.checked_account(programme.brand, member.user)


def test_return_leaves_the_level_unless_the_brand_recomputes_levels(programme):
    member = programme.member()
    shop.buy(programme.brand, member.user, "A-1", subtotal="120.00")

    shop.return_order(programme.brand, member.user, "A-1")

    assert level_of(member) == ("Silver", 0)
    shop.checked_account(programme.brand, member.user)


# --- Transfers and opening balances ----------------------------------------------------------------------------------


def test_received_points_count_for_no_level_period(programme):
    sender, receiver = programme.member(), programme.member()
    shop.buy(programme.brand, sender.user, subtotal="120.00")
    for member in (sender, receiver):
        member.refresh_from_db()
    programme.earn(receiver, 1, timezone.now())
    accounts.lock_many(accounts=[sender.pk, receiver.pk])
    transfer = factories.transfer(sender, receiver, 100)
    transfers.write_sides(
        sender=sender.pk,
        receiver=receiver.pk,
        points=Decimal(100),
        reason_id=f"transfer:{transfer.pk}",
        sender_note="",
        receiver_note="",
        at=timezone.now(),
    )

    assert level_of(receiver) == ("Bronze", 1)
    assert level_of(sender) == ("Silver", 120)
    shop.checked_account(programme.brand, receiver.user)


def test_opening_balances_count_in_the_period_of_their_credit(programme):
    member = programme.member()
    programme.earn(member, 90, start_of_period(programme.brand, 1))
    with transaction.atomic():
        opening_balances.credit(
            brand_id=programme.brand.pk, balances=[(member.pk, Decimal(100))], reason_id="opening:x", at=timezone.now()
        )

    assert level_of(member) == ("Silver", 100)
    assert programme.history(member) == [("Bronze", "Silver", "reached")]
    shop.checked_account(programme.brand, member.user)
