"""Returned orders step campaigns back by exactly what they counted."""

from decimal import Decimal

import pytest

from campaigns.models.campaigns import UserLoyaltyCampaign
from tests.campaigns.accrual.conftest import amount_campaign, progress_of
from tests.support import factories, shop

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("progress_is_consistent")]


@pytest.mark.usefixtures("recompute_after_return")
def test_returns_reduce_progress_by_exactly_the_counted_amount(brand, customer):
    amount_campaign(brand, target=1000)
    shop.buy(brand, customer, "A-1", subtotal="100.00")
    shop.buy(brand, customer, "A-2", subtotal="50.00")

    progress_left = []
    for number, amount in enumerate(["33.33", "33.33", "33.33", "0.01"]):
        shop.return_order(brand, customer, "A-1", return_id=f"R-{number}", amount=amount)
        progress_left.append(UserLoyaltyCampaign.objects.get().progress)

    assert progress_left == [Decimal("116.67"), Decimal("83.34"), Decimal("50.01"), Decimal("50.00")]


@pytest.mark.usefixtures("recompute_after_return")
def test_returning_the_only_order_resets_progress_to_zero(brand, customer):
    factories.campaign(brand, type="order")
    shop.buy(brand, customer)

    assert shop.cancel(brand, customer).outcome["campaigns_stepped_back"][0]["progress"] == 0
    assert progress_of() == (0, 1)
    shop.buy(brand, customer, "A-2")
    assert progress_of() == (1, 1)


@pytest.mark.usefixtures("recompute_after_return")
def test_returns_do_not_reopen_a_finished_round(brand, customer):
    amount_campaign(brand, is_repeatable=True)
    shop.buy(brand, customer, "A-1", subtotal="90.00")
    shop.buy(brand, customer, "A-2", subtotal="30.00")

    shop.cancel(brand, customer, "A-1")
    assert progress_of() == (20, 2)
    shop.cancel(brand, customer, "A-2")
    assert progress_of() == (0, 2)


@pytest.mark.usefixtures("recompute_after_return")
def test_return_removes_the_products_of_its_order(brand, customer):
    factories.campaign(brand, type="order", step_by="products", target_value=5)
    serum = factories.product(brand, sku="SER", title="Serum")
    items = [{"sku": "SER", "quantity": 1, "unitPrice": "100.00"}]
    shop.buy(brand, customer, "A-1", subtotal="100.00", items=items)
    assert UserLoyaltyCampaign.objects.get().products == [serum.pk]

    shop.cancel(brand, customer, "A-1")

    assert (progress_of(), UserLoyaltyCampaign.objects.get().products) == ((0, 1), [])
