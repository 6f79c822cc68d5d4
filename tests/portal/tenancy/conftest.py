"""Two brands with a row of each kind, and an owner of one of them."""

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
def scenarios(django_db_setup: None, django_db_blocker: Any, log_watch: LogWatch) -> Iterator[Callable[[], Any]]:
    def make_both() -> Any:
        return brand_with_one_of_each("aardvark"), brand_with_one_of_each(MARKER)

    with shared_rows(make_both, blocker=django_db_blocker, log_watch=log_watch) as copied:
        yield copied


@pytest.fixture
def both(scenarios: Callable[[], Any], db: None) -> Any:
    return scenarios()


@pytest.fixture
def own(both: Any) -> tuple[Brand, dict[str, Any]]:
    found: tuple[Brand, dict[str, Any]] = both[0]
    return found


@pytest.fixture
def foreign(both: Any) -> tuple[Brand, dict[str, Any]]:
    found: tuple[Brand, dict[str, Any]] = both[1]
    return found


@pytest.fixture
def owner(own: tuple[Brand, dict[str, Any]], foreign: tuple[Brand, dict[str, Any]]) -> User:
    """Owner of the one brand; beside it stands the other, and people whom both know."""
    shared = factories.user(email="shared@example.com", registered_brand=foreign[0], is_staff=True)
    StaffRole.objects.create(user=shared, brand=foreign[0], role="support")
    UserPoints.objects.create(user=shared, brand=own[0])
    # Somebody scanned a code of the one brand in the other's app: who it was is the other's to know.
    scan(own[1]["authcodes.authcode"], user=foreign[1]["brands.user"], outcome="error", reason="other_brand")
    return staff(own[0])


@pytest.fixture
def client(owner: User) -> Client:
    return browser(owner)


def add(client: Client, label: str, sent: dict[str, Any]) -> Any:
    """As a browser does it: the page of a recall is about its batch."""
    where = address(label, "add") + (f"?batch={sent['batch']}" if label == "authcodes.recall" else "")
    return client.post(where, sent)
