"""Turns the arguments of bin/test into those of pytest, one on a line.

bin/test                 the fast lane: everything that is not marked slow
bin/test --all           everything, with the 25 slowest
bin/test PATH...         tests, or those of a folder or module of an app, slow ones too
bin/test --changed       the fast tests of what differs from main, and of what imports it
--coverage               measures which lines ran; with --all alone it fails below the gate of pyproject.toml
"""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from imports import import_graph, importers

ROOT = Path(__file__).resolve().parent.parent
FAST = ["-m", "not slow"]
ALL = ["--durations=25"]
COVERAGE = ["--cov", "--cov-report=term:skip-covered", "--cov-report=html:.venv/coverage-html"]
NO_GATE = "--cov-fail-under=0"  # for a part of the tests
TAKES_A_VALUE = {"-k", "-m", "-p", "-n", "-o", "-c", "-W", "--deselect", "--ignore"}
ALWAYS = "tests/test_architecture.py"
# An app's pages and endpoints: their tests are with those of their topic.
EDGES = {"admin", "api"}


class NothingToRunError(Exception):
    """The arguments name nothing that has tests."""


def is_test(path: str) -> bool:
    return path.startswith("tests/") and Path(path).name.startswith("test_") and path.endswith(".py")


def counterparts(path: str, graph: dict[str, set[str]]) -> set[str]:
    """The tests of a file or folder: itself, those at the same path below tests/, or else those that import it."""
    if path == "tests" or path.startswith("tests/"):
        return {path}
    folders = {folder.as_posix() for file in graph for folder in Path(file).parents}
    if not path.endswith(".py") and (folder := next((each for each in test_folders(path) if each in folders), None)):
        return {folder}
    if path.endswith(".py"):
        within, inside = Path("tests", path).parent, [path]
        named = {
            each
            for each in graph
            if is_test(each) and of_the_same_name(each, path) and within.parts[1] in Path(each).parts
        }
    else:
        inside, named = [each for each in graph if each.startswith(f"{path}/")], set()
    return named | {each for each in importers(graph, inside) if is_test(each)}


def test_folders(folder: str) -> list[str]:
    """Where the tests of an app's folder may be: at the same path, with its topic (pages only), or one folder up."""
    app, *names = Path(folder).parts
    topic = names[1:] if names and names[0] in EDGES else []
    above = [names[:length] for length in range(len(names) - 1, 0, -1)]
    return ["/".join(["tests", app, *each]) for each in [names, topic, *above] if each or not names]


def of_the_same_name(test: str, path: str) -> bool:
    return Path(test).name == f"test_{Path(path).name}"


def affected_tests(changed: Iterable[str], graph: dict[str, set[str]]) -> set[str]:
    """The tests of `changed` and of what imports them. A conftest counts for its folder."""
    paths = set(changed)
    tests = {ALWAYS} if ALWAYS in graph else set()
    tests |= {Path(path).parent.as_posix() for path in paths if path.endswith("/conftest.py")}
    modules = {path for path in paths if path in graph}
    reached = modules | importers(graph, modules)
    tests |= {path for path in reached if is_test(path)}
    for path in reached:
        if not path.startswith("tests/"):
            tests |= {
                test for test in graph if is_test(test) and of_the_same_name(test, path) and shares_app(test, path)
            }
    return tests


def shares_app(test: str, path: str) -> bool:
    return Path(test).parts[1] == Path(path).parts[0]


def changed_paths(root: Path) -> set[str]:
    """What differs from the point where this branch left main, committed or not, and new files."""
    base = git(root, "merge-base", "main", "HEAD").strip()
    differing = git(root, "diff", "--name-only", "--no-renames", base)
    new = git(root, "ls-files", "--others", "--exclude-standard")
    return set(differing.splitlines()) | set(new.splitlines())


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def pytest_arguments(arguments: Sequence[str], *, root: Path) -> list[str]:
    if "--coverage" in arguments:
        remaining = [each for each in arguments if each != "--coverage"]
        gate = [] if remaining == ["--all"] else [NO_GATE]
        return [*pytest_arguments(remaining, root=root), *COVERAGE, *gate]
    remaining = [each for each in arguments if each not in {"--all", "--changed"}]
    if "--all" in arguments:
        return [*ALL, *remaining]
    if "--changed" in arguments:
        graph, changed = import_graph(root), changed_paths(root)
        for path in sorted(path for path in changed if path not in graph):
            print(f"--changed does not follow {path}", file=sys.stderr)
        return [*sorted(affected_tests(changed, graph)), *FAST, *remaining]
    return named_tests(remaining, root=root)


def named_tests(arguments: Sequence[str], *, root: Path) -> list[str]:
    """Replace each path by its tests. Without a path, and without pytest's own -m, select the fast lane."""
    graph = import_graph(root)
    chosen: list[str] = []
    named = False
    for before, each in zip(["", *arguments], arguments, strict=False):
        path = each.partition("::")[0].rstrip("/")
        if each.startswith("-") or before in TAKES_A_VALUE or not (root / path).exists():
            chosen.append(each)
            continue
        named = True
        if path.startswith("tests"):
            chosen.append(each)
        elif tests := counterparts(path, graph):
            chosen += sorted(tests)
        else:
            raise NothingToRunError(f"no test bears the name of {path} or imports it")
    return chosen if named or "-m" in arguments else [*FAST, *chosen]


def main() -> int:
    try:
        print("\n".join(pytest_arguments(sys.argv[1:], root=ROOT)))
    except NothingToRunError as error:
        print(f"bin/test: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
