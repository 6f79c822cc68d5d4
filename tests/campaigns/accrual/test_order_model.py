"""Orders, returns, pending points, releases, expiry, redemptions and levels, compared with a simple model.

Hypothesis generates sequences of actions of one member. MODEL_SEQUENCES sets their number (CONTRIBUTING.md).
"""

import os
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from campaigns.accrual.handlers import on_order_complete
from campaigns.accrual.order_returns import on_order_delivered, on_order_return
from core.errors import DomainError
from events import leases
from events.messages import LeasedEvent, RetryLater
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.orders import releases
from loyalty.points import expiry
from loyalty.rewards import redeem
from loyalty.rewards.redeem import RedemptionRequest
from tests.support import factories, shop

SEQUENCES = int(os.environ.get("MODEL_SEQUENCES", "25"))
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEVELS = {"Bronze": 0, "Silver": 20, "Gold": 50}
EXPIRE_AFTER, PENDING_DAYS = 10, 5

ORDER_IDS = st.sampled_from(["A", "B", "C"])
RETURNED_AMOUNT = st.one_of(st.none(), st.integers(1, 300))
STEPS = st.one_of(
    st.tuples(st.just("buy"), ORDER_IDS, st.integers(0, 300)),
    st.tuples(st.just("return_order"), ORDER_IDS, RETURNED_AMOUNT),
    st.tuples(st.just("deliver"), ORDER_IDS),
    st.tuples(st.just("redeem"), st.integers(1, 15)),
    st.tuples(st.just("wait"), st.integers(1, 12)),
    st.just(("release",)),
    st.just(("expire",)),
)


def rounded(points):
    return points.quantize(Decimal(1), rounding=ROUND_HALF_UP)


@dataclass
class Order:
    """An order: the amount paid, its points, how many of them are pending until when, and what was returned."""

    paid: Decimal
    points: Decimal
    pending: Decimal
    due_at: datetime
    returned: Decimal = Decimal(0)
    points_returned: Decimal = Decimal(0)
    is_fully_returned: bool = False


@dataclass
class Model:
    """A member's points, modelled as simply as possible. `lots` has what is left of each gain, oldest first."""

    delays_points: bool
    recomputes_level: bool
    now: datetime = START
    lots: list[list] = field(default_factory=list)
    orders: dict = field(default_factory=dict)
    waiting_returns: dict = field(default_factory=dict)
    owed: Decimal = Decimal(0)
    lifetime: Decimal = Decimal(0)
    level: str = "Bronze"
    expired_on: set = field(default_factory=set)

    @property
    def balance(self):
        return sum((points for _, points in self.lots), Decimal(0))

    @property
    def pending(self):
        return sum((order.pending for order in self.orders.values()), Decimal(0))

    def spend(self, points):
        for lot in self.lots:
            part = min(lot[1], points)
            lot[1] -= part
            points -= part

    def level_reached(self):
        return max((name for name in LEVELS if LEVELS[name] <= self.lifetime), key=LEVELS.get)

    def gain(self, points):
        settled = min(points, self.owed)
        self.owed -= settled
        self.lots.append([self.now, points - settled])
        self.lifetime += points
        self.level = max(self.level, self.level_reached(), key=LEVELS.get)

    def buy(self, name, euros):
        if name in self.orders:
            return "POINTS_ALREADY_CLAIMED"
        points = rounded(Decimal(euros) / 10)
        due_at = self.now + timedelta(days=PENDING_DAYS)
        order = self.orders[name] = Order(Decimal(euros), points, points if self.delays_points else Decimal(0), due_at)
        if not self.delays_points:
            self.gain(order.points)
        if name in self.waiting_returns:
            self.return_order(name, self.waiting_returns.pop(name)[1])
        return None

    def return_order(self, name, euros):
        order = self.orders.get(name)
        if order is None:
            self.waiting_returns[name] = (self.now, euros)
            return "WAITS"
        left = order.paid - order.returned
        if order.is_fully_returned or (euros is not None and euros > left):
            return "RETURN_EXCEEDS_ORDER"
        order.returned += left if euros is None else euros
        order.is_fully_returned = euros is None or (order.paid > 0 and order.returned == order.paid)
        points_due = order.points if order.is_fully_returned else rounded(order.points * order.returned / order.paid)
        points, order.points_returned = points_due - order.points_returned, points_due
        cancelled = min(points, order.pending)
        order.pending -= cancelled
        points -= cancelled
        taken = min(points, self.balance)
        self.spend(taken)
        self.owed += points - taken
        self.lifetime -= points
        if self.recomputes_level and points + cancelled:
            self.level = self.level_reached()
        return None

    def release(self):
        for order in self.orders.values():
            if order.pending and order.due_at <= self.now:
                self.gain(order.pending)
                order.pending = Decimal(0)

    def deliver(self, name):
        order = self.orders.get(name)
        if order is None:
            return "WAITS"
        order.due_at = min(order.due_at, self.now)
        if order.pending:
            self.gain(order.pending)
            order.pending = Decimal(0)
        return None

    def redeem(self, points):
        if self.balance < points:
            return "NOT_ENOUGH_POINTS"
        self.spend(Decimal(points))
        return None

    def wait(self, days):
        self.now += timedelta(days=days)

    def expire(self):
        if self.now.date() not in self.expired_on:
            self.expired_on.add(self.now.date())
            first = self.now.date() - timedelta(days=EXPIRE_AFTER)
            self.lots = [lot for lot in self.lots if lot[0].date() >= first]


