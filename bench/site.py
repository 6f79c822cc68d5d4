"""Runs the platform as shipped for a benchmark: web, worker and beat, and measures their processor time."""

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from bench import processor
from bench.harness import PROJECT, Scale

sys.path.insert(0, str(PROJECT / "bin"))

import launcher
from embedded import processes
from embedded.server import Server, wait_until

WORKER_PROCESSES = 2
STOP_SECONDS = 10


def free_port() -> int:
    """A port for this run only: web servers share a port silently, even with another benchmark's."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


PORT = free_port()


def shipped() -> launcher.Site:
    return launcher.Site("127.0.0.1", PORT, Path(os.environ["DATA_DIR"]))


def commands(scale: Scale, *needed: str) -> dict[str, list[str]]:
    """As in bin/run, except for the number of processes that credit points.

    At the tiny scale only the `needed` ones, with one web process: each takes seconds to load the platform.
    """
    by_name = launcher.commands(shipped())
    worker, web = by_name["worker"], by_name["web"]
    worker[worker.index("--concurrency") + 1] = str(WORKER_PROCESSES)
    if scale is not Scale.TINY:
        return by_name
    web[web.index("--workers") + 1] = "1"
    return {name: by_name[name] for name in needed}


def stock_worker() -> dict[str, list[str]]:
    text = f"celery -A config worker -Q bench -n stock@%h --concurrency {WORKER_PROCESSES} --loglevel warning"
    return {"stock-worker": text.split()}


@contextlib.contextmanager
def running(
    programs: dict[str, list[str]], scale: Scale, *, settings: str = "bench.settings"
) -> Iterator[dict[str, Server]]:
    """Start `programs` (python -m ...); if one is the web server, return once it answers."""
    site = shipped()
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": settings, "PYTHONUNBUFFERED": "1"}
    started: dict[str, Server] = {}
    try:
        for name, command in programs.items():
            program = [sys.executable, "-m", *command]
            started[name] = Server.start(name, program, data_dir=site.data_dir, env=environment, cwd=PROJECT)
        if "web" in started and not wait_until(lambda: launcher.answers(site), 180):
            message = f"the web does not answer. {started['web'].log_tail()}"
            raise RuntimeError(message)
        for name, server in started.items():
            if name.endswith("worker"):
                await_output(server, " ready.")
        yield started
    finally:
        seconds = 0 if scale is Scale.TINY else STOP_SECONDS
        processes.stop([server.process for server in started.values()], seconds=seconds)


def await_output(server: Server, text: str) -> None:
    wait_until(lambda: text in server.log.read_text() or not server.is_alive(), 120)
    if not server.is_alive():
        raise RuntimeError(server.log_tail())


def seconds(programs: dict[str, Server], name: str) -> float:
    """Processor time used so far by one of `programs`, by "postgres" or by "valkey"."""
    return processor.seconds(programs[name].process.pid if name in programs else _pid(name))


def _pid(server: str) -> int:
    """The main process of an embedded server, a child of the process that started everything."""
    children = processor.children()[processor.root()]
    for pid in children:
        with contextlib.suppress(OSError):  # it ended during the loop
            if Path(f"/proc/{pid}/cwd").readlink().name == server:
                return pid
    raise RuntimeError(f"{server} is not running")
