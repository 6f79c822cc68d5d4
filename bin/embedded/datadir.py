"""DATA_DIR: its layout, which parts are ours, and which process has locked it."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
POINTER = ".data_dir"  # in the project; the settings read it
MARKER = ".made-by-bin-run"
POSTGRES_SOCKET = ".s.PGSQL.5432"
VALKEY_SOCKET = "valkey.sock"
SOCKET_PATH_BYTES = 107  # sun_path of unix(7) without its final NUL


class ServerError(Exception):
    """A reason not to start, as a message for the person who typed the command."""


def from_environment() -> Path:
    """$DATA_DIR, else `var` in the project: the settings use the same rule."""
    return Path(os.environ.get("DATA_DIR") or PROJECT / "var").expanduser().resolve()


@contextlib.contextmanager
def noted_for_manage(data_dir: Path, project: Path = PROJECT) -> Iterator[None]:
    """Let manage.py, called without DATA_DIR, find `data_dir` within the block. `var` is the default anyway."""
    note = project / POINTER
    if data_dir != project / "var":
        with contextlib.suppress(OSError):  # the project may not be writable: DATA_DIR must be set there
            note.write_text(f"{data_dir}\n")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if note.read_text().strip() == str(data_dir):  # else it belongs to another one that started later
                note.unlink()


def check_addressable(data_dir: Path) -> None:
    """Raise ServerError if clients cannot address the servers' sockets: it is too long, or has special characters."""
    if special := set(",%?#") & set(str(data_dir)):
        raise ServerError(f"DATA_DIR has a {special.pop()} in it, which means something else in an address: {data_dir}")
    room = SOCKET_PATH_BYTES - len(f"/run/{POSTGRES_SOCKET}")
    length = len(os.fsencode(data_dir))
    if length > room:
        message = (
            f"DATA_DIR is too long for a unix socket: {data_dir} has {length} bytes, {room} are possible. "
            "Set DATA_DIR to a shorter path, such as /var/lib/loyalty."
        )
        raise ServerError(message)


def is_ours(directory: Path) -> bool:
    """Whether we created `directory`, or may use it because it does not exist or is empty."""
    return not directory.exists() or (directory / MARKER).exists() or not any(directory.iterdir())


def check_ours(directory: Path) -> None:
    if not is_ours(directory):
        message = f"{directory} holds files that bin/run did not make. Nothing was touched: set DATA_DIR elsewhere."
        raise ServerError(message)


def make(directory: Path) -> Path:
    """Create `directory` with access for us only, or use one that is ours."""
    check_ours(directory)
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.stat().st_mode & 0o077:
        raise ServerError(f"{directory} is open to other accounts: chmod 700 it, or set DATA_DIR elsewhere.")
    mark(directory)
    return directory


def mark(directory: Path) -> None:
    marker = directory / MARKER
    if not marker.exists():
        marker.write_text("bin/run made this directory and may change what is in it.\n")


@contextlib.contextmanager
def locked(data_dir: Path) -> Iterator[None]:
    """Lock `data_dir` (which exists) for this process. Raises ServerError if another process has locked it."""
    # A lock on the directory leaves no file behind, and the kernel releases it however the process ends.
    handle = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = (
                f"The servers already run on {data_dir}, started by another bin/run or bin/servers.py. "
                "Stop that one first, or set DATA_DIR (and PORT) for a second installation."
            )
            raise ServerError(message) from None
        yield
    finally:
        os.close(handle)


def check_unlocked(data_dir: Path) -> None:
    """Raise ServerError if another process has locked `data_dir`."""
    if data_dir.is_dir():
        with locked(data_dir):
            pass


def open_log(data_dir: Path, name: str) -> int:
    """A new log of this start as a file descriptor for a child; the previous start's log is kept as NAME.log.1."""
    log = log_path(data_dir, name)
    if log.exists():
        log.replace(log.with_suffix(".log.1"))
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def log_path(data_dir: Path, name: str) -> Path:
    return data_dir / "log" / f"{name}.log"


def tail(log: Path, lines: int = 20) -> str:
    """The last `lines` of `log`, each indented."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return "".join(f"    {line}\n" for line in text.splitlines()[-lines:])
