"""The clients of tests of the portal's own pages: an owner's, and a superuser's."""

import pytest
from django.test import Client

from brands.models.tenants import Brand
from tests.support import factories
from tests.support.portal import browser, staff


@pytest.fixture
def client(brand: Brand) -> Client:
    return browser(staff(brand))


@pytest.fixture
def superuser() -> Client:
    return browser(factories.user(is_staff=True, is_superuser=True))
