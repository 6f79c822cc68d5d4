"""Decides which tests run in the same process, and which start first.

pytest-xdist's own groups (`--dist loadgroup`) have no effect with pytest 9.2: they are stored in the tests' names,
which cannot change by then (https://github.com/pytest-dev/pytest-xdist/issues/1386).
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePath
from zlib import crc32

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.lanes import SLOW_PLACES

# The journeys share an installation that takes longer to start than they do. Tests of processes measure time, and each
# starts so many processes that two of them would slow each other down.
WHOLE_FOLDERS = {"tests/journeys", "tests/processes"}
# Their tests share nothing and take minutes: each goes to the next free process.
ONE_BY_ONE = {
    "tests/bench/test_bench.py",
    "tests/browser/test_accessibility.py",
    "tests/browser/scan_page/test_connections.py",
    "tests/browser/scan_page/test_everybody.py",
    "tests/browser/scan_page/test_scan_page.py",
    "tests/config/api/test_made_up_requests.py",
}
# Hundreds of tests in one transaction of their file make each other slower.
IN_PORTIONS = {
    "tests/portal/tenancy/test_forms.py",
    "tests/portal/tenancy/test_tenancy.py",
    "tests/config/api/test_hostile_addresses.py",
    "tests/config/api/test_hostile_credentials.py",
    "tests/config/api/test_hostile_input.py",
}
PORTIONS = 6
BROWSER = "tests/browser/"


def work_unit(test: str) -> str:
    """The unit that runs in one process: a folder, a file whose tests share rows, a portion of one, or one test."""
    path = test.partition("::")[0]
    folder = PurePath(path).parent.as_posix()
    if folder in WHOLE_FOLDERS:
        return folder
    if path in IN_PORTIONS:
        return f"{path}::{crc32(test.encode()) % PORTIONS}"
    return test if path in ONE_BY_ONE else path


def takes_long(unit: str) -> bool:
    path = PurePath(unit.partition("::")[0]).relative_to("tests")
    return bool({path.as_posix(), *(folder.as_posix() for folder in path.parents)} & SLOW_PLACES)


def in_order(units: Sequence[str]) -> list[str]:
    """Units that take minutes come first, so that no process is left alone with one at the end. Units with a browser
    follow each other: after any other unit, a process has to start their installation again."""
    one_by_one = {path.partition("::")[0] for path in ONE_BY_ONE}

    def rank(unit: str) -> int:
        is_one_by_one, in_browser = unit.partition("::")[0] in one_by_one, unit.startswith(BROWSER)
        if is_one_by_one:
            return 1 if in_browser else 0
        return 2 if in_browser else 3 if takes_long(unit) else 4

    return sorted(units, key=rank)


class WorkUnitScheduling(LoadScopeScheduling):  # type: ignore[misc] # without types
    """Gives the next work unit to a free process."""

    def _split_scope(self, nodeid: str) -> str:
        return work_unit(nodeid)

    def _assign_work_unit(self, node: object) -> None:
        for unit in in_order(list(self.workqueue)):
            self.workqueue.move_to_end(unit)
        super()._assign_work_unit(node)


class BusyTime:
    """Adds up and reports how long each process was busy with tests: a low value means a lack of units."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if process := getattr(report, "worker_id", ""):
            self.seconds[process] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.seconds:
            terminalreporter.write_line(f"busy: {self.summary()}")

    def summary(self) -> str:
        return ", ".join(f"{process} {seconds:.0f} s" for process, seconds in sorted(self.seconds.items()))
