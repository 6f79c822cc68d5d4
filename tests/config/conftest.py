"""The world that hostile requests meet."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from tests import make
from tests.api import Api, somewhere
from tests.config.doors import World, make_world
from tests.log_watch import LogWatch
from tests.worlds import kept


@pytest.fixture(scope="module")
def worlds(django_db_setup: None, django_db_blocker: Any, log_watch: LogWatch) -> Iterator[Callable[[], World]]:
    def make_one() -> World:
        brand = make.brand()
        make.level(brand)
        return make_world(Api(brand))

    with kept(make_one, blocker=django_db_blocker, log_watch=log_watch) as copied:
        yield copied


@pytest.fixture
def world(worlds: Callable[[], World], db: None, no_limits: None) -> World:
    """A copy whose people call from an address of their own, so that nothing counted adds up over tests."""
    found, address = worlds(), somewhere()
    callers = {each.name: getattr(found, each.name) for each in fields(found)}
    moved = {name: replace(api, address=address) for name, api in callers.items() if isinstance(api, Api)}
    return replace(found, **moved)
