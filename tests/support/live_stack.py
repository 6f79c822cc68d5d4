"""A real installation on the test database: web and worker run as separate processes, driven over HTTP."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.db import connection

from tests.support.machinery.log_watch import secrets_in

ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 60
QUEUES = "events,work,outgoing,regular"
RATES = {
    **dict.fromkeys(["scan", "login", "login_address"], "100000/minute"),
    **dict.fromkeys([f"plain_codes{end}" for end in ("", "_day", "_near", "_network", "_network_near")], "100000/day"),
}


def database_url() -> str:
    """The test database, as another process names it."""
    entry = connection.settings_dict
    login = entry["USER"] + (f":{entry['PASSWORD']}" if entry["PASSWORD"] else "")
    if entry["HOST"].startswith("/"):
        return f"postgres://{login}@/{entry['NAME']}?host={entry['HOST']}"
    return f"postgres://{login}@{entry['HOST']}:{entry['PORT'] or 5432}/{entry['NAME']}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# httpx reads the system's certificates for each call, which takes longer than the call; nothing here speaks TLS.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def wait_until(condition: Callable[[], Any], *, seconds: float = WAIT_SECONDS) -> Any:
    """The first true result of `condition`; fails if there is none in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.02)
    raise AssertionError("it did not become true in time")


@dataclass
class Stack:
    """Processes over one database and Redis; `log` has their output."""

    log: Path
    redis_url: str
    settings: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)  # settings that no variable sets
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    port: int = field(default_factory=free_port)
    directory: Path = ROOT

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        """The environment of its processes, and of commands next to them."""
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DATABASE_URL": database_url(),
            "REDIS_URL": self.redis_url,
            "SECRET_KEY": settings.SECRET_KEY,
            "ALLOWED_HOSTS": "127.0.0.1,localhost",
            "HTTPS": "0",
            "RATE_LIMITS": ",".join(f"{name}={rate}" for name, rate in RATES.items()),
            "CODE_TAG_SECRETS": f"1:{settings.SECRET_KEY}",
            "STORAGE_SECRETS": f"1:{settings.SECRET_KEY}",
            "TEST_SETTINGS": json.dumps(self.constants),
            **self.settings,
        }

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=self.directory,
                env=self.environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def start_web(self, *, workers: int = 2, fair: bool = True) -> None:
        """Start the web as it is shipped. Without `fair` requests have no classes, and threads serve them in order."""
        self.constants["FAIR_SHARES"] = fair
        address = [
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--workers",
            str(workers),
            *(("--blocking-threads", "512", "--backpressure", "512") if fair else ("--blocking-threads", "2")),
        ]
        self.start("granian", "--interface", "wsgi", "config.wsgi:application", *address, "--no-ws")
        wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz", verify=NO_TLS).status_code == 200
        except httpx.TransportError:
            return False

    def start_worker(
        self, *, concurrency: int = 2, beat: bool = True, name: str = "celery@%h", queues: str = QUEUES
    ) -> subprocess.Popen[bytes]:
        """Start a worker, by default with its beat, so that one process group handles all events."""
        ready_count = self.log.read_bytes().count(b" ready.") if self.log.exists() else 0
        with_beat = ["-B", "-s", str(self.log.with_suffix(".beat"))] if beat else []
        options = [*with_beat, "-n", name, "-Q", queues, "--concurrency", str(concurrency), "--loglevel", "INFO"]
        worker = self.start("celery", "-A", "config", "worker", *options)
        wait_until(lambda: self.log.read_bytes().count(b" ready.") > ready_count)
        return worker

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process and all its children with -9, so that none of them can clean up."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.processes.remove(process)

    def stop(self) -> None:
        for process in self.processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.processes.clear()
        if self.log.exists():
            assert secrets_in(self.log.read_text(errors="replace")) == []
