"""Fixtures for every test: a brand with a level, a customer, the API and the worker. Also the lanes of the tests."""

import gc
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import TransactionTestCase

from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.earning import rules
from events import worker
from tests.support import concurrency, factories
from tests.support.api import Api
from tests.support.lanes import (
    FAST_LANE,
    TESTS,
    function_of,
    is_slow,
    is_slow_place,
    lane,
    measured_as_slow,
    misplaced,
    summary,
    write_measured,
)
from tests.support.machinery.distribution import BusyTime, WorkUnitScheduling
from tests.support.machinery.log_watch import LogWatch, secrets_in
from tests.support.machinery.table_cleanup import empty_tables
from tests.support.portal import staff
from tests.support.scenarios import scenario, scenarios

__all__ = ["scenario", "scenarios"]

NOT_TRUNCATED = {
    "loyalty_transaction": "ledger_not_truncated",
    "brands_auditlogentry": "audit_trail_not_truncated",
    "authcodes_codechange": "code_change_not_truncated",
    "authcodes_recallreturn": "recall_return_not_truncated",
    "campaigns_earningruleversion": "earning_rule_versions_not_truncated",
}

# Waits for pages and processes may time out on a busy machine, and a page may navigate during a query.
OUT_OF_TIME = ["TimeoutError", "ReadTimeout", "did not become true in time", "Execution context was destroyed"]


LANES = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--measure", action="store_true", help="write which tests are slow (tests/support/slow_tests.txt)")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(BusyTime())
    config.pluginmanager.register(Durations(config))


class Durations:
    """Records how long each step of a test takes, in all processes."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.steps: dict[tuple[str, str], float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # The last report counts, if a test was run again or has several reports.
        self.steps[report.nodeid, report.when] = report.duration

    def of_cases(self) -> dict[str, float]:
        cases: defaultdict[str, float] = defaultdict(float)
        for (case, _step), seconds in self.steps.items():
            cases[case] += seconds
        return cases

    def pytest_sessionfinish(self) -> None:
        if self.config.getoption("--measure"):
            write_measured(self.of_cases())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if is_fast_lane(self.config) and (report := misplaced(self.of_cases())):
            terminalreporter.write_line(report)


def is_fast_lane(config: pytest.Config) -> bool:
    return bool(config.getoption("markexpr") == FAST_LANE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Reading slow tests, which would not run, takes half a minute of the fast lane."""
    is_left_out = (
        is_fast_lane(config)
        and collection_path.is_relative_to(TESTS)
        and is_slow_place(collection_path.relative_to(TESTS))
    )
    return is_left_out or None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str) -> list[pytest.Item] | None:
    """The fast lane does not collect a test that is measured as slow either, nor its fixtures."""
    is_left_out = is_fast_lane(collector.config) and f"{collector.nodeid}::{name}" in measured_as_slow()
    return [] if is_left_out else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the slow tests, and those that may run again.

    A control may run again, because it shows that something can happen, and so may a test that timed out. Other tests
    may not: what they assert must hold each time.
    """
    measured = measured_as_slow()
    for item in items:
        waits = is_slow(item.path.relative_to(TESTS), getattr(item, "fixturenames", ()))
        if waits or function_of(item.nodeid) in measured:
            item.add_marker(pytest.mark.slow)
        # Not every test has this mark: the plug-in queries another process for each one, which takes 30 ms.
        if item.name.startswith("test_control_"):
            item.add_marker(pytest.mark.flaky(reruns=2))
        elif waits:
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=OUT_OF_TIME))
    # Counted before -m and -k deselect some.
    lanes = Counter(lane({mark.name for mark in item.iter_markers()}) for item in items)
    config.stash[LANES] = lanes
    if hasattr(config, "workeroutput"):
        config.workeroutput["lanes"] = dict(lanes)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """The product and thousands of tests stay until the end, so the garbage collector need not examine them."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> WorkUnitScheduling:
    return WorkUnitScheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each process collects everything, so the counts of the last one to end are those of all."""
    if lanes := getattr(node, "workeroutput", {}).get("lanes"):
        node.config.stash[LANES] = Counter(lanes)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if LANES in config.stash:
        terminalreporter.write_line(summary(config.stash[LANES], is_fast_lane=is_fast_lane(config)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Reports are sent between processes as UTF-8, and a test may cause output that is not valid UTF-8."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.fixture(scope="session")
def django_db_modify_db_settings_xdist_suffix() -> None:
    """Each process has its own servers (bin/test), so their databases may have the same name and be copies of one."""


@pytest.fixture(scope="session")
def log_watch() -> Iterator[LogWatch]:
    watch = LogWatch()
    logging.getLogger().addHandler(watch)
    yield watch
    logging.getLogger().removeHandler(watch)


@pytest.fixture(autouse=True)
def no_secrets_in_logs(log_watch: LogWatch) -> Iterator[None]:
    """The product's log must never contain a secret, nor a user's address or position."""
    log_watch.take()
    yield
    assert secrets_in(log_watch.take()) == []


@pytest.fixture(autouse=True)
def reset_rule_cache() -> None:
    """Brand ids restart with each test, so the process must not cache the rules of another test's brand."""
    rules.reset_cache()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Let the flush between tests empty tables whose triggers prevent TRUNCATE; test_database_roles restores these."""
    with django_db_blocker.unblock(), connection.as_owner(), connection.cursor() as cursor:  # type: ignore[attr-defined] # our own backend's
        for table, trigger in NOT_TRUNCATED.items():
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")


@pytest.fixture(scope="session", autouse=True)
def fast_table_cleanup() -> Iterator[None]:
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
def owner(brand: Brand) -> User:
    return staff(brand)


@pytest.fixture
def media(settings: Any, tmp_path: Path) -> None:
    """Uploaded and created files are in a directory of the test."""
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def run_concurrently() -> Callable[[int, Callable[[], Any]], list[Any]]:
    """Calls `action` in `count` threads at the same time. Returns what each call returned or raised."""
    return lambda count, action: concurrency.run_concurrently(lambda _number: action(), range(count), threads=count)


@pytest.fixture
def deliver_events() -> Callable[[], int]:
    """Handles every due event, as a worker does when it is woken."""
    return worker.drain


@pytest.fixture
def no_limits(settings: Any) -> None:
    """Without rate limits."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")


@pytest.fixture
def api(brand: Brand, no_limits: None) -> Api:
    """The API, called by a guest of the brand."""
    return Api(brand)
