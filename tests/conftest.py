"""Fixtures every test may use: a brand with a level, a customer, and the worker's turn."""

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import TransactionTestCase

from brands.models.people import User
from brands.models.tenants import Brand
from events import worker
from tests.support import factories
from tests.support.api import Api
from tests.support.distribution import TogetherScheduling
from tests.support.lanes import TESTS, is_slow, lane, told
from tests.support.log_watch import LogWatch, secrets_in
from tests.support.table_cleanup import empty_tables

NOT_TRUNCATED = {
    "loyalty_transaction": "ledger_not_truncated",
    "brands_auditlogentry": "audit_trail_not_truncated",
    "authcodes_codechange": "code_change_not_truncated",
}

# Waits for pages and processes may run out of time on a machine that others use, and a page may move under a question.
OUT_OF_TIME = ["TimeoutError", "ReadTimeout", "did not become true in time", "Execution context was destroyed"]


LANES = pytest.StashKey[Counter[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Say which tests are slow, and what may be tried again.

    That is a control, which shows that something can happen, and what ran out of time. A test of a promise is not: the
    promise holds each time.
    """
    for item in items:
        if is_slow(item.path.relative_to(TESTS), getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
        if item.name.startswith("test_control_"):
            item.add_marker(pytest.mark.flaky(reruns=2))
        else:
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=OUT_OF_TIME))
    # Before -m and -k leave some out.
    config.stash[LANES] = Counter(lane({mark.name for mark in item.iter_markers()}) for item in items)
    if hasattr(config, "workeroutput"):
        config.workeroutput["lanes"] = dict(config.stash[LANES])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> TogetherScheduling:
    return TogetherScheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each process collects everything; the last that ends has said it for all."""
    if lanes := getattr(node, "workeroutput", {}).get("lanes"):
        node.config.stash[LANES] = Counter(lanes)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if LANES in config.stash:
        terminalreporter.write_line(told(config.stash[LANES]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Reports go from process to process as UTF-8, which not all is that a test provokes."""
    report = yield
    report.sections = [(name, said.encode(errors="backslashreplace").decode()) for name, said in report.sections]
    return report


@pytest.fixture(scope="session")
def log_watch() -> Iterator[LogWatch]:
    watch = LogWatch()
    logging.getLogger().addHandler(watch)
    yield watch
    logging.getLogger().removeHandler(watch)


@pytest.fixture(autouse=True)
def no_secrets_in_logs(log_watch: LogWatch) -> Iterator[None]:
    """Whatever a test does, the product's log holds no secret, and no person's address or position."""
    log_watch.take()
    yield
    assert secrets_in(log_watch.take()) == []


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Let the flush between tests empty what refuses TRUNCATE; test_database_roles has these triggers back."""
    with django_db_blocker.unblock(), connection.as_owner(), connection.cursor() as cursor:
        for table, trigger in NOT_TRUNCATED.items():
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")


@pytest.fixture(scope="session", autouse=True)
def quickly_emptied() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty_tables)
        yield


@pytest.fixture
def brand(db: None) -> Brand:
    made = factories.brand()
    factories.level(made)
    return made


@pytest.fixture
def customer(brand: Brand) -> User:
    return factories.customer(brand)


@pytest.fixture
def deliver() -> Callable[[], int]:
    """What a worker does when it is woken: deliver every event that is due."""
    return worker.drain


@pytest.fixture
def no_limits(settings: Any) -> None:
    """Calls as often as the test likes."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")


@pytest.fixture
def api(brand: Brand, no_limits: None) -> Api:
    """The API, called by a guest of the brand."""
    return Api(brand)
