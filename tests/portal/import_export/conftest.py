"""Products as files, of one brand beside another."""

import pytest

from authcodes.models.products import Product
from tests.support import factories

LABEL = "authcodes.product"


@pytest.fixture
def other():
    return factories.brand()


def stored(brand):
    return dict(Product.objects.filter(brand=brand).values_list("sku", "title"))
