"""Compares this tree with another: the same parts in the order A B B A, each tree with the same servers to itself.

Each tree is measured by its own benchmarks, because tables and modules may have other names there. A turn starts on
servers without databases, roles and keys, and its tree fills them as it does for itself.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import psycopg
import redis
from psycopg.sql import SQL, Identifier

from bench import harness, part
from bench.harness import DATABASE, PROJECT, Figure, Scale, say

# The sum of all programs' processor time counts, because one program may save what another spends.
COSTS = {
    "scan: processor time of ": "processor time of a scan",
    "platform pair: processor time of ": "processor time of a pair",
}
ENVIRONMENT_OF_TREE = "import json; from bench.__main__ import ENVIRONMENT; print(json.dumps(ENVIRONMENT))"
OTHER_DATABASES = "SELECT datname FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres'"
OTHER_ROLES = "SELECT rolname FROM pg_roles WHERE rolname NOT LIKE 'pg\\_%' AND rolname <> current_user"


@dataclass(frozen=True, slots=True)
class Tree:
    """A directory with a version of the platform, and the environment of its benchmarks' processes."""

    directory: Path
    environment: dict[str, str]

    @classmethod
    def at(cls, directory: Path, own: dict[str, str]) -> "Tree":
        """`own`: variables that this tree's benchmarks set; the other tree may use other names."""
        neutral = {name: text for name, text in os.environ.items() if name not in own}
        command = [python(directory), "-c", ENVIRONMENT_OF_TREE]
        output = subprocess.run(command, cwd=directory, env=neutral, check=True, capture_output=True, text=True).stdout
        return cls(directory, neutral | json.loads(output))


def python(directory: Path) -> str:
    """The tree's own interpreter, or ours if it has none."""
    own = directory / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def is_tree(directory: Path) -> bool:
    return (directory / "bench" / "part.py").exists()


def measure(
    directory: Path, own: dict[str, str], parts: Sequence[str], scale: Scale, *, tolerance: float
) -> tuple[list[Figure], list[str]]:
    """The ratios of this tree's figures to the other's, and the parts that could not be compared.

    `tolerance`: by how much this tree's may be worse.
    """
    trees = {"this tree": Tree.at(PROJECT, own), str(directory): Tree.at(directory.resolve(), own)}
    rounds = 1 if scale is Scale.TINY else 5
    results: list[Figure] = []
    broken = []
    for name in parts:
        turns: dict[str, list[list[Figure]]] = {tree: [] for tree in trees}
        for number, tree in enumerate(in_turns(list(trees), rounds)):
            say(f"== {name}, {tree}, round {number // 2 + 1} of {rounds}")
            if (figures := turn(name, trees[tree], scale)) is None:
                say(f"{name} could not be measured in {tree}")
                break
            turns[tree].append(figures)
        own_figures, other_figures = turns.values()
        complete = len(own_figures) == len(other_figures) == rounds
        ratios = (
            compared(own_figures, other_figures, tolerance=None if scale is Scale.TINY else tolerance)
            if complete
            else []
        )
        results += ratios
        if not complete:
            broken.append(name)
        elif scale is not Scale.TINY and all(ratio.goal is None for ratio in ratios):
            say(f"{name}: the trees have no figure in common that counts")
            broken.append(name)
    return results, broken


def in_turns(trees: Sequence[str], rounds: int) -> Iterator[str]:
    """In the order A B B A, so that other load on the machine affects both alike."""
    for number in range(rounds):
        yield from trees if number % 2 == 0 else reversed(trees)


def turn(name: str, tree: Tree, scale: Scale) -> list[Figure] | None:
    """A part's figures, or None if it cannot be measured."""
    data = Path(os.environ["DATA_DIR"])
    before = set(data.iterdir())
    file = data / "figures.json"
    command = [python(tree.directory), "-m", "bench.part", name, str(file), *part.options(scale)]
    try:
        clear_servers(data / "run")
        failed = subprocess.call(command, cwd=tree.directory, env=tree.environment)
        return None if failed else harness.load(file)
    finally:
        for left in set(data.iterdir()) - before:
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def clear_servers(sockets: Path) -> None:
    """Reset the servers to their initial state, so that one tree's data cannot affect the other."""
    with psycopg.connect(host=str(sockets), user=DATABASE, dbname="postgres", autocommit=True) as connection:
        for (name,) in connection.execute(OTHER_DATABASES).fetchall():
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
        for (name,) in connection.execute(OTHER_ROLES).fetchall():
            connection.execute(SQL("DROP ROLE {}").format(Identifier(name)))
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(DATABASE)))
        connection.execute("CHECKPOINT")
    redis.Redis.from_url(f"unix://{sockets}/valkey.sock").flushall()


def compared(
    own_figures: Sequence[list[Figure]], other_figures: Sequence[list[Figure]], *, tolerance: float | None
) -> list[Figure]:
    """Each figure that both trees have as a ratio, ours / theirs: the median of the rounds, with its spread.

    Figures that count have a goal: with a `tolerance`, ours may be worse by that much. Zeros are skipped.
    """
    rounds = [(by_name(our), by_name(their)) for our, their in zip(own_figures, other_figures, strict=True)]
    figures = []
    for figure in by_name(own_figures[0]).values():
        if all(figure.name in our and figure.name in their for our, their in rounds):
            own, other = ([each[side][figure.name].value for each in rounds] for side in (0, 1))
            if all(other):
                figures.append(as_ratio(figure, own, other, tolerance=tolerance))
    return figures


def by_name(figures: Sequence[Figure]) -> dict[str, Figure]:
    """The figures of a part, and the processor time of all programs together."""
    results = {figure.name: figure for figure in figures}
    for beginning, name in COSTS.items():
        spent = [figure.value for figure in figures if figure.name.startswith(beginning)]
        if spent:
            results[name] = Figure(figures[0].part, name, sum(spent), "us", at_least=False)
    return results


def as_ratio(figure: Figure, own: Sequence[float], other: Sequence[float], *, tolerance: float | None) -> Figure:
    goal = None
    if tolerance is not None and counts(figure):
        goal = 1 - tolerance if figure.at_least else 1 + tolerance
    results = harness.ratio(figure.part, figure.name, own, other, goal=goal, at_least=figure.at_least)
    return replace(results, note=f"{results.note}; {median(own):.4g} / {median(other):.4g} {figure.unit}".rstrip())


def counts(figure: Figure) -> bool:
    """Whether the figure is stable between two runs of the same tree: ratios, medians, processor time."""
    if figure.name in COSTS.values():
        return True
    return figure.goal is not None and (figure.unit == "x" or figure.name.endswith("p50"))
