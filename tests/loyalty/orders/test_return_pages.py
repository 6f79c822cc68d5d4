"""The portal's pages of returned orders."""

import pytest

from loyalty.models.orders import OrderReturn
from tests.support import factories, shop
from tests.support.portal import address, browser, staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def order_return(brand, customer):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    shop.buy(brand, customer)
    shop.return_order(brand, customer, return_id="R-1", amount="40.00")
    return OrderReturn.objects.get()


def test_support_can_search_returns_by_order(brand, customer, order_return):
    client = browser(staff(brand, role="support"))

    list_page = client.get(address("loyalty.orderreturn", "changelist"), {"q": "A-1"}).content.decode()
    detail_page = client.get(address("loyalty.orderreturn", "change", order_return.pk)).content.decode()

    assert customer.email in list_page
    assert "R-1" in detail_page


def test_returns_of_another_brand_are_not_visible(order_return):
    client = browser(staff(factories.brand(), role="owner"))

    assert "A-1" not in client.get(address("loyalty.orderreturn", "changelist")).content.decode()
    assert client.get(address("loyalty.orderreturn", "change", order_return.pk)).status_code in {302, 404}


def test_owner_cannot_add_returns(brand, order_return):
    client = browser(staff(brand, role="owner"))

    assert client.get(address("loyalty.orderreturn", "add")).status_code == 403
