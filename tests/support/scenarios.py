"""The world that requests to every endpoint meet: made once for a module, a copy for each of its tests."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from tests.support import factories
from tests.support.api import Api, somewhere
from tests.support.endpoints import Scenario, make_scenario
from tests.support.machinery.log_watch import LogWatch
from tests.support.machinery.module_rows import shared_rows


@pytest.fixture(scope="module")
def scenarios(django_db_setup: None, django_db_blocker: Any, log_watch: LogWatch) -> Iterator[Callable[[], Scenario]]:
    def make_one() -> Scenario:
        brand = factories.brand()
        factories.level(brand)
        return make_scenario(Api(brand))

    with shared_rows(make_one, blocker=django_db_blocker, log_watch=log_watch) as copied:
        yield copied


@pytest.fixture
def scenario(scenarios: Callable[[], Scenario], db: None, no_limits: None) -> Scenario:
    """A copy whose people call from an address of their own, so that nothing counted adds up over tests."""
    found, address = scenarios(), somewhere()
    callers = {each.name: getattr(found, each.name) for each in fields(found)}
    moved: dict[str, Any] = {
        name: replace(api, address=address) for name, api in callers.items() if isinstance(api, Api)
    }
    return replace(found, **moved)
