"""Runs the embedded PostgreSQL and Valkey on private sockets, with all their files under one DATA_DIR.

    python bin/servers.py exec --data DIR -- COMMAND...    run COMMAND beside the servers, return its exit code
    python bin/servers.py exec --throwaway -- COMMAND...   the same on a new directory that is removed afterwards
    python bin/servers.py exec --throwaway --template DIR -- COMMAND...   ... that begins as a copy of DIR

A server that DATABASE_URL or REDIS_URL names is not started. DIR is $DATA_DIR, else `var` in the project.
"""

import argparse
import contextlib
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from embedded import datadir, postgres, processes, valkey
from embedded.datadir import ServerError
from embedded.identity import Programs, choose
from embedded.server import Home, Server


@contextlib.contextmanager
def running(
    data_dir: Path, *, durable: bool = True, with_postgres: bool = True, with_valkey: bool = True
) -> Iterator[list[Server]]:
    """Run both servers, or the selected ones, on `data_dir`, which is locked until they are stopped at the end.

    A caller that restarts one replaces it in the list.

    Without `durable` there is no fsync, for data that may be lost. Raises ServerError, and then touches nothing that
    it did not create.
    """
    data_dir = data_dir.expanduser().resolve()
    check_can_start(data_dir, with_postgres=with_postgres, with_valkey=with_valkey)
    made_now = not data_dir.exists()
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with datadir.locked(data_dir), contextlib.ExitStack() as started:
        datadir.make(data_dir / "run")
        datadir.make(data_dir / "log")
        servers: list[Server] = []
        if with_valkey:
            datadir.make(data_dir / "valkey")
        if with_postgres or with_valkey:
            programs = Programs.installed()
            home = Home(data_dir, choose(data_dir, programs, made_now=made_now), programs, durable)
            for is_requested, start in ((with_postgres, postgres.start), (with_valkey, valkey.start)):
                if is_requested:
                    servers.append(start(home))
                    started.callback(_stop_at, servers, len(servers) - 1)
        yield servers


def _stop_at(servers: list[Server], place: int) -> None:
    servers[place].stop()


def check_can_start(data_dir: Path, *, with_postgres: bool, with_valkey: bool) -> None:
    """Raise ServerError for every reason not to use `data_dir` that can be found without changing anything."""
    datadir.check_unlocked(data_dir)
    for name in ("run", "log"):
        datadir.check_ours(data_dir / name)
    if with_postgres or with_valkey:
        datadir.check_addressable(data_dir)
    if with_postgres:
        postgres.check_ours(data_dir)
    if with_valkey:
        valkey.check_ours(data_dir)


def required_servers() -> dict[str, bool]:
    """The servers that the environment does not name, as arguments of `running`."""
    return {"with_postgres": not _names("DATABASE_URL"), "with_valkey": not _names("REDIS_URL")}


def _names(variable: str) -> bool:
    return bool(os.environ.get(variable) or os.environ.get(f"{variable}_FILE"))


def run_command(command: Sequence[str], environment: Mapping[str, str], started: Sequence[Server]) -> int:
    """Run `command`, forward signals to it, and leave none of its descendants behind. Returns a shell's exit code."""
    processes.adopt_orphans()
    early: list[int] = []
    processes.on_signals(early.append)
    try:
        child = processes.spawn(command, stdin=None, env=environment)
        processes.on_signals(lambda signum: processes.signal_group(child, signum))
        for signum in early:
            processes.signal_group(child, signum)
        code = child.wait()
    finally:
        processes.ignore_signals()
        processes.kill_children(but=[server.process for server in started])
    return code if code >= 0 else 128 - code


@contextlib.contextmanager
def throwaway(template: Path | None) -> Iterator[Path]:
    """A new DATA_DIR with a home/ and a tmp/ for the command's own files; removed at the end.

    With `template` it starts as a copy of that one, whose servers must not run. Raises ServerError.
    """
    # Short enough for a socket whatever TMPDIR is. The name is unpredictable, so nobody can create it first.
    data_dir = Path("/tmp") / f"loyalty-{secrets.token_hex(8)}"  # noqa: S108
    try:
        if template:
            copy_data(template, data_dir)
        yield data_dir
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)


def copy_data(template: Path, data_dir: Path) -> None:
    """Copy a DATA_DIR with its owners, because the servers run as them."""
    copied = subprocess.run(
        ["cp", "--archive", "--reflink=auto", "--", str(template), str(data_dir)],
        capture_output=True,
        text=True,
        check=False,
    )
    if copied.returncode:
        raise ServerError(f"{template} could not be copied: {copied.stderr.strip()}")


def execute(command: Sequence[str], *, data_dir: Path, durable: bool, private_home: bool) -> int:
    with running(data_dir, durable=durable, **required_servers()) as started:
        # So that `python` is the interpreter that runs this file.
        path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
        environment = {**os.environ, "PATH": path, "DATA_DIR": str(data_dir)}
        if private_home:
            for variable, name in (("HOME", "home"), ("TMPDIR", "tmp")):
                (data_dir / name).mkdir(exist_ok=True)
                environment[variable] = str(data_dir / name)
        return run_command(command, environment, started)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bin/servers.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    execution = parser.add_subparsers(required=True).add_parser("exec", help="run a command beside the servers")
    execution.add_argument("--data", type=Path, metavar="DIR", help="where the data stays")
    execution.add_argument("--throwaway", action="store_true", help="without fsync; without --data, leave nothing")
    execution.add_argument(
        "--template", type=Path, metavar="DIR", help="what a throwaway directory begins as a copy of"
    )
    execution.add_argument("command", nargs="+", metavar="COMMAND")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    processes.raise_on_signals()
    try:
        if options.throwaway and not options.data:
            with throwaway(options.template) as data_dir:
                return execute(options.command, data_dir=data_dir, durable=False, private_home=True)
        data_dir = (options.data or datadir.from_environment()).expanduser().resolve()
        return execute(options.command, data_dir=data_dir, durable=not options.throwaway, private_home=False)
    except KeyboardInterrupt:
        return 130
    except (ServerError, OSError) as error:
        print(f"bin/servers.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
