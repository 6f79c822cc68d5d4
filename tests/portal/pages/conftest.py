"""The client of tests of the portal's own pages: an owner's."""

import pytest
from django.test import Client

from brands.models.tenants import Brand
from tests.support.portal import browser, staff


@pytest.fixture
def client(brand: Brand) -> Client:
    return browser(staff(brand))
