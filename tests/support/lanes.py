"""Decides which tests are slow: those that start processes or drive a browser, and those that were measured as slow."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from functools import cache
from pathlib import Path, PurePath
from statistics import mean

TESTS = Path(__file__).parent.parent
# A case of a fast test takes less than the first on a quiet machine, and all its cases less than the second.
FAST_SECONDS = 0.03
FAST_TOTAL_SECONDS = 1
# Next to other processes a test takes longer. It is reported from this time on.
REPORTED_TOTAL_SECONDS = 3
# The tests that took longer, one per line: `bin/test --all --measure` writes it, in a single process.
MEASURED = Path(__file__).parent / "slow_tests.txt"

FAST_LANE = "not slow"  # as pytest's -m has it

# Below tests/.
SLOW_PLACES = {
    "bench/test_bench.py",
    "bin/test_image.py",
    "bin/test_published.py",
    "bin/test_servers.py",
    "bin/test_watching.py",
    "browser",
    "config/serving/test_slow_senders.py",
    "config/serving/test_wire.py",
    "hosts",
    "journeys",
    "processes",
}
# A test that uses one of these starts its own processes.
SLOW_FIXTURES = {"stack"}


def is_slow_place(path: PurePath) -> bool:
    """Whether everything in the file or folder at `path`, below tests/, belongs to the slow lane."""
    return bool({path.as_posix(), *(folder.as_posix() for folder in path.parents)} & SLOW_PLACES)


def is_slow(path: PurePath, fixtures: Iterable[str]) -> bool:
    """Whether all tests of the file at `path`, below tests/, or all that take `fixtures` belong to the slow lane."""
    return is_slow_place(path) or bool(set(fixtures) & SLOW_FIXTURES)


def function_of(test: str) -> str:
    """The test's name without the parameters of the case."""
    return test.partition("[")[0]


@cache
def measured_as_slow() -> frozenset[str]:
    return frozenset(MEASURED.read_text().split())


def slow_tests(seconds: Mapping[str, float]) -> dict[str, float]:
    """The tests that took longer than fast ones do, with the seconds of all their cases. `seconds`: of each case."""
    cases: defaultdict[str, list[float]] = defaultdict(list)
    for case, taken in seconds.items():
        if not is_slow(PurePath(case.partition("::")[0]).relative_to("tests"), ()):
            cases[function_of(case)].append(taken)
    return {
        name: sum(taken)
        for name, taken in cases.items()
        if mean(taken) >= FAST_SECONDS or sum(taken) >= FAST_TOTAL_SECONDS
    }


def write_measured(seconds: Mapping[str, float]) -> None:
    """Save the names of the slow tests."""
    MEASURED.write_text("".join(f"{name}\n" for name in sorted(slow_tests(seconds))))


def misplaced(seconds: Mapping[str, float]) -> str:
    """A message about tests of the fast lane that belong to the slow one; "" if there are none."""
    too_slow = {name: taken for name, taken in slow_tests(seconds).items() if taken >= REPORTED_TOTAL_SECONDS}
    if not too_slow:
        return ""
    named = ", ".join(
        f"{name} ({too_slow[name]:.1f} s)" for name in sorted(too_slow, key=too_slow.__getitem__, reverse=True)
    )
    return f"too slow for the fast lane, to be listed in {MEASURED.relative_to(TESTS.parent)}: {named}"


def summary(counts: Counter[str], *, is_fast_lane: bool) -> str:
    """The fast lane does not read the files of slow places, so it cannot count their cases."""
    if is_fast_lane:
        return f"{counts['fast']} fast cases; bin/test --all runs the slow ones too"
    return f"{counts['fast'] + counts['slow']} cases: {counts['fast']} fast, {counts['slow']} slow"


def lane(marks: Set[str]) -> str:
    return "slow" if "slow" in marks else "fast"