class Service:
    """The same actions through the handlers of the service, as a worker would call them."""

    def __init__(self, model):
        self.model = model
        fields = {"order_points": "after_days", "order_points_days": PENDING_DAYS} if model.delays_points else {}
        self.brand = factories.brand(
            points_expire="days",
            points_expire_after=EXPIRE_AFTER,
            expiry_warning_days=0,
            after_return="recompute" if model.recomputes_level else "retain",
            **fields,
        )
        for name, threshold in LEVELS.items():
            factories.level(self.brand, name, threshold)
        factories.earning_rule(self.brand, "order-complete", value=10, reward_type="percentage")
        self.customer = factories.customer(self.brand)
        self.waiting_returns = {}
        self.returns = 0

    def handle(self, handler, kind, payload):
        event = Event.objects.create(
            event_id=uuid.uuid4(),
            source="shop.customer-app",
            detail_type=kind,
            brand=self.brand,
            time=self.model.now,
            attempts=1,
            detail={"arguments": {"brand_id": self.brand.pk, "user_id": self.customer.pk}, "payload": payload},
        )
        return self.attempt(handler, event)

    def attempt(self, handler, event):
        leased = LeasedEvent(
            event.pk, event.event_id, event.detail_type, self.brand.pk, event.time, event.detail, 1, event.give_up_at
        )
        try:
            handler(leased)
        except RetryLater:
            self.last_waiting_event = event
            return "WAITS"
        except DomainError as error:
            leases.reject(leased, error)
            return error.code
        return None

    def buy(self, name, euros):
        payload = {"type": "order", "order": {"orderId": name, "subtotal": str(euros)}}
        outcome = self.handle(on_order_complete, "order-complete", payload)
        if outcome is None and name in self.waiting_returns:
            self.attempt(on_order_return, self.waiting_returns.pop(name))
        return outcome

    def return_order(self, name, euros):
        self.returns += 1
        return_fields = {} if euros is None else {"amount": str(euros)}
        payload = shop.return_payload(name, f"R-{self.returns}", **return_fields)
        outcome = self.handle(on_order_return, "order-returned", payload)
        if outcome == "WAITS":
            self.waiting_returns[name] = self.last_waiting_event
        return outcome

    def deliver(self, name):
        payload = {"type": "order-delivery", "order": {"orderId": name}}
        return self.handle(on_order_delivered, "order-delivered", payload)

    def release(self):
        releases.catch_up(at=self.model.now)

    def redeem(self, points):
        reward = factories.reward(self.brand, cost=points)
        request = RedemptionRequest(self.brand.pk, self.customer.pk, reward.pk, uuid.uuid4(), self.model.now)
        try:
            redeem.redeem(request)
        except DomainError as error:
            return error.code
        return None

    def wait(self, _days):
        """Nothing to do: the clock is the model's."""

    def expire(self):
        expiry.run(brand=self.brand, at=self.model.now)

    def state(self):
        account = UserPoints.objects.get(user=self.customer, brand=self.brand)
        return account.points, account.points_pending, account.points_owed, account.lifetime, account.current_level


@pytest.mark.django_db
@settings(
    max_examples=SEQUENCES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    database=None,
)
@given(delays_points=st.booleans(), recomputes_level=st.booleans(), steps=st.lists(STEPS, min_size=3, max_size=12))
def test_service_behaves_like_the_model(monkeypatch, delays_points, recomputes_level, steps):
    with transaction.atomic():
        model = Model(delays_points, recomputes_level)
        service = Service(model)
        monkeypatch.setattr(timezone, "now", lambda: model.now)
        for action, *arguments in steps:
            if action == "return_order" and arguments[0] in model.waiting_returns:
                continue  # only one return of an order waits at a time, so that their order is certain
            outcomes = getattr(service, action)(*arguments), getattr(model, action)(*arguments)
            assert outcomes[0] == outcomes[1], (action, arguments)
            expected = (model.balance, model.pending, model.owed, model.lifetime, model.level)
            assert service.state() == expected, (action, arguments)
        assert shop.inconsistencies() == []
        monkeypatch.undo()
        transaction.set_rollback(True)
