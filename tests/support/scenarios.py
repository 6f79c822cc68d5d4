"""The rows that requests to all endpoints need: made once for a module, and copied for each of its tests."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from tests.support import factories
from tests.support.api import Api, random_address
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
    """A copy whose callers have their own address, so that rate limits do not count over several tests."""
    copied, address = scenarios(), random_address()
    callers = {each.name: getattr(copied, each.name) for each in fields(copied)}
    moved: dict[str, Any] = {
        name: replace(api, address=address) for name, api in callers.items() if isinstance(api, Api)
    }
    return replace(copied, **moved)
