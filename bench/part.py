"""Runs one benchmark in a process of its own: `python -m bench.part NAME FILE [--quick]`, beside running servers."""

import argparse
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from bench import harness
from bench.harness import Scale


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("file", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    harness.prepare()
    run(given.name, given.file, Scale.QUICK if given.quick else Scale.FULL)


def run(name: str, file: Path, scale: Scale) -> None:
    # Not before Django is set up: they import models.
    part = import_module(f"bench.{name}")
    figures = part.measure(scale)
    if scale is Scale.TINY:
        figures = [replace(figure, goal=None) for figure in figures]
    harness.save(figures, file)


if __name__ == "__main__":
    main()
