"""Decides which tests are slow: those that start processes, drive a browser or ask thousands of times."""

from collections import Counter
from collections.abc import Iterable, Set
from pathlib import Path, PurePath

TESTS = Path(__file__).parent.parent

# Below tests/.
SLOW_PLACES = {
    "bench/test_bench.py",
    "bin/test_image.py",
    "bin/test_published.py",
    "bin/test_servers.py",
    "bin/test_watching.py",
    "browser",
    "config/test_slow_senders.py",
    "config/test_wire.py",
    "hosts",
    "journeys",
    "processes",
}
# A test that takes one has processes of its own.
SLOW_FIXTURES = {"stack"}


def is_slow(path: PurePath, fixtures: Iterable[str]) -> bool:
    """Whether a test of the file at `path`, below tests/, belongs to the slow lane."""
    above = {path.as_posix(), *(folder.as_posix() for folder in path.parents)}
    return bool(above & SLOW_PLACES or set(fixtures) & SLOW_FIXTURES)


def told(counts: Counter[str]) -> str:
    return f"{counts['fast'] + counts['slow']} cases: {counts['fast']} fast, {counts['slow']} slow"


def lane(marks: Set[str]) -> str:
    return "slow" if "slow" in marks else "fast"
