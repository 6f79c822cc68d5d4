"""Accruals and returned orders at a brand whose levels have periods, with the clock of today."""

from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.members.moving_in import opening_balances
from loyalty.models.levels import LevelChange
from loyalty.models.orders import CreditedOrder
from loyalty.points import accounts, transfers
from loyalty.points.level_periods import run
from loyalty.points.level_periods.rules import rule_of
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(programme):
    made = programme(level_period="quarter")
    factories.earning_rule(made.brand, "order-complete", value=100, reward_type="percentage")
    made.night(timezone.now() - timedelta(days=900))
    return made


def periods(brand, back=0):
    """A moment in the period of today, or so many periods ago; and its rule."""
    rule = rule_of(brand)
    first = rule.counted_from(rule.today(timezone.now()))
    for _ in range(back):
        first = rule.counted_from(first - timedelta(days=1))
    return timezone.now().replace(year=first.year, month=first.month, day=first.day, hour=12)


def stands(member):
    member.refresh_from_db()
    return member.current_level, member.period_points


def test_an_accrual_reaches_a_level_with_its_end_and_its_history(world):
    member = world.member()

    event = shop.buy(world.brand, member.user, subtotal="120.00")

    assert (event.outcome["level_updated"], event.outcome["current_level"]) == (True, "Silver")
    member = shop.held_by(world.brand, member.user)
    rule = rule_of(world.brand)
    assert (member.current_level, member.level_until) == ("Silver", rule.until(rule.today(timezone.now())))
    change = LevelChange.objects.get(user_point=member)
    assert (change.level_before, change.level_after, change.reason) == ("Bronze", "Silver", "reached")
    assert (change.points, change.level_until) == (120, member.level_until)


def test_an_accrual_counts_the_points_of_its_period_alone(world):
    member = world.member()
    world.earn(member, 90, periods(world.brand, 1))

    event = shop.buy(world.brand, member.user, subtotal="20.00")

    assert (event.outcome["current_level"], event.outcome["next_level_threshold"]) == ("Bronze", 100)
    assert stands(member) == ("Bronze", 20)
    shop.held_by(world.brand, member.user)


def test_an_accrual_before_the_job_finds_the_level_fallen_first(world):
    member = world.member()
    world.earn(member, 600, periods(world.brand, 3))

    event = shop.buy(world.brand, member.user, subtotal="120.00")

    assert (event.outcome["level_updated"], event.outcome["current_level"]) == (True, "Silver")
    assert world.history(member) == [
        ("Bronze", "Gold", "reached"),
        ("Gold", "Bronze", "lowered"),
        ("Bronze", "Silver", "reached"),
    ]
    shop.held_by(world.brand, member.user)


def test_the_first_accrual_of_a_new_member_starts_the_period(world):
    customer = factories.customer(world.brand, enrolled=False)

    shop.buy(world.brand, customer, subtotal="20.00")

    member = shop.held_by(world.brand, customer)
    assert (member.period_points, member.period_from) == (20, periods(world.brand).date())
    assert member.level_due_at > timezone.now()


def test_where_levels_stay_an_accrual_notes_nothing(programme):
    world = programme(level_period="lifetime")
    factories.earning_rule(world.brand, "order-complete", value=100, reward_type="percentage")
    member = world.member()

    shop.buy(world.brand, member.user, subtotal="120.00")

    member = shop.held_by(world.brand, member.user)
    assert (member.current_level, member.level_until, member.period_from) == ("Silver", None, None)
    assert not LevelChange.objects.exists()


# --- Returned orders -------------------------------------------------------------------------------------------------


def bought_in(world, member, order_id, points, at):
    """An order of the past, which earned its amount in points."""
    world.earn(member, points, at, reason_id=f"order:{order_id}")
    CreditedOrder.objects.create(
        brand=world.brand, order_id=order_id, user=member.user, amount=points, event_id=uuid4(), credited_at=at
    )


@pytest.fixture
def returns_lower(world):
    world.set(after_return=Brand.AfterReturn.RECOMPUTE)
    return world


