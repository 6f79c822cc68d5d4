"""Fixtures and helpers of tests that import and export reference data."""

import pytest

from authcodes.models.products import Product
from tests.support import factories
from tests.support.api import Api

LABEL = "authcodes.product"


@pytest.fixture
def other_brand():
    return factories.brand()


def titles_by_sku(brand):
    return dict(Product.objects.filter(brand=brand).values_list("sku", "title"))


CSV, XLSX = "text/csv", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest.fixture
def hub(api: Api):
    return api.hub()


def send_file(caller, content, *, resource="products", content_type=CSV, name="file.csv"):
    data = content.encode() if isinstance(content, str) else content
    return caller.call("POST", f"brand/imports/{resource}?name={name}", data=data, content_type=content_type)


RULE, CAMPAIGN = "campaigns.earningrule", "campaigns.campaign"
