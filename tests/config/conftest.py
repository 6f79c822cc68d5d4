"""The world that hostile requests meet."""

import pytest

from tests.api import Api
from tests.config.doors import World, make_world


@pytest.fixture
def world(api: Api) -> World:
    return make_world(api)
