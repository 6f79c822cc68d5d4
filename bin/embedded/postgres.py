"""The embedded PostgreSQL: creates its cluster once, cleans up after a crash, starts it."""

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
    # In a file of the cluster: /dev/shm is outside our directory, and too small in containers.
    "dynamic_shared_memory_type": "mmap",
}
# A crash of the machine then loses the data, a crash of the server does not.
THROWAWAY_SETTINGS = {"fsync": "off", "full_page_writes": "off"}


def check_ours(data_dir: Path) -> None:
    """Raise ServerError if the cluster has another major version, or is not ours."""
    cluster = data_dir / "postgres"
    version = cluster / "PG_VERSION"
    if datadir.is_ours(cluster) and version.exists() and (stored := version.read_text().strip()) != MAJOR:
        message = (
            f"{cluster} belongs to PostgreSQL {stored}; this release runs PostgreSQL {MAJOR}. Nothing was touched: "
            "dump it with the release that made it and load the dump here, or set DATA_DIR elsewhere."
        )
        raise ServerError(message)
    datadir.check_ours(cluster)


def start(home: Home) -> Server:
    """Start it on `home`, with a new cluster the first time. Raises ServerError."""
    cluster = home.data_dir / "postgres"
    if not (cluster / "PG_VERSION").exists():
        _make(cluster, home)
    await_orphans("postgres", cluster)
    _remove_stale_locks(cluster, home.run)
    settings = {**SETTINGS, **({} if home.durable else THROWAWAY_SETTINGS), "unix_socket_directories": str(home.run)}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    # SIGINT requests a fast shutdown: sessions are closed, everything is written.
    command: list[str | Path] = [_program(home, "postgres"), "-D", cluster, *options]
    server = home.start("postgres", command, stop_signal=signal.SIGINT)
    server.await_ready(lambda: _is_ready(cluster, server.process.pid))
    return replace(server, start_again=lambda: start(home))


def _program(home: Home, name: str) -> Path:
    return home.programs.postgres / "bin" / name


def _make(cluster: Path, home: Home) -> None:
    """Create a cluster with our superuser and database. It gets its final name only when it is complete."""
    unfinished = home.run / "new-cluster"
    shutil.rmtree(unfinished, ignore_errors=True)
    # PostgreSQL's built-in collation: an upgrade of the system's libc cannot corrupt indexes on text.
    locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    access = [f"--username={NAME}", "--auth-local=trust", "--auth-host=reject"]
    speed = [] if home.durable else ["--no-sync"]
    home.call(home.programs.initdb, "-D", unfinished, *locale, *access, *speed)
    single_user = _program(home, "postgres"), "--single", "-D", unfinished, "template1"
    home.call(*single_user, stdin=f"CREATE DATABASE {NAME};\n")
    datadir.mark(unfinished)
    unfinished.rename(cluster)


def _remove_stale_locks(cluster: Path, run: Path) -> None:
    """Remove the files that make PostgreSQL believe that a stopped server is still running.

    It trusts the process id in its lock files. After a reboot, and in a container at every start, that id may belong
    to any process.
    """
    for name in (datadir.POSTGRES_SOCKET, f"{datadir.POSTGRES_SOCKET}.lock"):
        (run / name).unlink(missing_ok=True)
    lock = cluster / "postmaster.pid"
    lines = lock.read_text().splitlines() if lock.exists() else []
    if lock.exists() and not lines:
        lock.unlink()
    elif lines and Path(f"/proc/{lines[0]}").exists():
        # Not removed, because PostgreSQL still reads the shared memory from it that a dying session may use. A lock
        # that names its own parent counts as stale.
        lock.write_text("\n".join([str(os.getpid()), *lines[1:], ""]))


def _is_ready(cluster: Path, pid: int) -> bool:
    # Line 1 is the process, line 8 its state, as pg_ctl reads them.
    with contextlib.suppress(OSError, IndexError):
        lines = (cluster / "postmaster.pid").read_text().splitlines()
        return lines[0] == str(pid) and lines[7].strip() == "ready"
    return False
