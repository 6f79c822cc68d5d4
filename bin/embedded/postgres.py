"""The embedded PostgreSQL: makes its cluster once, clears up after a crash, starts it."""

import contextlib
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

from embedded import datadir
from embedded.datadir import ServerError
from embedded.server import Home, Server, await_orphans

MAJOR = "18"
NAME = "loyalty"  # of the database and of its superuser

SETTINGS = {
    "port": "5432",
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "shared_buffers": "128MB",
    "max_connections": "100",
    # In a file of the cluster: /dev/shm is no place of ours, and containers make it too small.
    "dynamic_shared_memory_type": "mmap",
}
# A crash of the machine then costs the data, a crash of the server does not.
THROWAWAY_SETTINGS = {"fsync": "off", "full_page_writes": "off"}


def refuse_foreign(data_dir: Path) -> None:
    """Raise ServerError where the cluster is of another major version, or nothing that we made."""
    cluster = data_dir / "postgres"
    version = cluster / "PG_VERSION"
    if datadir.is_ours(cluster) and version.exists() and (found := version.read_text().strip()) != MAJOR:
        message = (
            f"{cluster} belongs to PostgreSQL {found}; this release runs PostgreSQL {MAJOR}. Nothing was touched: dump "
            "it with the release that made it and load the dump here, or set DATA_DIR elsewhere."
        )
        raise ServerError(message)
    datadir.refuse_foreign(cluster)


def start(home: Home) -> Server:
    """Start it on `home`, with a new cluster the first time. Raises ServerError."""
    cluster = home.data_dir / "postgres"
    if not (cluster / "PG_VERSION").exists():
        _make(cluster, home)
    await_orphans("postgres", cluster)
    _forget_dead(cluster, home.run)
    settings = {**SETTINGS, **({} if home.durable else THROWAWAY_SETTINGS), "unix_socket_directories": str(home.run)}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    # SIGINT asks for a fast shutdown: sessions are cut, everything is written.
    command: list[str | Path] = [_program(home, "postgres"), "-D", cluster, *options]
    server = home.start("postgres", command, stop_signal=signal.SIGINT)
    server.await_ready(lambda: _is_ready(cluster, server.process.pid))
    return replace(server, start_again=lambda: start(home))


def _program(home: Home, name: str) -> Path:
    return home.programs.postgres / "bin" / name


def _make(cluster: Path, home: Home) -> None:
    """A cluster with our superuser and database; it gets its name only when it is complete."""
    unfinished = home.run / "new-cluster"
    shutil.rmtree(unfinished, ignore_errors=True)
    # Collation built into PostgreSQL: an upgrade of the system's libc cannot corrupt indexes on text.
    locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    access = [f"--username={NAME}", "--auth-local=trust", "--auth-host=reject"]
    speed = [] if home.durable else ["--no-sync"]
    home.call(home.programs.initdb, "-D", unfinished, *locale, *access, *speed)
    single_user = _program(home, "postgres"), "--single", "-D", unfinished, "template1"
    home.call(*single_user, stdin=f"CREATE DATABASE {NAME};\n")
    datadir.mark(unfinished)
    unfinished.rename(cluster)


def _forget_dead(cluster: Path, run: Path) -> None:
    """Take away what makes PostgreSQL believe that a server we know to be gone still runs.

    It believes the process number in its lock files, which after a reboot, and in a container at every start, may
    belong to anything.
    """
    for name in (datadir.POSTGRES_SOCKET, f"{datadir.POSTGRES_SOCKET}.lock"):
        (run / name).unlink(missing_ok=True)
    lock = cluster / "postmaster.pid"
    lines = lock.read_text().splitlines() if lock.exists() else []
    if lock.exists() and not lines:
        lock.unlink()
    elif lines and Path(f"/proc/{lines[0]}").exists():
        # Not removed, because PostgreSQL still reads from it the shared memory that a dying session may use. A lock
        # that names its parent it takes for dead.
        lock.write_text("\n".join([str(os.getpid()), *lines[1:], ""]))


def _is_ready(cluster: Path, pid: int) -> bool:
    # Line 1 is the process, line 8 its state: what pg_ctl reads too.
    with contextlib.suppress(OSError, IndexError):
        lines = (cluster / "postmaster.pid").read_text().splitlines()
        return lines[0] == str(pid) and lines[7].strip() == "ready"
    return False
