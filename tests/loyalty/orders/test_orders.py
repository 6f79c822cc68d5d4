"""Orders: counted in the brand's currency, and credited to one customer of the brand."""

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
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, errors, staff


def received(brand, customer, order_id="A-1", **order):
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


def report(brand, customer, order_id="A-1", **order):
    event = received(brand, customer, order_id, **order)
    worker.drain()
    event.refresh_from_db()
    return event.status, (event.outcome or {}).get("error") or event.outcome["points_earned"]


@pytest.fixture
def one_percent(brand):
    return factories.earning_rule(brand, "order-complete", value=1, reward_type="percentage")


@pytest.mark.usefixtures("one_percent")
@pytest.mark.django_db
class TestMoney:
    @pytest.mark.parametrize("currency", [{}, {"currency": "EUR"}])
    def test_the_brands_own_currency_counts_as_it_is(self, brand, customer, currency):
        assert report(brand, customer, **currency) == ("done", 10_000)

    def test_another_currency_is_refused_and_says_which(self, brand, customer):
        """1,000,000 IDR counted as 1,000,000 EUR."""
        assert report(brand, customer, currency="IDR") == ("refused", "CURRENCY_NOT_ACCEPTED")

        stored = Event.objects.get(detail_type="order-complete").outcome
        assert stored["details"] == {"currency": "IDR", "accepted": "EUR"}
        assert not LoyaltyTransaction.objects.exists()
        assert not CreditedOrder.objects.exists()

    def test_another_currency_counts_at_the_brands_own_rate(self, brand, customer):
        CurrencyRate.objects.create(brand=factories.brand(), currency="IDR", rate=1)
        CurrencyRate.objects.create(brand=brand, currency="IDR", rate=Decimal("0.0005"))

        assert report(brand, customer, currency="IDR") == ("done", 5)

    def test_a_brand_that_counts_dollars_takes_no_euros(self, brand, customer):
        brand.currency = "USD"
        brand.save()

        assert report(brand, customer, currency="EUR") == ("refused", "CURRENCY_NOT_ACCEPTED")


@pytest.mark.django_db
def test_staff_state_rates_of_currencies_that_exist(brand):
    page = browser(staff(brand, role="manager"))
    add = address("loyalty.currencyrate", "add")

    wrong = page.post(add, {"brand": brand.pk, "currency": "XXX", "rate": "0"})
    assert set(errors(wrong)) == {"currency", "__all__"}
    page.post(add, {"brand": brand.pk, "currency": "USD", "rate": "0.92"})

    assert CurrencyRate.objects.get().rate == Decimal("0.92")


@pytest.mark.usefixtures("one_percent")
@pytest.mark.django_db
def test_an_order_pays_one_customer_of_the_brand(brand, customer):
    second, elsewhere = factories.customer(brand), factories.brand()
    factories.earning_rule(elsewhere, "order-complete")

    assert report(brand, customer)[0] == "done"
    assert report(brand, second) == ("refused", "ORDER_ALREADY_CREDITED")
    assert report(brand, customer) == ("refused", "POINTS_ALREADY_CLAIMED")
    assert report(elsewhere, factories.customer(elsewhere))[0] == "done"
    assert LoyaltyTransaction.objects.count() == 2


@pytest.mark.usefixtures("one_percent")
@pytest.mark.django_db
def test_an_order_that_was_refused_is_still_free(brand, customer):
    factories.account(customer, brand)
    type(factories.account(customer, brand)).objects.filter(user=customer).update(status="blocked")
    assert report(brand, customer) == ("refused", "MEMBER_BLOCKED")

    assert report(brand, factories.customer(brand))[0] == "done"


@pytest.mark.usefixtures("one_percent")
@pytest.mark.django_db
def test_an_erased_customers_order_stays_credited(brand, customer):
    report(brand, customer)
    heir = factories.customer(brand)
    orders.reassign_to_pseudonym(user_id=customer.pk, brand_id=brand.pk, to=heir.pk)

    assert report(brand, factories.customer(brand)) == ("refused", "ORDER_ALREADY_CREDITED")


def delivered_at_once(brand, customers):
    for each in customers:
        received(brand, each)
    taken = leases.claim(limit=50)
    at_once(delivery.deliver, taken, threads=8)
    return sorted(Event.objects.filter(detail_type="order-complete").values_list("status", flat=True))


@pytest.fixture
def shop(transactional_db):
    brand = factories.brand()
    factories.level(brand)
    factories.earning_rule(brand, "order-complete")
    return brand


def test_of_many_customers_at_once_one_is_credited(shop):
    assert delivered_at_once(shop, [factories.customer(shop) for _ in range(8)]) == ["done"] + ["refused"] * 7
    assert LoyaltyTransaction.objects.count() == CreditedOrder.objects.count() == 1


def test_control_without_the_constraint_several_are_credited(shop, monkeypatch):
    def looked_up(order, *, brand_id, user_id, event_id, at):
        key = {"brand_id": brand_id, "order_id": order.order_id}
        if not CreditedOrder.objects.filter(**key).exists():
            time.sleep(0.2)
            CreditedOrder.objects.create(**key, user_id=user_id, event_id=event_id, credited_at=at)

    monkeypatch.setattr(orders, "hold", looked_up)
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE loyalty_creditedorder DROP CONSTRAINT order_credited_to_one")
    try:
        delivered_at_once(shop, [factories.customer(shop) for _ in range(8)])
        assert LoyaltyTransaction.objects.count() > 1
    finally:
        CreditedOrder.objects.all().delete()
        with connection.as_owner(), connection.cursor() as cursor:
            cursor.execute(
                "ALTER TABLE loyalty_creditedorder ADD CONSTRAINT order_credited_to_one UNIQUE (brand_id, order_id)"
            )
