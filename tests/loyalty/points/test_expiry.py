"""Expiring points: the ledger against a slow simulation by lots, the night's work, its warnings."""

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
from loyalty.points.expiry_rules import Rule
from tests.support import factories

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def assert_books_are_right():
    with connection.cursor() as cursor:
        for check, statement in {**consistency.CHECKS, **progress.CHECKS}.items():
            cursor.execute(statement)
            assert (check, cursor.fetchall()) == (check, [])


@pytest.fixture
def expiring(db):
    def made(kind="days", after=10, **fields):
        brand = factories.brand(points_expire=kind, points_expire_after=after, **fields)
        return brand, factories.customer(brand)

    return made


def earn(customer, brand, points, day, reason_id=None):
    factories.points(customer, brand, points, at=NOON + day * DAY, reason_id=reason_id or str(uuid4()))


def spend(customer, brand, points, day):
    account = factories.account(customer, brand).pk
    ledger.debit(account=account, points=Decimal(points), reason_id=str(uuid4()), note="", at=NOON + day * DAY)


def night(brand, day):
    return expiry.run(brand=brand, at=NOON.replace(hour=0, minute=10) + day * DAY)


def account(customer):
    return UserPoints.objects.get(user=customer)


# --- Against a simulation --------------------------------------------------------------------------------------------

DEEDS = some.sampled_from(["earn", "earn", "spend", "night", "return"])
STEPS = some.lists(some.tuples(DEEDS, some.integers(0, 9), some.integers(1, 50)), max_size=40)
RETURNED_AFTER_THE_NIGHT = [("earn", 0, 5), ("spend", 6, 5), ("earn", 6, 1), ("return", 0, 1), ("earn", 1, 1)]
TERMS = [("days", 1), ("days", 7), ("months", 1), ("month_end", 0), ("month_end", 1), ("year_end", 0)]


