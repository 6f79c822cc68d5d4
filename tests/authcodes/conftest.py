"""The portal, as the brand's owner sees it."""

from typing import Any

import pytest

from brands.models.people import User
from tests.support.portal import browser


@pytest.fixture
def client(owner: User) -> Any:
    return browser(owner)
