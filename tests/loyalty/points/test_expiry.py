"""Expiry of points: compared with a slow simulation by lots, the nightly run, and its warnings."""

from collections import deque
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

from brands.models.tenants import Brand
from campaigns.progress import consistency as progress
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.expiry import ExpiryRun
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import consistency, expiry, ledger
from loyalty.points.expiry_rules import ExpiryRule
from tests.support import factories

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def assert_ledger_is_consistent():
    with connection.cursor() as cursor:
        for check, statement in {**consistency.CHECKS, **progress.CHECKS}.items():
            cursor.execute(statement)
            assert (check, cursor.fetchall()) == (check, [])


@pytest.fixture
def new_brand(db):
    def create(kind="days", after=10, **fields):
        brand = factories.brand(points_expire=kind, points_expire_after=after, **fields)
        return brand, factories.customer(brand)

    return create


def earn(customer, brand, points, day, reason_id=None):
    factories.points(customer, brand, points, at=NOON + day * DAY, reason_id=reason_id or str(uuid4()))


def redeem(customer, brand, points, day):
    account = factories.account(customer, brand).pk
    ledger.debit(account=account, points=Decimal(points), reason_id=str(uuid4()), note="", at=NOON + day * DAY)


def run_night(brand, day):
    return expiry.run(brand=brand, at=NOON.replace(hour=0, minute=10) + day * DAY)


def account(customer):
    return UserPoints.objects.get(user=customer)


# --- Against a simulation --------------------------------------------------------------------------------------------

ACTIONS = some.sampled_from(["earn", "earn", "spend", "night", "return"])
STEPS = some.lists(some.tuples(ACTIONS, some.integers(0, 9), some.integers(1, 50)), max_size=40)
RETURNED_AFTER_THE_RUN = [("earn", 0, 5), ("spend", 6, 5), ("earn", 6, 1), ("return", 0, 1), ("earn", 1, 1)]
RULES = [("days", 1), ("days", 7), ("months", 1), ("month_end", 0), ("month_end", 1), ("year_end", 0)]


class Lots:
    """A slow model of expiry: points earned first are spent first, and returned points keep their age."""

    def __init__(self, rule: ExpiryRule) -> None:
        self.rule, self.earned, self.balance, self.expired = rule, [], Decimal(0), Decimal(0)
        self.last_night = date.min

    @property
    def lots(self):
        """(day, points) of the lots in the balance, oldest first: always those that were earned last."""
        left, lots = self.balance, deque()
        for day, points in reversed(self.earned):
            if left:
                lots.appendleft((day, min(points, left)))
                left -= lots[0][1]
        return lots

    def earn(self, day: date, points: Decimal) -> None:
        self.earned.append((day, points))
        self.balance += points

    def spend(self, points: Decimal) -> None:
        self.balance -= points

    def return_points(self, points: Decimal) -> None:
        self.balance += points

    def expire_at_night(self, day: date) -> None:
        """Expire points, at most once a day; points returned later that day wait for the next run."""
        if day == self.last_night:
            return
        self.last_night = day
        expired = sum((points for earned_on, points in self.lots if self.rule.expired_on(earned_on) <= day), Decimal(0))
        self.balance -= expired
        self.expired += expired


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, terms=some.sampled_from(RULES))
@example(steps=RETURNED_AFTER_THE_RUN, terms=("days", 7))
def test_ledger_expires_the_same_points_as_a_simulation_by_lots(new_brand, steps, terms):
    brand, customer = new_brand(*terms, expiry_warning_days=0)
    lots, day, redeemed = Lots(ExpiryRule(*terms)), 0, []
    for action, days, amount in steps:
        day += days
        points, today = Decimal(amount), (NOON + day * DAY).date()
        run_night(brand, day)
        lots.expire_at_night(today)
        if action in {"earn", "return"}:
            returned = action == "return" and redeemed
            points = redeemed.pop() if returned else points
            if returned:
                lots.return_points(points)
                ledger.return_points(
                    account=account(customer).pk,
                    points=points,
                    redemption_id=uuid4().int % 10**12,
                    note="",
                    at=NOON + day * DAY,
                )
            else:
                lots.earn(today, points)
                earn(customer, brand, points, day)
        elif action == "spend" and lots.balance >= points:
            lots.spend(points)
            redeemed.append(points)
            redeem(customer, brand, points, day)
        user_points = account(customer)
        assert (user_points.points, user_points.points_expired) == (lots.balance, lots.expired)
        expiring = expiry.expiring_soon(brand=brand, account=user_points, at=NOON + day * DAY)
        upcoming = [(max(lots.rule.expired_on(earned_on), today), points) for earned_on, points in lots.lots]
        first = min((on for on, _points in upcoming if on <= today + DAY), default=None)
        assert (expiring.on if expiring else None) == first
        assert (expiring.points if expiring else 0) == sum(points for on, points in upcoming if on == first)