class Lots:
    """First earned is first spent; what comes back is as old as the oldest that was spent."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.earned, self.balance, self.expired = rule, [], Decimal(0), Decimal(0)
        self.last_night = date.min

    @property
    def lots(self):
        """(day, points) of what the balance holds, oldest first: the newest that was earned."""
        left, held = self.balance, deque()
        for day, points in reversed(self.earned):
            if left:
                held.appendleft((day, min(points, left)))
                left -= held[0][1]
        return held

    def earn(self, day: date, points: Decimal) -> None:
        self.earned.append((day, points))
        self.balance += points

    def spend(self, points: Decimal) -> None:
        self.balance -= points

    def give_back(self, points: Decimal) -> None:
        self.balance += points

    def night(self, day: date) -> None:
        """Once a day: what comes back after it waits for the next."""
        if day == self.last_night:
            return
        self.last_night = day
        gone = sum((points for earned_on, points in self.lots if self.rule.gone_on(earned_on) <= day), Decimal(0))
        self.balance -= gone
        self.expired += gone


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, terms=some.sampled_from(TERMS))
@example(steps=RETURNED_AFTER_THE_NIGHT, terms=("days", 7))
def test_ledger_expires_what_a_simulation_by_lots_does(expiring, steps, terms):
    brand, customer = expiring(*terms, expiry_warning_days=0)
    lots, day, spent = Lots(Rule(*terms)), 0, []
    for what, days, amount in steps:
        day += days
        points, today = Decimal(amount), (NOON + day * DAY).date()
        night(brand, day)
        lots.night(today)
        if what in {"earn", "return"}:
            returned = what == "return" and spent
            points = spent.pop() if returned else points
            if returned:
                lots.give_back(points)
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
        elif what == "spend" and lots.balance >= points:
            lots.spend(points)
            spent.append(points)
            spend(customer, brand, points, day)
        user_points = account(customer)
        assert (user_points.points, user_points.points_expired) == (lots.balance, lots.expired)
        soon = expiry.expiring_soon(brand=brand, account=user_points, at=NOON + day * DAY)
        ahead = [(max(lots.rule.gone_on(earned_on), today), points) for earned_on, points in lots.lots]
        first = min((on for on, _points in ahead if on <= today + DAY), default=None)
        assert (soon.on if soon else None) == first
        assert (soon.points if soon else 0) == sum(points for on, points in ahead if on == first)


def test_taking_a_reward_and_giving_it_back_makes_no_point_younger(expiring):
    brand, customer = expiring("days", 7, expiry_warning_days=0)
    earn(customer, brand, Decimal(100), 0)
    for number in range(10):
        spend(customer, brand, Decimal(30), 5)
        ledger.return_points(
            account=account(customer).pk, points=Decimal(30), redemption_id=number, note="", at=NOON + 5 * DAY
        )

    night(brand, 8)

    assert (account(customer).points, account(customer).points_expired) == (0, 100)


# --- The night's work ------------------------------------------------------------------------------------------------


def test_points_past_their_time_expire_in_a_line_of_their_own(expiring):
    brand, customer = expiring("days", 10)
    earn(customer, brand, 30, day=0)
    spend(customer, brand, 12, day=3)
    earn(customer, brand, 5, day=5)
    assert night(brand, 10) == 0

    assert night(brand, 11) == 1

    user_points = account(customer)
    assert (user_points.points, user_points.points_expired, user_points.lifetime) == (5, 18, 35)
    line = LoyaltyTransaction.objects.get(reason="expired")
    assert (line.reason_id, line.points_expired, line.note) == (
        "expire:2026-01-12",
        18,
        "Expired: earned before 2026-01-02",
    )
    assert_books_are_right()


def test_night_is_worked_once_and_again_changes_nothing(expiring):
    brand, customer = expiring("days", 1)
    earn(customer, brand, 30, day=0)

    assert [night(brand, 5) for _ in range(3)] == [1, 0, 0]
    assert ExpiryRun.objects.filter(kind="expire").get().members == 1


def test_work_goes_on_behind_the_account_that_it_reached(expiring, settings):
    settings.EXPIRY_CHUNK = 2
    brand, customer = expiring("days", 1)
    customers = [customer, *(factories.customer(brand) for _ in range(4))]
    for each in customers:
        earn(each, brand, 10, day=0)
    at = NOON + 5 * DAY
    run = expiry.run_of_day(brand, Rule("days", 1), ExpiryRun.Kind.EXPIRE, at.date())
    expiry.take_chunk(run, at=at)  # and the worker dies

    assert UserPoints.objects.filter(points=0).count() == 2
    assert night(brand, 5) == 3
    assert UserPoints.objects.filter(points=0).count() == 5
    assert ExpiryRun.objects.get(pk=run).points == 50


def test_night_begins_by_the_brands_clock(expiring):
    brand, customer = expiring("year_end", 0, time_zone="Pacific/Auckland")
    factories.points(
        customer, brand, 10, at=datetime(2026, 12, 31, 10, 59, tzinfo=UTC)
    )  # a minute before midnight there
    factories.points(customer, brand, 7, at=datetime(2026, 12, 31, 11, 1, tzinfo=UTC))

    before = expiry.run(brand=brand, at=datetime(2026, 12, 31, 10, 58, tzinfo=UTC))
    after = expiry.run(brand=brand, at=datetime(2026, 12, 31, 11, 2, tzinfo=UTC))

    assert (before, after, account(customer).points) == (0, 1, 7)


def test_points_stay_where_the_brand_says_so_and_at_other_brands(expiring):
    brand, customer = expiring("days", 1)
    other, elsewhere = expiring("never", 0)
    earn(customer, brand, 10, day=0)
    earn(elsewhere, other, 10, day=0)

    assert expiry.catch_up(at=NOON + 100 * DAY) == 1
    assert account(elsewhere).points == 10


def test_wallets_are_told_of_what_expired(expiring):
    brand, customer = expiring("days", 1)
    earn(customer, brand, 10, day=0)

    night(brand, 5)

    event = Event.objects.get(detail_type="balance-changed")
    assert event.detail["arguments"] == {"brand_id": brand.pk, "user_id": customer.pk}
    assert (event.detail["payload"]["points"], event.detail["payload"]["cause"]) == (0, "expire:2026-01-06")


def test_level_stays(expiring):
    brand, customer = expiring("days", 1)
    factories.level(brand, "Silver", 5)
    UserPoints.objects.filter(user=customer).update(current_level="Silver")
    earn(customer, brand, 10, day=0)

    night(brand, 5)

    assert (account(customer).current_level, account(customer).lifetime) == ("Silver", 10)


def test_command_does_the_work_and_says_so(expiring, capsys):
    brand, customer = expiring("days", 1)
    earn(customer, brand, 10, day=0)

    call_command("expire_points", brand=brand.slug)

    assert f"{brand.slug}: points of 1 members expired." in capsys.readouterr().out
    with pytest.raises(CommandError):
        call_command("expire_points", brand="nobody")


@pytest.mark.parametrize(("kind", "after"), [("days", 0), ("months", 121), ("month_end", 121), ("year_end", 11)])
def test_rule_that_makes_no_sense_is_refused(db, kind, after):
    brand = Brand(name="A", slug="a", support_email="a@example.com", points_expire=kind, points_expire_after=after)

    with pytest.raises(Exception, match="Points expire after"):
        brand.full_clean()


# --- Warnings --------------------------------------------------------------------------------------------------------


def warned():
    events = Event.objects.filter(detail_type="notify").order_by("pk")
    return [(event.detail["payload"]["points"], event.detail["payload"]["expires_on"]) for event in events]


def test_members_are_warned_once_before(expiring):
    brand, customer = expiring("days", 30, expiry_warning_days=7)
    earn(customer, brand, 30, day=0)  # gone on the 1st of February
    for day in range(1, 31):
        night(brand, day)

    assert warned() == [(30, "2026-02-01")]
    event = Event.objects.get(detail_type="notify")
    assert event.detail["payload"]["template"] == "NOTIFY_POINTS_EXPIRING"
    assert event.detail["arguments"] == {"brand_id": brand.pk, "user_id": customer.pk}
    assert event.time.date() == date(2026, 1, 25)


def test_where_points_expire_every_day_not_every_day_warns(expiring):
    brand, customer = expiring("days", 30, expiry_warning_days=7)
    for day in range(28):
        earn(customer, brand, 1, day)
    for day in range(24, 58):
        night(brand, day)

    points = [points for points, _on in warned()]
    assert sum(points) == 28
    assert len(points) == 4


def test_brand_that_does_not_warn_does_not(expiring):
    brand, customer = expiring("days", 10, expiry_warning_days=0)
    earn(customer, brand, 30, day=0)

    night(brand, 10)

    assert warned() == []


def test_what_was_spent_meanwhile_is_not_warned_of(expiring):
    brand, customer = expiring("days", 10, expiry_warning_days=5)
    earn(customer, brand, 30, day=0)
    earn(customer, brand, 10, day=8)
    spend(customer, brand, 25, day=8)

    night(brand, 8)

    assert warned() == [(5, "2026-01-12")]


def test_customer_reads_what_expires_soon(api, expiring):
    brand, customer = expiring("days", 10, expiry_warning_days=14)
    now = datetime.now(UTC)
    factories.points(customer, brand, 30, at=now - 3 * DAY)
    factories.points(customer, brand, 20, at=now - 2 * DAY)

    data = api.as_customer(customer, of=brand).get("customer/loyalty/points").json()["data"]

    assert data["expiring_soon"] == {"points": 30, "on": (now.date() + 8 * DAY).isoformat()}


def test_a_brand_whose_night_fails_leaves_the_others_theirs(expiring):
    (broken, _somebody), (brand, customer) = expiring(), expiring()
    earn(customer, brand, 5, 0)
    Brand.objects.filter(pk=broken.pk).update(time_zone="Moved/Away")

    assert expiry.catch_up(at=NOON + 20 * DAY) == 1
    assert account(customer).points == 0
