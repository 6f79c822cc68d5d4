"""The portal's page of returned orders."""

import pytest

from loyalty.models.orders import OrderReturn
from tests.support import factories, shop
from tests.support.portal import address, browser, staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def returned(brand, customer):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    shop.buy(brand, customer)
    shop.give_back(brand, customer, return_id="R-1", amount="40.00")
    return OrderReturn.objects.get()


def test_support_finds_a_return_by_its_order(brand, customer, returned):
    page = browser(staff(brand, role="support"))

    listed = page.get(address("loyalty.orderreturn", "changelist"), {"q": "A-1"}).content.decode()
    shown = page.get(address("loyalty.orderreturn", "change", returned.pk)).content.decode()

    assert customer.email in listed
    assert "R-1" in shown


def test_another_brands_returns_are_not_there(returned):
    page = browser(staff(factories.brand(), role="owner"))

    assert "A-1" not in page.get(address("loyalty.orderreturn", "changelist")).content.decode()
    assert page.get(address("loyalty.orderreturn", "change", returned.pk)).status_code in {302, 404}


def test_nobody_writes_returns(brand, returned):
    page = browser(staff(brand, role="owner"))

    assert page.get(address("loyalty.orderreturn", "add")).status_code == 403
