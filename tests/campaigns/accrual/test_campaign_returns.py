"""Returned orders step campaigns back by exactly what they had counted."""

from decimal import Decimal

import pytest

from campaigns.models.campaigns import UserLoyaltyCampaign
from tests.campaigns.accrual.conftest import of_money, progress_of
from tests.support import factories, shop

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_contradicts")]


@pytest.mark.usefixtures("recomputing")
def test_returns_take_back_exactly_the_money_that_was_counted(brand, customer):
    of_money(brand, target=1000)
    shop.buy(brand, customer, "A-1", subtotal="100.00")
    shop.buy(brand, customer, "A-2", subtotal="50.00")

    left = []
    for number, amount in enumerate(["33.33", "33.33", "33.33", "0.01"]):
        shop.give_back(brand, customer, "A-1", return_id=f"R-{number}", amount=amount)
        left.append(UserLoyaltyCampaign.objects.get().progress)

    assert left == [Decimal("116.67"), Decimal("83.34"), Decimal("50.01"), Decimal("50.00")]


@pytest.mark.usefixtures("recomputing")
def test_the_first_order_s_return_leaves_nothing(brand, customer):
    factories.campaign(brand, type="order")
    shop.buy(brand, customer)

    assert shop.cancel(brand, customer).outcome["campaigns_stepped_back"][0]["progress"] == 0
    assert progress_of() == (0, 1)
    shop.buy(brand, customer, "A-2")
    assert progress_of() == (1, 1)


@pytest.mark.usefixtures("recomputing")
def test_a_finished_round_stays_finished(brand, customer):
    of_money(brand, is_repeatable=True)
    shop.buy(brand, customer, "A-1", subtotal="90.00")
    shop.buy(brand, customer, "A-2", subtotal="30.00")

    shop.cancel(brand, customer, "A-1")
    assert progress_of() == (20, 2)
    shop.cancel(brand, customer, "A-2")
    assert progress_of() == (0, 2)


@pytest.mark.usefixtures("recomputing")
def test_products_of_a_returned_order_count_again(brand, customer):
    factories.campaign(brand, type="order", step_by="products", target_value=5)
    serum = factories.product(brand, sku="SER", title="Serum")
    items = [{"sku": "SER", "quantity": 1, "unitPrice": "100.00"}]
    shop.buy(brand, customer, "A-1", subtotal="100.00", items=items)
    assert UserLoyaltyCampaign.objects.get().products == [serum.pk]

    shop.cancel(brand, customer, "A-1")

    assert (progress_of(), UserLoyaltyCampaign.objects.get().products) == ((0, 1), [])
