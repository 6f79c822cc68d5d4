"""The common part of all benchmarks: a database with tables, interleaved rounds, figures with their goals."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import django
from django.core.management import call_command
from django.db import connection

from bench import processor
from config.serving import start_up

T = TypeVar("T")

PROJECT = Path(__file__).resolve().parent.parent
DATABASE = "loyalty"
EMPTY = "loyalty_empty"  # a template database with the tables as migrations create them
# In the environment: the number of active earning rules of the measured brand, from `--rules`.
RULES = "BENCH_RULES"
# A checkpoint must not affect one side's round and spare the other's.
SERVER_SETTINGS = {"max_wal_size": "16GB", "checkpoint_timeout": "1h"}


class Scale(StrEnum):
    """How much a part does. TINY only shows that it can be measured: its figures mean nothing."""

    FULL = "full"
    QUICK = "quick"
    TINY = "tiny"

    def pick(self, full: T, quick: T, tiny: T) -> T:
        return {Scale.FULL: full, Scale.QUICK: quick, Scale.TINY: tiny}[self]


@dataclass(frozen=True, slots=True)
class Figure:
    """One result. `goal` is the minimum (`at_least`) or maximum of `value`; None means that it is for orientation."""

    part: str
    name: str
    value: float
    unit: str = "x"
    goal: float | None = None
    at_least: bool = True
    note: str = ""

    @property
    def is_missed(self) -> bool:
        if self.goal is None:
            return False
        return not (self.value >= self.goal if self.at_least else self.value <= self.goal)

    @property
    def outcome(self) -> str:
        if self.goal is None:
            return ""
        sign = ">=" if self.at_least else "<="
        return f"{'MISSED' if self.is_missed else 'met   '} (goal {sign} {self.goal:g})"

    @property
    def line(self) -> str:
        return f"{self.part:9} {self.name:52} {self.value:>9.4g} {self.unit:5} {self.outcome:25} {self.note}".rstrip()


def say(text: str) -> None:
    print(text, flush=True)


def prepare() -> None:
    """Load Django; the first time, also create the new database's tables."""
    django.setup()
    connection.settings_dict["ROLES"] = DATABASE  # of all databases that are created from this one
    ready = data_dir() / "ready"
    if not ready.exists():
        with connection.as_owner(), connection.cursor() as cursor:
            for name, value in SERVER_SETTINGS.items():
                cursor.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            cursor.execute("SELECT pg_reload_conf()")
        call_command("migrate", verbosity=0)
        connection.close()
        connection.settings_dict["NAME"] = "postgres"
        with connection.as_owner(), connection.cursor() as cursor:
            cursor.execute(f'CREATE DATABASE {EMPTY} TEMPLATE "{DATABASE}"')
        connection.close()
        connection.settings_dict["NAME"] = DATABASE
        ready.touch()
    start_up.load_pages()


def data_dir() -> Path:
    """The directory for data that benchmarks share."""
    directory = Path(os.environ["DATA_DIR"]) / "bench"
    directory.mkdir(exist_ok=True)
    return directory


def save(figures: Sequence[Figure], file: Path) -> None:
    file.write_text(json.dumps([{**asdict(figure), "outcome": figure.outcome} for figure in figures], indent=1))


def load(file: Path) -> list[Figure]:
    """Unknown entries are ignored, because the other tree may be older."""
    names = {field.name for field in fields(Figure)}
    entries = json.loads(file.read_text())
    return [Figure(**{name: value for name, value in entry.items() if name in names}) for entry in entries]


def interleaved(part: str, rounds: int, ways: Mapping[str, Callable[[], Any]]) -> tuple[dict[str, list[Any]], Figure]:
    """Run each way once per round, in reverse order every other round, so that other load affects all alike.

    Returns each way's results, and how much of the machine other processes used.
    """
    results: dict[str, list[Any]] = {name: [] for name in ways}
    shares = []
    for number in range(rounds):
        for name in ways if number % 2 == 0 else reversed(ways):
            with processor.watched() as load:
                results[name].append(ways[name]())
            shares.append(load.share * 100)
            say(f"  round {number + 1} of {rounds}: {name}: {results[name][-1]} (others used {load.share:.0%})")
    return results, other_load_figure(part, shares)


def other_load_figure(part: str, percent: Sequence[float]) -> Figure:
    """If other processes use more than a few percent, figures are unreliable; ratios suffer least."""
    note = "" if median(percent) < 10 else "not quiet: measure again"
    return Figure(
        part, "of the machine taken by others", median(percent), "%", note=f"{spread(percent)} {note}".strip()
    )


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Ratios by round, because only adjacent runs are comparable."""
    return [one / other for one, other in zip(above, below, strict=True)]


def spread(values: Sequence[float]) -> str:
    return f"{min(values):.3g}..{max(values):.3g}"


def ratio(part: str, name: str, above: Sequence[float], below: Sequence[float], **goal: Any) -> Figure:
    """The median of the rounds' ratios, with their spread as its note."""
    results = ratios(above, below)
    return Figure(part, name, median(results), note=f"rounds {spread(results)}", **goal)


def orientation(part: str, name: str, values: Sequence[float], unit: str) -> Figure:
    return Figure(part, name, median(values), unit, note=f"rounds {spread(values)}")
