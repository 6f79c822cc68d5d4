"""Orders are counted in the brand's currency and credited to one customer of the brand."""

import time
import uuid
from decimal import Decimal

import pytest
from django.db import connection

from events import delivery, leases, publishing, worker
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.orders import CreditedOrder, CurrencyRate
from loyalty.points import orders
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, errors, staff


def receive_order(brand, customer, order_id="A-1", **order):
    event = Event(
        event_id=uuid.uuid4(),
        source="shop.customer-app",
        detail_type="order-complete",
        brand=brand,
        detail={
            "arguments": {"brand_id": brand.pk, "user_id": customer.pk},
            "payload": {"type": "order", "order": {"orderId": order_id, "subtotal": "1000000", **order}},
        },
    )
    publishing.receive(event=event)
    return event


def process_order(brand, customer, order_id="A-1", **order):
    event = receive_order(brand, customer, order_id, **order)
    worker.drain()
    event.refresh_from_db()
    return event.status, (event.outcome or {}).get("error") or event.outcome["points_earned"]


@pytest.fixture
def one_percent(brand):
    return factories.earning_rule(brand, "order-complete", value=1, reward_type="percentage")


@pytest.mark.usefixtures("one_percent")
@pytest.mark.django_db
class TestCurrencies:
    @pytest.mark.parametrize("currency", [{}, {"currency": "EUR"}])
    def test_order_in_the_brands_currency_counts_in_full(self, brand, customer, currency):
        assert process_order(brand, customer, **currency) == ("done", 10_000)

    def test_order_in_another_currency_is_rejected_with_both_currencies(self, brand, customer):
        """Regression: 1,000,000 IDR counted as 1,000,000 EUR."""
        assert process_order(brand, customer, currency="IDR") == ("refused", "CURRENCY_NOT_ACCEPTED")

        stored = Event.objects.get(detail_type="order-complete").outcome
        assert stored["details"] == {"currency": "IDR", "accepted": "EUR"}
        assert not LoyaltyTransaction.objects.exists()
        assert not CreditedOrder.objects.exists()

    def test_order_in_another_currency_counts_at_the_brands_own_rate(self, brand, customer):
        CurrencyRate.objects.create(brand=factories.brand(), currency="IDR", rate=1)
        CurrencyRate.objects.create(brand=brand, currency="IDR", rate=Decimal("0.0005"))

        assert process_order(brand, customer, currency="IDR") == ("done", 5)

    def test_order_in_euros_is_rejected_by_a_brand_with_dollars(self, brand, customer):
        brand.currency = "USD"
        brand.save()

        assert process_order(brand, customer, currency="EUR") == ("refused", "CURRENCY_NOT_ACCEPTED")


@pytest.mark.django_db
def test_staff_can_add_rates_only_for_known_currencies(brand):
    client = browser(staff(brand, role="manager"))
    add = address("loyalty.currencyrate", "add")

    response = client.post(add, {"brand": brand.pk, "currency": "XXX", "rate": "0"})
    assert set(errors(response)) == {"currency", "__all__"}
    client.post(add, {"brand": brand.pk, "currency": "USD", "rate": "0.92"})

    assert CurrencyRate.objects.get().rate == Decimal("0.92")


@pytest.mark.usefixtures("one_percent")
@pytest.mark.django_db
def test_order_is_credited_to_one_customer_per_brand(brand, customer):
    other_customer, other_brand = factories.customer(brand), factories.brand()
    factories.earning_rule(other_brand, "order-complete")

    assert process_order(brand, customer)[0] == "done"
    assert process_order(brand, other_customer) == ("refused", "ORDER_ALREADY_CREDITED")
    assert process_order(brand, customer) == ("refused", "POINTS_ALREADY_CLAIMED")
    assert process_order(other_brand, factories.customer(other_brand))[0] == "done"
    assert LoyaltyTransaction.objects.count() == 2


@pytest.mark.usefixtures("one_percent")
@pytest.mark.django_db
def test_rejected_order_can_be_credited_to_another_customer(brand, customer):
    factories.account(customer, brand)
    type(factories.account(customer, brand)).objects.filter(user=customer).update(status="blocked")
    assert process_order(brand, customer) == ("refused", "MEMBER_BLOCKED")

    assert process_order(brand, factories.customer(brand))[0] == "done"


@pytest.mark.usefixtures("one_percent")
@pytest.mark.django_db
def test_order_of_an_erased_customer_stays_credited(brand, customer):
    process_order(brand, customer)
    pseudonym = factories.customer(brand)
    orders.reassign_to_pseudonym(user_id=customer.pk, brand_id=brand.pk, to=pseudonym.pk)

    assert process_order(brand, factories.customer(brand)) == ("refused", "ORDER_ALREADY_CREDITED")


def deliver_concurrently(brand, customers):
    for customer in customers:
        receive_order(brand, customer)
    leased_events = leases.claim(limit=50)
    run_concurrently(delivery.deliver, leased_events, threads=8)
    return sorted(Event.objects.filter(detail_type="order-complete").values_list("status", flat=True))


@pytest.fixture
def brand_with_order_rule(transactional_db):
    brand = factories.brand()
    factories.level(brand)
    factories.earning_rule(brand, "order-complete")
    return brand


def test_concurrent_reports_of_an_order_credit_one_customer(brand_with_order_rule):
    assert (
        deliver_concurrently(brand_with_order_rule, [factories.customer(brand_with_order_rule) for _ in range(8)])
        == ["done"] + ["refused"] * 7
    )
    assert LoyaltyTransaction.objects.count() == CreditedOrder.objects.count() == 1


def test_control_without_the_constraint_several_customers_are_credited(brand_with_order_rule, monkeypatch):
    def check_then_create(order, *, brand_id, user_id, event_id, at):
        key = {"brand_id": brand_id, "order_id": order.order_id}
        if not CreditedOrder.objects.filter(**key).exists():
            time.sleep(0.2)
            CreditedOrder.objects.create(**key, user_id=user_id, event_id=event_id, credited_at=at)

    monkeypatch.setattr(orders, "hold", check_then_create)
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE loyalty_creditedorder DROP CONSTRAINT order_credited_to_one")
    try:
        deliver_concurrently(brand_with_order_rule, [factories.customer(brand_with_order_rule) for _ in range(8)])
        assert LoyaltyTransaction.objects.count() > 1
    finally:
        CreditedOrder.objects.all().delete()
        with connection.as_owner(), connection.cursor() as cursor:
            cursor.execute(
                "ALTER TABLE loyalty_creditedorder ADD CONSTRAINT order_credited_to_one UNIQUE (brand_id, order_id)"
            )