def test_redeeming_and_returning_points_does_not_delay_their_expiry(new_brand):
    brand, customer = new_brand("days", 7, expiry_warning_days=0)
    earn(customer, brand, Decimal(100), 0)
    for number in range(10):
        redeem(customer, brand, Decimal(30), 5)
        ledger.return_points(
            account=account(customer).pk, points=Decimal(30), redemption_id=number, note="", at=NOON + 5 * DAY
        )

    run_night(brand, 8)

    assert (account(customer).points, account(customer).points_expired) == (0, 100)


# --- The nightly run -------------------------------------------------------------------------------------------------


def test_old_points_expire_in_a_separate_ledger_entry(new_brand):
    brand, customer = new_brand("days", 10)
    earn(customer, brand, 30, day=0)
    redeem(customer, brand, 12, day=3)
    earn(customer, brand, 5, day=5)
    assert run_night(brand, 10) == 0

    assert run_night(brand, 11) == 1

    user_points = account(customer)
    assert (user_points.points, user_points.points_expired, user_points.lifetime) == (5, 18, 35)
    entry = LoyaltyTransaction.objects.get(reason="expired")
    assert (entry.reason_id, entry.points_expired, entry.note) == (
        "expire:2026-01-12",
        18,
        "Expired: earned before 2026-01-02",
    )
    assert_ledger_is_consistent()


def test_repeated_nightly_run_changes_nothing(new_brand):
    brand, customer = new_brand("days", 1)
    earn(customer, brand, 30, day=0)

    assert run_night(brand, 5) == 1
    entries = list(LoyaltyTransaction.objects.order_by("pk").values())
    assert [run_night(brand, 5) for _ in range(2)] == [0, 0]

    assert ExpiryRun.objects.filter(kind="expire").get().members == 1
    assert list(LoyaltyTransaction.objects.order_by("pk").values()) == entries
    assert account(customer).points == 0


def test_run_continues_after_the_last_account_of_an_interrupted_run(new_brand, settings):
    settings.EXPIRY_CHUNK = 2
    brand, customer = new_brand("days", 1)
    customers = [customer, *(factories.customer(brand) for _ in range(4))]
    for member in customers:
        earn(member, brand, 10, day=0)
    at = NOON + 5 * DAY
    run = expiry.run_of_day(brand, ExpiryRule("days", 1), ExpiryRun.Kind.EXPIRE, at.date())
    expiry.take_chunk(run, at=at)  # then the worker dies

    assert UserPoints.objects.filter(points=0).count() == 2
    assert run_night(brand, 5) == 3
    assert UserPoints.objects.filter(points=0).count() == 5
    assert ExpiryRun.objects.get(pk=run).points == 50


def test_nightly_run_begins_at_midnight_in_the_brands_zone(new_brand):
    brand, customer = new_brand("year_end", 0, time_zone="Pacific/Auckland")
    factories.points(
        customer, brand, 10, at=datetime(2026, 12, 31, 10, 59, tzinfo=UTC)
    )  # a minute before midnight in Auckland
    factories.points(customer, brand, 7, at=datetime(2026, 12, 31, 11, 1, tzinfo=UTC))

    changed_before = expiry.run(brand=brand, at=datetime(2026, 12, 31, 10, 58, tzinfo=UTC))
    changed_after = expiry.run(brand=brand, at=datetime(2026, 12, 31, 11, 2, tzinfo=UTC))

    assert (changed_before, changed_after, account(customer).points) == (0, 1, 7)


def test_points_of_a_brand_without_expiry_do_not_expire(new_brand):
    brand, customer = new_brand("days", 1)
    other, other_customer = new_brand("never", 0)
    earn(customer, brand, 10, day=0)
    earn(other_customer, other, 10, day=0)

    assert expiry.catch_up(at=NOON + 100 * DAY) == 1
    assert account(other_customer).points == 10


