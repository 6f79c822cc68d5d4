"""Products as files, of one brand beside another."""

import pytest

from authcodes.models.products import Product
from tests.support import factories
from tests.support.api import Api

LABEL = "authcodes.product"


@pytest.fixture
def other():
    return factories.brand()


def stored(brand):
    return dict(Product.objects.filter(brand=brand).values_list("sku", "title"))


CSV, XLSX = "text/csv", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest.fixture
def hub(api: Api):
    return api.hub()


def send(caller, content, *, resource="products", content_type=CSV, name="file.csv"):
    data = content.encode() if isinstance(content, str) else content
    return caller.call("POST", f"brand/imports/{resource}?name={name}", data=data, content_type=content_type)


RULE, CAMPAIGN = "campaigns.earningrule", "campaigns.campaign"
