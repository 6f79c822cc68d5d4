"""Runs one benchmark in its own process, next to running servers: `python -m bench.part NAME FILE [--quick]`."""

import argparse
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from bench import harness
from bench.harness import PROJECT, Scale


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("file", type=Path)
    for scale in Scale:
        parser.add_argument(f"--{scale}", dest="scale", action="store_const", const=scale)
    parser.set_defaults(scale=Scale.FULL)
    arguments = parser.parse_args()
    harness.prepare()
    run(arguments.name, arguments.file, arguments.scale)


def options(scale: Scale) -> list[str]:
    """Options that older trees know, too, for `python -m bench --against`."""
    return [] if scale is Scale.FULL else [f"--{scale}"]


def module_of(name: str) -> str:
    """The module of a part, below bench/parts."""
    path = next((PROJECT / "bench" / "parts").rglob(f"{name}.py"))
    return ".".join(path.relative_to(PROJECT).with_suffix("").parts)


def run(name: str, file: Path, scale: Scale) -> None:
    # Imported after Django is set up, because parts import models.
    part = import_module(module_of(name))
    figures = part.measure(scale)
    if scale is Scale.TINY:
        figures = [replace(figure, goal=None) for figure in figures]
    harness.save(figures, file)


if __name__ == "__main__":
    main()
