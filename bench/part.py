"""Runs one benchmark in a process of its own: `python -m bench.part NAME FILE [--quick]`, beside running servers."""

import argparse
from importlib import import_module
from pathlib import Path

from bench import harness


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("file", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    harness.prepare()
    # Not before Django is set up: they import models.
    part = import_module(f"bench.{given.name}")
    harness.save(part.measure(quick=given.quick), given.file)


if __name__ == "__main__":
    main()
