"""Two brands with one row of each model, and an owner of one of them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from tests.support import factories
from tests.support.machinery.log_watch import LogWatch
from tests.support.machinery.module_rows import shared_rows
from tests.support.portal import (
    address,
    brand_with_one_of_each,
    browser,
    scan,
    staff,
)

MARKER = "zebra"


@pytest.fixture(scope="module")
def copy_both_brands(django_db_setup: None, django_db_blocker: Any, log_watch: LogWatch) -> Iterator[Callable[[], Any]]:
    def make_both_brands() -> Any:
        return brand_with_one_of_each("aardvark"), brand_with_one_of_each(MARKER)

    with shared_rows(make_both_brands, blocker=django_db_blocker, log_watch=log_watch) as copies:
        yield copies


@pytest.fixture
def both_brands(copy_both_brands: Callable[[], Any], db: None) -> Any:
    return copy_both_brands()


@pytest.fixture
def own_data(both_brands: Any) -> tuple[Brand, dict[str, Any]]:
    brand_and_rows: tuple[Brand, dict[str, Any]] = both_brands[0]
    return brand_and_rows


@pytest.fixture
def foreign_data(both_brands: Any) -> tuple[Brand, dict[str, Any]]:
    brand_and_rows: tuple[Brand, dict[str, Any]] = both_brands[1]
    return brand_and_rows


@pytest.fixture
def owner(own_data: tuple[Brand, dict[str, Any]], foreign_data: tuple[Brand, dict[str, Any]]) -> User:
    """The owner of one brand; the other brand shares a user with it, and one of its customers scanned a code."""
    shared = factories.user(email="shared@example.com", registered_brand=foreign_data[0], is_staff=True)
    StaffRole.objects.create(user=shared, brand=foreign_data[0], role="support")
    UserPoints.objects.create(user=shared, brand=own_data[0])
    # A customer of the other brand scanned a code of this brand in the other's app: only the other may know who.
    scan(
        own_data[1]["authcodes.authcode"],
        user=foreign_data[1]["brands.user"],
        outcome="error",
        reason="other_brand",
    )
    return staff(own_data[0])


@pytest.fixture
def client(owner: User) -> Client:
    return browser(owner)


def add(client: Client, label: str, form_data: dict[str, Any]) -> Any:
    """Submit the form for a new row; the form for a recall has its batch in the URL."""
    url = address(label, "add") + (f"?batch={form_data['batch']}" if label == "authcodes.recall" else "")
    return client.post(url, form_data)
