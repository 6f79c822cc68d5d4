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
    TOGETHER,
    BusyTime,
    in_order,
    work_unit,
)


@pytest.mark.parametrize("place", sorted(TOGETHER | ONE_BY_ONE | IN_PORTIONS))
def test_what_is_named_exists(place):
    assert (TESTS.parent / place).exists()


def test_a_file_stays_together_and_what_is_named_does_not():
    assert work_unit("tests/loyalty/points/test_expiry.py::test_a[x::y@z]") == "tests/loyalty/points/test_expiry.py"
    assert work_unit("tests/journeys/test_guide.py::test_a") == "tests/journeys"
    assert work_unit("tests/browser/test_accessibility.py::test_a") == "tests/browser/test_accessibility.py::test_a"


def test_a_file_of_hundreds_of_tests_is_taken_in_portions():
    units = {work_unit(f"tests/config/api/test_hostile_input.py::test_a[{number}]") for number in range(200)}

    assert len(units) == PORTIONS


def test_what_takes_minutes_is_begun_first_and_what_needs_a_browser_follows_one_another():
    one, in_browser, others_in_browser, slow, quick = (
        "tests/bench/test_bench.py::test_a",
        "tests/browser/test_accessibility.py::test_a",
        "tests/browser/codes/test_codes.py",
        "tests/bin/test_image.py",
        "tests/test_glossary.py",
    )

    assert in_order([quick, slow, others_in_browser, in_browser, one]) == [
        one,
        in_browser,
        others_in_browser,
        slow,
        quick,
    ]


def test_it_is_said_how_long_each_process_was_busy():
    busy = BusyTime()
    for process, seconds in (("gw1", 2), ("gw0", 7), ("gw1", 1.2), ("", 9)):
        busy.pytest_runtest_logreport(SimpleNamespace(worker_id=process, duration=seconds))

    assert busy.summary() == "gw0 7 s, gw1 3 s"


def test_a_file_is_run_by_one_process(tmp_path):
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
            "exists",
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