def test_a_return_takes_its_points_off_the_period_of_the_order(world):
    member = world.member()
    shop.buy(world.brand, member.user, "A-1", subtotal="60.00")
    shop.buy(world.brand, member.user, "A-2", subtotal="20.00")

    shop.give_back(world.brand, member.user, "A-1", return_id="R-1", amount="50.00")

    assert stands(member) == ("Bronze", 30)
    shop.held_by(world.brand, member.user)


def test_a_return_of_an_order_of_an_earlier_period_takes_nothing_off_this_one(world):
    member = world.member()
    bought_in(world, member, "A-1", 60, periods(world.brand, 1))
    shop.buy(world.brand, member.user, "A-2", subtotal="20.00")
    assert stands(member) == ("Bronze", 20)

    shop.give_back(world.brand, member.user, "A-1")

    assert stands(member) == ("Bronze", 20)
    assert member.lifetime == 20
    shop.held_by(world.brand, member.user)


def test_a_return_lowers_the_level_that_its_order_reached(returns_lower):
    world = returns_lower
    member = world.member()
    shop.buy(world.brand, member.user, "A-1", subtotal="120.00")
    assert stands(member)[0] == "Silver"

    shop.give_back(world.brand, member.user, "A-1")

    assert stands(member) == ("Bronze", 0)
    assert world.history(member)[-1] == ("Silver", "Bronze", "returned")
    assert member.level_until is None
    shop.held_by(world.brand, member.user)


def test_a_return_lowers_the_level_that_an_order_of_the_period_before_had_reached(returns_lower):
    world = returns_lower
    member = world.member()
    bought_in(world, member, "A-1", 120, periods(world.brand, 1))
    shop.buy(world.brand, member.user, "A-2", subtotal="20.00")
    assert stands(member) == ("Silver", 20)

    shop.give_back(world.brand, member.user, "A-1", return_id="R-1", amount="30.00")

    assert stands(member) == ("Bronze", 20)


def test_a_return_leaves_a_level_that_was_brought_along(programme):
    world = programme(level_period="lifetime", after_return=Brand.AfterReturn.RECOMPUTE)
    factories.earning_rule(world.brand, "order-complete", value=100, reward_type="percentage")
    member = world.member()
    world.earn(member, 600, timezone.now() - timedelta(days=900))
    world.set(level_period="quarter")
    run.catch_up(at=timezone.now())
    shop.buy(world.brand, member.user, "A-1", subtotal="20.00")

    shop.give_back(world.brand, member.user, "A-1")

    assert stands(member) == ("Gold", 0)
    shop.held_by(world.brand, member.user)


def test_where_a_return_leaves_levels_alone_it_does_so_with_periods_too(world):
    member = world.member()
    shop.buy(world.brand, member.user, "A-1", subtotal="120.00")

    shop.give_back(world.brand, member.user, "A-1")

    assert stands(member) == ("Silver", 0)
    shop.held_by(world.brand, member.user)


# --- Points that count, and others -----------------------------------------------------------------------------------


def test_received_points_count_for_no_period(world):
    sender, receiver = world.member(), world.member()
    shop.buy(world.brand, sender.user, subtotal="120.00")
    for each in (sender, receiver):
        each.refresh_from_db()
    world.earn(receiver, 1, timezone.now())
    accounts.lock_many(accounts=[sender.pk, receiver.pk])
    made = factories.transfer(sender, receiver, 100)
    transfers.write_sides(
        sender=sender.pk,
        receiver=receiver.pk,
        points=Decimal(100),
        reason_id=f"transfer:{made.pk}",
        sender_note="",
        receiver_note="",
        at=timezone.now(),
    )

    assert stands(receiver) == ("Bronze", 1)
    assert stands(sender) == ("Silver", 120)
    shop.held_by(world.brand, receiver.user)


def test_opening_balances_count_in_the_period_in_which_they_come(world):
    member = world.member()
    world.earn(member, 90, periods(world.brand, 1))
    with transaction.atomic():
        opening_balances.credit(
            brand_id=world.brand.pk, balances=[(member.pk, Decimal(100))], reason_id="opening:x", at=timezone.now()
        )

    assert stands(member) == ("Silver", 100)
    assert world.history(member) == [("Bronze", "Silver", "reached")]
    shop.held_by(world.brand, member.user)
