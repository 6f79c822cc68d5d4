"""Child processes that cannot outlive us: how they are started, stopped and killed."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)


@dataclass(frozen=True)
class Identity:
    """The account of a process: our own, our own behind a wrapper command, or another account."""

    wrapper: tuple[str, ...] = ()
    uid: int | None = None
    gid: int | None = None

    def wrapper_for(self, death_signal: signal.Signals) -> list[str]:
        """The wrapper's arguments. A wrapper that changes the user clears the death signal, and has to set it again."""
        return [word.format(death_signal=death_signal.name.removeprefix("SIG")) for word in self.wrapper]

    def as_arguments(self) -> dict[str, Any]:
        """The arguments of subprocess that set the account."""
        return {} if self.uid is None else {"user": self.uid, "group": self.gid, "extra_groups": []}


OURSELVES = Identity()


def spawn(
    command: Sequence[str | Path],
    *,
    identity: Identity = OURSELVES,
    death_signal: signal.Signals = signal.SIGTERM,
    output: int | None = None,
    stdin: int | None = subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """Start `command` in its own session, so that Ctrl-C reaches only us and we choose the order of stopping.

    The kernel sends it `death_signal` if we die unexpectedly. `output` takes both its stdout and stderr.
    """
    return subprocess.Popen(
        [*identity.wrapper_for(death_signal), *command],
        **identity.as_arguments(),
        # Runs after the change of user, which would have cleared the death signal.
        preexec_fn=_die_with_parent(os.getpid(), death_signal),  # noqa: PLW1509 - we have no threads
        start_new_session=True,
        stdin=stdin,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        env=env,
        cwd=cwd,
    )


def _die_with_parent(parent: int, death_signal: signal.Signals) -> Callable[[], None]:
    def prepare() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, death_signal)
        if os.getppid() != parent:  # the parent died before the line above
            os._exit(1)

    return prepare


def stop(
    processes: Iterable["subprocess.Popen[bytes]"], *, stop_signal: int = signal.SIGTERM, seconds: float = 10
) -> None:
    """Send `stop_signal` to all, wait up to `seconds` in total, then kill the remaining processes of their groups."""
    processes = list(processes)
    for process in processes:
        if process.poll() is None:
            process.send_signal(stop_signal)
    deadline = time.monotonic() + seconds
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=max(0, deadline - time.monotonic()))
        signal_group(process, signal.SIGKILL)
        process.wait()


def signal_group(process: "subprocess.Popen[bytes]", signum: int) -> None:
    """Send `signum` to the process and its session's first process group, as a terminal does."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signum)


def adopt_orphans() -> None:
    """From now on, descendants whose parent died become our children, where `kill_children` finds them."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)


def kill_children(*, but: Iterable["subprocess.Popen[bytes]"]) -> None:
    """Kill every child, and the children they leave to us, except the processes `but`."""
    spared = {process.pid for process in but}
    while victims := set(_children()) - spared:
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> list[int]:
    ours = str(os.getpid())
    children = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended during the loop
            # "pid (name) state parent ...": the name may contain anything, even ") "
            parent = status.read_text().rpartition(")")[2].split()[1]
            if parent == ours:
                children.append(int(status.parent.name))
    return children


def raise_on_signals() -> None:
    """Let the first SIGINT, SIGTERM or SIGHUP raise KeyboardInterrupt; later ones cannot interrupt the shutdown."""

    def interrupt(_signum: int) -> None:
        ignore_signals()
        raise KeyboardInterrupt

    on_signals(interrupt)


def ignore_signals() -> None:
    on_signals(lambda _signum: None)


def on_signals(act: Callable[[int], None]) -> None:
    # Set even if we inherited "ignore", as shells set it for SIGINT of background jobs.
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda received, _frame: act(received))
