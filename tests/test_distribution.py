"""What one of several processes takes together."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.support.lanes import TESTS
from tests.support.machinery.distribution import (
    IN_PORTIONS,
    ONE_BY_ONE,
    PORTIONS,
    WHOLE_FOLDERS,
    BusyTime,
    in_order,
    work_unit,
)


@pytest.mark.parametrize("place", sorted(WHOLE_FOLDERS | ONE_BY_ONE | IN_PORTIONS))
def test_listed_places_exist(place):
    assert (TESTS.parent / place).exists()


def test_file_is_one_unit_unless_it_is_listed():
    assert work_unit("tests/loyalty/points/test_expiry.py::test_a[x::y@z]") == "tests/loyalty/points/test_expiry.py"
    assert work_unit("tests/journeys/test_guide.py::test_a") == "tests/journeys"
    assert work_unit("tests/browser/test_accessibility.py::test_a") == "tests/browser/test_accessibility.py::test_a"


def test_file_with_hundreds_of_tests_is_split_into_portions():
    units = {work_unit(f"tests/config/api/test_hostile_input.py::test_a[{number}]") for number in range(200)}

    assert len(units) == PORTIONS


def test_long_tests_start_first_and_browser_tests_run_consecutively():
    bench, accessibility, browser_folder, slow, quick = (
        "tests/bench/test_bench.py::test_a",
        "tests/browser/test_accessibility.py::test_a",
        "tests/browser/codes/test_codes.py",
        "tests/bin/test_image.py",
        "tests/test_glossary.py",
    )

    assert in_order([quick, slow, browser_folder, accessibility, bench]) == [
        bench,
        accessibility,
        browser_folder,
        slow,
        quick,
    ]


def test_summary_names_each_process_with_its_busy_time():
    busy = BusyTime()
    for process, seconds in (("gw1", 2), ("gw0", 7), ("gw1", 1.2), ("", 9)):
        busy.pytest_runtest_logreport(SimpleNamespace(worker_id=process, duration=seconds))

    assert busy.summary() == "gw0 7 s, gw1 3 s"


def test_file_is_run_by_one_process(tmp_path):
    """pytest-xdist has stopped keeping tests together without a word once."""
    command = [sys.executable, "-m", "pytest", "-v", "-o", "addopts=", "-o", f"cache_dir={tmp_path}"]
    done = subprocess.run(
        [
            *command,
            "--dist",
            "loadscope",
            "-n",
            "2",
            "tests/test_lanes.py",
            "tests/test_distribution.py",
            "-k",
            "exist",
        ],
        cwd=TESTS.parent,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    ran = set(re.findall(r"^\[(gw\d)\] .* (tests/\S+?)::", done.stdout, re.MULTILINE))
    assert ran, done.stdout + done.stderr
    assert len(ran) == len({path for _process, path in ran})
