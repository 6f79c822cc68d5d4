"""Fixtures every test may use: a brand with a level, a customer, and the worker's turn."""

from collections.abc import Callable
from typing import Any

import pytest

from brands.models import Brand, User
from loyalty import events
from tests import make
from tests.api import Api


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


@pytest.fixture
def api(brand: Brand, settings: Any) -> Api:
    """The API, called by a guest of the brand; as often as the test likes."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")
    settings.SECURE_SSL_REDIRECT = False
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the real one takes its time
    return Api(brand)
