"""Measures the platform against its limits and peers, on servers of its own that are thrown away.

.venv/bin/python -m bench [--scale full | quick | tiny] [--json FILE] [part ...]
.venv/bin/python -m bench --against TREE [--tolerance PERCENT] [part ...]
"""

import argparse
import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from django.apps import apps
from django.db import connection
from django.test import Client
from django.urls import reverse

from bench import against, harness, part
from bench.harness import PROJECT, Figure, Scale, say

PARTS = ["scan", "pairs", "latency", "generate", "growth", "dashboard", "home", "lists", "imports", "exports", "prints"]
PARTS += ["searches", "expiry", "notifications", "wallets", "timing", "guard", "neighbours", "brand_api"]
PARTS += ["reference_imports", "member_imports", "rules", "programme", "segments", "replay", "members", "batches"]
LOADED = {"scan", "pairs"}  # load by wrk
INSIDE = "BENCH_INSIDE"
ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "bench.settings",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": str(PROJECT),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; without any, all of them")
    parser.add_argument(
        "--scale",
        type=Scale,
        default=Scale.FULL,
        metavar=" | ".join(Scale),
        help="quick: a fifth of the time, noisier; tiny: a few rows of everything, to see that it can be measured",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--against", type=Path, metavar="TREE", help="compare with another work tree, in turns")
    parser.add_argument(
        "--tolerance", type=float, default=3, metavar="PERCENT", help="by how much this tree may be worse: %(default)s"
    )
    parser.add_argument("--rules", type=int, metavar="COUNT", help="active earning rules of the brand that is measured")
    arguments = parser.parse_args()
    if arguments.rules:
        os.environ[harness.RULES] = str(arguments.rules)
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if arguments.against and not against.is_tree(arguments.against):
        parser.error(f"{arguments.against} is no work tree with benchmarks")
    parts, scale = arguments.parts or PARTS, arguments.scale
    if scale is not Scale.TINY and LOADED & set(parts) and shutil.which("wrk") is None:
        parser.error("wrk is missing: apt-get install wrk")
    if INSIDE not in os.environ:
        with throwaway() as data_dir:
            return run_with_servers(data_dir, durable=scale is not Scale.TINY)
    if arguments.against:
        figures, broken = against.measure(
            arguments.against, ENVIRONMENT, parts, scale, tolerance=arguments.tolerance / 100
        )
    else:
        figures, broken = measure(parts, scale)
    report(figures, broken)
    if arguments.json:
        harness.save(figures, arguments.json)
    # Goals depend on the machine, so a missed one is no failure. A comparison ran on the same machine.
    worse = arguments.against and any(figure.is_missed for figure in figures)
    return 1 if broken or worse else 0


@contextlib.contextmanager
def throwaway() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="loyalty-bench-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def run_with_servers(directory: Path, *, durable: bool) -> int:
    """Run this command again with new servers. Without fsync the figures would differ."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("DATABASE_", "REDIS_"))}
    environment |= ENVIRONMENT | {INSIDE: "1", "SECRET_KEY": secrets.token_urlsafe(48)}
    servers = [sys.executable, PROJECT / "bin" / "servers.py", "exec"]
    servers += ["--data", directory / "data"] if durable else ["--throwaway"]
    return subprocess.call([*servers, "--", sys.executable, "-m", "bench", *sys.argv[1:]], env=environment)


def measure(parts: Sequence[str], scale: Scale) -> tuple[list[Figure], list[str]]:
    """The figures of each part, measured in its own process, and the parts that could not be measured."""
    figures: list[Figure] = []
    broken = []
    for name in parts:
        say(f"== {name}")
        began = time.monotonic()
        file = harness.data_dir() / f"{name}.json"
        if (forked if scale is Scale.TINY else called)(name, file, scale):
            broken.append(name)
        else:
            figures += harness.load(file)
        say(f"   {time.monotonic() - began:.0f} s")
    return figures, broken


def report(figures: Sequence[Figure], broken: Sequence[str]) -> None:
    """Print everything in one table."""
    say("")
    for figure in figures:
        say(figure.line)
    for name in broken:
        say(f"{name:9} could not be measured, see above")


def called(name: str, file: Path, scale: Scale) -> int:
    return subprocess.call([sys.executable, "-m", "bench.part", name, str(file), *part.options(scale)])


def forked(name: str, file: Path, scale: Scale) -> int:
    """The same in a fork of this process, so that Django and what its pages need are loaded once for all parts."""
    if not apps.ready:
        harness.prepare()
        Client(SERVER_NAME="localhost").get(reverse("admin:login"), secure=True)
        connection.close()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            part.run(name, file, scale)
            code = 0
        except BaseException:  # noqa: BLE001 - the process ends here in any case
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
