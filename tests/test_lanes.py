"""The fast lane and the slow one: together they are all tests."""

import os
import subprocess
import sys
from pathlib import PurePath

import pytest

from tests.support import lanes
from tests.support.lanes import FAST_SECONDS, SLOW_PLACES, TESTS, is_slow, measured_as_slow, misplaced, write_measured

# Of these some are slow: by folder, by file, by what a test takes.
SAMPLE = [
    "tests/bench",
    "tests/journeys",
    "tests/config/serving/test_slow_senders.py",
    "tests/config/api/test_schema.py",
    "tests/campaigns",
]


@pytest.mark.parametrize("place", sorted(SLOW_PLACES))
def test_slow_places_exist(place):
    assert (TESTS / place).exists()


@pytest.mark.parametrize(
    "path", ["browser/codes/test_codes.py", "processes/test_crashes.py", "config/serving/test_wire.py"]
)
def test_tests_in_slow_places_are_slow(path):
    assert is_slow(PurePath(path), [])


def test_tests_with_an_installation_are_slow():
    assert is_slow(PurePath("loyalty/notifications/test_accruals.py"), ["brand", "stack"])
    assert not is_slow(PurePath("loyalty/notifications/test_accruals.py"), ["brand"])


def test_tests_slow_on_average_are_stored_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(lanes, "MEASURED", tmp_path / "slow_tests.txt")
    long, short = FAST_SECONDS * 3, FAST_SECONDS / 4

    write_measured(
        {
            "tests/loyalty/test_a.py::test_quick": short,
            "tests/loyalty/test_a.py::test_long[1]": short,
            "tests/loyalty/test_a.py::test_long[2]": long,
            "tests/loyalty/test_a.py::TestMany::test_mostly_quick[1]": long,
            "tests/loyalty/test_a.py::TestMany::test_mostly_quick[2]": short,
            "tests/loyalty/test_a.py::TestMany::test_mostly_quick[3]": short,
            "tests/loyalty/test_a.py::TestMany::test_mostly_quick[4]": short / 4,
            "tests/browser/test_b.py::test_slow_by_its_place": long,
        }
    )

    assert measured_as_slow.__wrapped__() == {"tests/loyalty/test_a.py::test_long"}


def test_tests_too_slow_for_the_fast_lane_are_listed_slowest_first():
    seconds = {"tests/a.py::test_b[1]": 1.7, "tests/a.py::test_b[2]": 1.6, "tests/a.py::test_c": 4, "tests/a.py::d": 1}

    assert misplaced(seconds).endswith("slow_tests.txt: tests/a.py::test_c (4.0 s), tests/a.py::test_b (3.3 s)")
    assert misplaced({"tests/a.py::test_d": 0.1}) == ""


def collected(*arguments):
    """The names of the tests that pytest takes."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-o", "addopts=--strict-markers", *arguments]
    done = subprocess.run(
        [*command, *SAMPLE],
        cwd=TESTS.parent,
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [line for line in done.stdout.splitlines() if "::" in line]
    return names, done.stdout


@pytest.mark.slow
def test_fast_and_slow_lanes_are_all_tests():
    every, summary = collected()
    fast, _ = collected("-m", "not slow")
    slow, _ = collected("-m", "slow")

    assert fast
    assert slow
    assert sorted(fast + slow) == sorted(every)
    assert f"{len(every)} cases: {len(fast)} fast, {len(slow)} slow" in summary
