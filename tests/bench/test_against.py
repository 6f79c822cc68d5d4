"""The comparison of two trees by the benchmarks: which figures count, and what fails it."""

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


def scan_figures(
    *, ratio: float = 0.4, web: float = 600, p99: float = 50, name: str = "scan / empty view"
) -> list[Figure]:
    """Figures of the part `scan`: a ratio that has to be high, processor times, and the time of the slowest calls."""
    return [
        Figure("scan", name, ratio, goal=0.35),
        Figure("scan", "scan: processor time of web", web, "us"),
        Figure("scan", "scan: processor time of postgres", 400, "us"),
        Figure("scan", "points, p99", p99, "ms", 100, at_least=False),
        Figure("scan", "refused", 0, "", 0, at_least=False),
    ]


def missed_figures(our_rounds: list[list[Figure]], other_rounds: list[list[Figure]]) -> list[str]:
    return [each.name for each in against.compared(our_rounds, other_rounds, tolerance=TOLERANCE) if each.is_missed]


def test_turns_alternate() -> None:
    assert "".join(against.in_turns("AB", 4)) == "ABBAABBA"


def test_tree_compared_with_itself_misses_nothing() -> None:
    compared_figures = against.compared([scan_figures()] * 3, [scan_figures()] * 3, tolerance=TOLERANCE)

    assert {figure.value for figure in compared_figures} == {1}
    assert [figure.name for figure in compared_figures if figure.goal] == [
        "scan / empty view",
        "processor time of a scan",
    ]
    assert not any(figure.is_missed for figure in compared_figures)


def test_figure_is_missed_only_if_worse_than_the_tolerance() -> None:
    assert missed_figures([scan_figures(ratio=0.389)], [scan_figures(ratio=0.4)]) == []
    assert missed_figures([scan_figures(ratio=0.387)], [scan_figures(ratio=0.4)]) == ["scan / empty view"]
    assert missed_figures([scan_figures(ratio=0.9)], [scan_figures(ratio=0.4)]) == []


def test_processor_time_is_compared_as_a_sum_over_programs() -> None:
    assert missed_figures([scan_figures(web=629)], [scan_figures(web=600)]) == []
    assert missed_figures([scan_figures(web=631)], [scan_figures(web=600)]) == ["processor time of a scan"]
    assert missed_figures([scan_figures(web=300)], [scan_figures(web=600)]) == []


def test_p99_is_shown_without_a_goal() -> None:
    (p99_figure,) = (
        each
        for each in against.compared([scan_figures(p99=90)], [scan_figures()], tolerance=TOLERANCE)
        if "p99" in each.name
    )

    assert (p99_figure.value, p99_figure.goal) == (1.8, None)


def test_median_of_the_rounds_counts_and_their_range_is_noted() -> None:
    our_rounds = [scan_figures(ratio=ratio) for ratio in (0.2, 0.4, 0.44)]

    (first, *_) = against.compared(our_rounds, [scan_figures()] * 3, tolerance=TOLERANCE)

    assert first.value == 1
    assert first.note == "rounds 0.5..1.1; 0.4 / 0.4 x"


def test_figures_of_only_one_tree_are_not_compared() -> None:
    names = [each.name for each in against.compared([scan_figures(name="new")], [scan_figures()], tolerance=TOLERANCE)]

    assert "new" not in names
    assert "points, p99" in names


@pytest.mark.parametrize(
    ("other_figures", "broken"),
    [(scan_figures(), []), (None, ["scan"]), ([Figure("scan", "other", 1, goal=1)], ["scan"])],
)
def test_part_that_one_tree_cannot_measure_is_broken(
    monkeypatch: pytest.MonkeyPatch, other_figures: list[Figure] | None, broken: list[str]
) -> None:
    monkeypatch.setattr(against.Tree, "at", lambda directory, own: against.Tree(directory, own))
    monkeypatch.setattr(
        against, "turn", lambda _name, tree, _scale: scan_figures() if tree.directory == ROOT else other_figures
    )

    measured = against.measure(Path("/other"), {}, ["scan"], Scale.QUICK, tolerance=TOLERANCE)

    assert measured[1] == broken


@pytest.mark.parametrize(("ratio", "code"), [(0.4, 0), (0.3, 1)])
def test_worse_tree_fails_the_command(monkeypatch: pytest.MonkeyPatch, ratio: float, code: int) -> None:
    monkeypatch.setenv(command.INSIDE, "1")
    monkeypatch.setattr(sys, "argv", ["bench", "--against", str(ROOT), "generate"])
    compared_figures = against.compared([scan_figures(ratio=ratio)], [scan_figures()], tolerance=TOLERANCE)
    monkeypatch.setattr(against, "measure", lambda *_, **__: (compared_figures, []))

    assert command.main() == code


@pytest.mark.slow
def test_command_compares_a_tree_with_itself(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    server_variables = ("DATABASE_", "REDIS_", "CELERY_", "DATA_DIR", "DJANGO_SETTINGS_MODULE")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(server_variables)}

    result = subprocess.run(
        [sys.executable, "-m", "bench", "--against", ".", "--scale", "tiny", "scan", "--json", str(figures)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )

    assert result.returncode == 0, f"{result.stdout[-3000:]}\n{result.stderr[-6000:]}"
    assert "scan / empty authenticated view" in {figure["name"] for figure in json.loads(figures.read_text())}
