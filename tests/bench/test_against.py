"""The comparison of two trees: what of it counts, and what fails it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import against
from bench.harness import Figure, Scale

ROOT = Path(__file__).parents[2]
TOLERANCE = 0.03


def scan(*, ratio: float = 0.4, web: float = 600, p99: float = 50, name: str = "scan / empty view") -> list[Figure]:
    """A part's figures: one that has to be high, processor time, and the slowest of many."""
    return [
        Figure("scan", name, ratio, goal=0.35),
        Figure("scan", "scan: processor time of web", web, "us"),
        Figure("scan", "scan: processor time of postgres", 400, "us"),
        Figure("scan", "points, p99", p99, "ms", 100, at_least=False),
        Figure("scan", "refused", 0, "", 0, at_least=False),
    ]


def missed(ours: list[list[Figure]], other_rounds: list[list[Figure]]) -> list[str]:
    return [each.name for each in against.compared(ours, other_rounds, tolerance=TOLERANCE) if each.is_missed]


def test_turns_alternate() -> None:
    assert "".join(against.in_turns("AB", 4)) == "ABBAABBA"


def test_a_tree_is_as_good_as_itself() -> None:
    found = against.compared([scan()] * 3, [scan()] * 3, tolerance=TOLERANCE)

    assert {figure.value for figure in found} == {1}
    assert [figure.name for figure in found if figure.goal] == ["scan / empty view", "processor time of a scan"]
    assert not any(figure.is_missed for figure in found)


def test_worse_than_the_tolerance_is_missed_and_better_is_not() -> None:
    assert missed([scan(ratio=0.389)], [scan(ratio=0.4)]) == []
    assert missed([scan(ratio=0.387)], [scan(ratio=0.4)]) == ["scan / empty view"]
    assert missed([scan(ratio=0.9)], [scan(ratio=0.4)]) == []


def test_what_one_program_spends_another_may_save() -> None:
    assert missed([scan(web=629)], [scan(web=600)]) == []
    assert missed([scan(web=631)], [scan(web=600)]) == ["processor time of a scan"]
    assert missed([scan(web=300)], [scan(web=600)]) == []


def test_the_slowest_of_many_is_shown_and_does_not_count() -> None:
    (shown,) = (each for each in against.compared([scan(p99=90)], [scan()], tolerance=TOLERANCE) if "p99" in each.name)

    assert (shown.value, shown.goal) == (1.8, None)


def test_the_median_of_the_rounds_counts_and_their_spread_is_shown() -> None:
    ours = [scan(ratio=ratio) for ratio in (0.2, 0.4, 0.44)]

    (first, *_) = against.compared(ours, [scan()] * 3, tolerance=TOLERANCE)

    assert first.value == 1
    assert first.note == "rounds 0.5..1.1; 0.4 / 0.4 x"


def test_figures_of_one_tree_alone_are_not_compared() -> None:
    names = [each.name for each in against.compared([scan(name="new")], [scan()], tolerance=TOLERANCE)]

    assert "new" not in names
    assert "points, p99" in names


@pytest.mark.parametrize(
    ("other_figures", "broken"), [(scan(), []), (None, ["scan"]), ([Figure("scan", "other", 1, goal=1)], ["scan"])]
)
def test_a_part_that_one_tree_cannot_measure_is_broken(
    monkeypatch: pytest.MonkeyPatch, other_figures: list[Figure] | None, broken: list[str]
) -> None:
    monkeypatch.setattr(against.Tree, "at", lambda directory, own: against.Tree(directory, own))
    monkeypatch.setattr(
        against, "turn", lambda _name, tree, _scale: scan() if tree.directory == ROOT else other_figures
    )

    found = against.measure(Path("/other"), {}, ["scan"], Scale.QUICK, tolerance=TOLERANCE)

    assert found[1] == broken


@pytest.mark.parametrize(("ratio", "code"), [(0.4, 0), (0.3, 1)])
def test_a_tree_that_is_worse_fails_the_command(monkeypatch: pytest.MonkeyPatch, ratio: float, code: int) -> None:
    monkeypatch.setenv(command.INSIDE, "1")
    monkeypatch.setattr(sys, "argv", ["bench", "--against", str(ROOT), "generate"])
    found = against.compared([scan(ratio=ratio)], [scan()], tolerance=TOLERANCE)
    monkeypatch.setattr(against, "measure", lambda *_, **__: (found, []))

    assert command.main() == code


@pytest.mark.slow
def test_a_tree_can_be_compared_with_itself(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    others = ("DATABASE_", "REDIS_", "CELERY_", "DATA_DIR", "DJANGO_SETTINGS_MODULE")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(others)}

    ended = subprocess.run(
        [sys.executable, "-m", "bench", "--against", ".", "--scale", "tiny", "scan", "--json", str(figures)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )

    assert ended.returncode == 0, f"{ended.stdout[-3000:]}\n{ended.stderr[-6000:]}"
    assert "scan / empty authenticated view" in {figure["name"] for figure in json.loads(figures.read_text())}
