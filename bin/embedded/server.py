"""A long-running program: started under the right account with a log, awaited, stopped."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from embedded import datadir, processes
from embedded.datadir import ServerError
from embedded.identity import Programs
from embedded.processes import OURSELVES, Identity

START_SECONDS = 120  # including the replay of the log after a crash
ORPHAN_SECONDS = 20
# The servers see neither our secrets nor PG* variables, which would override our settings.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True)
class Server:
    """A program that runs until it is stopped, and its log."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path
    stop_signal: signal.Signals
    # Starts a replacement. Raises ServerError.
    start_again: "Callable[[], Server] | None" = field(default=None, compare=False)

    @classmethod
    def start(
        cls,
        name: str,
        command: Sequence[str | Path],
        *,
        data_dir: Path,
        env: Mapping[str, str],
        cwd: Path,
        stop_signal: signal.Signals = signal.SIGTERM,
        identity: Identity = OURSELVES,
    ) -> "Server":
        """Start `command` with a new log in `data_dir`; the kernel sends it `stop_signal` if we die."""
        output = datadir.open_log(data_dir, name)
        try:
            process = processes.spawn(
                command, identity=identity, death_signal=stop_signal, output=output, env=env, cwd=cwd
            )
        finally:
            os.close(output)
        return cls(name, process, datadir.log_path(data_dir, name), stop_signal)

    def await_ready(self, is_ready: Callable[[], bool]) -> None:
        """Return once `is_ready`. Otherwise stop the program and raise ServerError with the end of the log."""
        try:
            if wait_until(lambda: not self.is_alive() or is_ready(), START_SECONDS) and self.is_alive():
                return
        except KeyboardInterrupt:
            self.stop()
            raise
        self.stop()
        raise ServerError(f"{self.name} does not start. {self.log_tail()}")

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        processes.stop([self.process], stop_signal=self.stop_signal, seconds=30)

    def log_tail(self) -> str:
        return f"The end of {self.log}:\n{datadir.tail(self.log)}"


@dataclass(frozen=True)
class Home:
    """A DATA_DIR with the account and the binaries of its servers."""

    data_dir: Path
    identity: Identity
    programs: Programs
    durable: bool = True

    @property
    def run(self) -> Path:
        return self.data_dir / "run"

    def start(self, name: str, command: Sequence[str | Path], *, stop_signal: signal.Signals) -> Server:
        return Server.start(
            name,
            command,
            data_dir=self.data_dir,
            env=ENVIRONMENT,
            cwd=Path("/"),
            stop_signal=stop_signal,
            identity=self.identity,
        )

    def call(self, *command: str | Path, stdin: str = "") -> None:
        """Run a tool of the servers to its end. Raises ServerError with its output if it fails."""
        tool = processes.spawn(
            command,
            identity=self.identity,
            death_signal=signal.SIGKILL,
            output=subprocess.PIPE,
            stdin=subprocess.PIPE,
            env=ENVIRONMENT,
            cwd=Path("/"),
        )
        try:
            output, _ = tool.communicate(stdin.encode())
        finally:
            processes.signal_group(tool, signal.SIGKILL)
        if tool.returncode:
            raise ServerError(f"{Path(command[0]).name} failed:\n{output.decode(errors='replace')}")


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def await_orphans(program: str, directory: Path) -> None:
    """Wait for servers that a killed launcher left on `directory`: they were signalled to stop, but need time.

    Raises ServerError if one stays.
    """
    if not wait_until(lambda: not _running_in(program, directory), ORPHAN_SECONDS):
        pids = " ".join(map(str, _running_in(program, directory)))
        raise ServerError(f"{program} still runs on {directory} (process {pids}). Stop it first: kill {pids}")


def _running_in(program: str, directory: Path) -> list[int]:
    """The processes of `program` whose working directory, a server's data directory, is `directory`."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended during the loop, or is not ours
            program_name = (process / "exe").readlink().name
            if program_name == program and (process / "cwd").readlink() == directory:
                pids.append(int(process.name))
    return pids
