"""Fixtures every test may use: a brand with a level, a customer, and the worker's turn."""

from collections.abc import Callable

import pytest

from brands.models import Brand, User
from loyalty import events
from tests import make


@pytest.fixture
def brand(db: None) -> Brand:
    made = make.brand()
    make.level(made)
    return made


@pytest.fixture
def customer(brand: Brand) -> User:
    return make.customer(brand)


@pytest.fixture
def deliver() -> Callable[[], int]:
    """What a worker does when it is woken: deliver every event that is due."""
    return events.drain