def test_expiry_publishes_a_balance_event(new_brand):
    brand, customer = new_brand("days", 1)
    earn(customer, brand, 10, day=0)

    run_night(brand, 5)

    event = Event.objects.get(detail_type="balance-changed")
    assert event.detail["arguments"] == {"brand_id": brand.pk, "user_id": customer.pk}
    assert (event.detail["payload"]["points"], event.detail["payload"]["cause"]) == (0, "expire:2026-01-06")


def test_expiry_does_not_lower_the_level(new_brand):
    brand, customer = new_brand("days", 1)
    factories.level(brand, "Silver", 5)
    UserPoints.objects.filter(user=customer).update(current_level="Silver")
    earn(customer, brand, 10, day=0)

    run_night(brand, 5)

    assert (account(customer).current_level, account(customer).lifetime) == ("Silver", 10)


def test_command_expires_points_and_reports_the_count(new_brand, capsys):
    brand, customer = new_brand("days", 1)
    earn(customer, brand, 10, day=0)

    call_command("expire_points", brand=brand.slug)

    assert f"{brand.slug}: points of 1 members expired." in capsys.readouterr().out
    with pytest.raises(CommandError):
        call_command("expire_points", brand="nobody")


@pytest.mark.parametrize(("kind", "after"), [("days", 0), ("months", 121), ("month_end", 121), ("year_end", 11)])
def test_invalid_expiry_settings_are_rejected(db, kind, after):
    brand = Brand(name="A", slug="a", support_email="a@example.com", points_expire=kind, points_expire_after=after)

    with pytest.raises(Exception, match="Points expire after"):
        brand.full_clean()


# --- Warnings --------------------------------------------------------------------------------------------------------


def warnings():
    events = Event.objects.filter(detail_type="notify").order_by("pk")
    return [(event.detail["payload"]["points"], event.detail["payload"]["expires_on"]) for event in events]


def test_members_are_warned_once_before_points_expire(new_brand):
    brand, customer = new_brand("days", 30, expiry_warning_days=7)
    earn(customer, brand, 30, day=0)  # expires on the 1st of February
    for day in range(1, 31):
        run_night(brand, day)

    assert warnings() == [(30, "2026-02-01")]
    event = Event.objects.get(detail_type="notify")
    assert event.detail["payload"]["template"] == "NOTIFY_POINTS_EXPIRING"
    assert event.detail["arguments"] == {"brand_id": brand.pk, "user_id": customer.pk}
    assert event.time.date() == date(2026, 1, 25)


def test_daily_expiring_points_are_grouped_into_few_warnings(new_brand):
    brand, customer = new_brand("days", 30, expiry_warning_days=7)
    for day in range(28):
        earn(customer, brand, 1, day)
    for day in range(24, 58):
        run_night(brand, day)

    points = [points for points, _on in warnings()]
    assert sum(points) == 28
    assert len(points) == 4


def test_brand_without_warning_days_sends_no_warning(new_brand):
    brand, customer = new_brand("days", 10, expiry_warning_days=0)
    earn(customer, brand, 30, day=0)

    run_night(brand, 10)

    assert warnings() == []


def test_warning_does_not_include_redeemed_points(new_brand):
    brand, customer = new_brand("days", 10, expiry_warning_days=5)
    earn(customer, brand, 30, day=0)
    earn(customer, brand, 10, day=8)
    redeem(customer, brand, 25, day=8)

    run_night(brand, 8)

    assert warnings() == [(5, "2026-01-12")]


def test_customer_can_read_points_expiring_soon(api, new_brand):
    brand, customer = new_brand("days", 10, expiry_warning_days=14)
    now = datetime.now(UTC)
    factories.points(customer, brand, 30, at=now - 3 * DAY)
    factories.points(customer, brand, 20, at=now - 2 * DAY)

    data = api.as_customer(customer, brand=brand).get("customer/loyalty/points").json()["data"]

    assert data["expiring_soon"] == {"points": 30, "on": (now.date() + 8 * DAY).isoformat()}


def test_failing_run_of_one_brand_does_not_stop_other_brands(new_brand):
    (failing, _customer), (brand, customer) = new_brand(), new_brand()
    earn(customer, brand, 5, 0)
    Brand.objects.filter(pk=failing.pk).update(time_zone="Moved/Away")

    assert expiry.catch_up(at=NOON + 20 * DAY) == 1
    assert account(customer).points == 0
