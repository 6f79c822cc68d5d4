"""The servers that several hosts share, on loopback: PgBouncer, a streaming replica, an S3 store, RabbitMQ."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import boto3
import psycopg
from django.conf import settings
from django.db import connection
from moto.server import ThreadedMotoServer

from tests.support.live_stack import ROOT, free_port, wait_until

sys.path.insert(0, str(ROOT / "bin"))

from embedded import datadir, processes
from embedded.identity import Programs, choose
from embedded.postgres import SETTINGS, THROWAWAY_SETTINGS
from embedded.server import Home, Server

RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"


def programs_missing() -> set[str]:
    installed = {
        "pgbouncer": shutil.which("pgbouncer", path="/usr/sbin:/usr/bin"),
        "rabbitmq-server": Path(RABBITMQ).exists(),
    }
    return {name for name, is_installed in installed.items() if not is_installed}


def home() -> Home:
    """The home of the embedded servers, since neither PostgreSQL nor PgBouncer runs as root."""
    data_dir = Path(settings.DATA_DIR)
    programs = Programs.installed()
    return Home(data_dir, choose(data_dir, programs, made_now=False), programs, durable=False)


class Running:
    """A server for the length of a `with`."""

    server: Server

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.server.stop()


class Bouncer(Running):
    """PgBouncer in transaction mode, with fewer sessions on the server than the hosts have connections."""

    POOL = 6

    def __init__(self) -> None:
        self.port = free_port()
        at = home()
        config = at.run / "pgbouncer.ini"
        entry = connection.settings_dict
        config.write_text(
            f"[databases]\n* = host={entry['HOST']} port={entry['PORT'] or 5432} user={entry['USER']}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = any\n"
            f"pool_mode = transaction\ndefault_pool_size = {self.POOL}\nmax_client_conn = 200\nadmin_users = loyalty\n"
        )
        self.server = at.start("pgbouncer", ["/usr/sbin/pgbouncer", config], stop_signal=processes.signal.SIGINT)
        self.server.await_ready(self._answers)

    @property
    def url(self) -> str:
        return f"postgres://loyalty@127.0.0.1:{self.port}/{connection.settings_dict['NAME']}"

    def _answers(self) -> bool:
        try:
            return bool(self.query("SHOW VERSION"))
        except psycopg.OperationalError:
            return False

    def query(self, statement: str) -> list[Any]:
        """The rows that PgBouncer's console returns."""
        with (
            psycopg.connect(
                f"host=127.0.0.1 port={self.port} dbname=pgbouncer user=loyalty", autocommit=True
            ) as console,
            psycopg.ClientCursor(console) as cursor,
        ):
            return cursor.execute(statement).fetchall()  # type: ignore[arg-type]


class Replica(Running):
    """A standby that pg_basebackup made of the embedded PostgreSQL, fed by streaming."""

    def __init__(self) -> None:
        at = home()
        self.directory, self.run = at.data_dir / "replica", at.data_dir / "replica-run"
        datadir.make(self.run)
        primary = connection.settings_dict["HOST"]
        programs = at.programs.postgres / "bin"
        copy = [programs / "pg_basebackup", "--pgdata", self.directory, "--host", primary, "--username", "loyalty"]
        at.call(*copy, "--write-recovery-conf", "--wal-method", "stream", "--checkpoint", "fast")
        options = {**SETTINGS, **THROWAWAY_SETTINGS, "unix_socket_directories": str(self.run)}
        arguments = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        command = [programs / "postgres", "-D", self.directory, *arguments]
        self.server = at.start("replica", command, stop_signal=processes.signal.SIGINT)
        self.server.await_ready(self._answers)

    @property
    def url(self) -> str:
        return f"postgres://loyalty@/{connection.settings_dict['NAME']}?host={self.run}"

    def query(self, statement: str) -> Any:
        """The first column of the first row."""
        name = connection.settings_dict["NAME"]
        with psycopg.connect(f"host={self.run} user=loyalty dbname={name}", autocommit=True) as session:
            [value] = session.execute(statement).fetchone() or [None]  # type: ignore[arg-type]
            return value

    def _answers(self) -> bool:
        try:
            return bool(self.query("SELECT pg_is_in_recovery()"))
        except psycopg.OperationalError:
            return False


class Bucket:
    """A bucket of an S3-compatible store on loopback."""

    NAME = "loyalty-files"
    KEYS = {"aws_access_key_id": "access", "aws_secret_access_key": "secret", "region_name": "eu-central-1"}

    def __enter__(self) -> Self:
        self.port = free_port()
        self.store = ThreadedMotoServer(ip_address="127.0.0.1", port=self.port, verbose=False)
        self.store.start()
        self.client = boto3.client("s3", endpoint_url=self.url, **self.KEYS)
        self.client.create_bucket(
            Bucket=self.NAME, CreateBucketConfiguration={"LocationConstraint": self.KEYS["region_name"]}
        )
        return self

    def __exit__(self, *_error: object) -> None:
        self.store.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        return {
            "S3_BUCKET": self.NAME,
            "AWS_ENDPOINT_URL_S3": self.url,
            "AWS_DEFAULT_REGION": self.KEYS["region_name"],
            "AWS_ACCESS_KEY_ID": self.KEYS["aws_access_key_id"],
            "AWS_SECRET_ACCESS_KEY": self.KEYS["aws_secret_access_key"],
        }

    def names(self) -> set[str]:
        return {item["Key"] for item in self.client.list_objects_v2(Bucket=self.NAME).get("Contents", [])}


class Rabbit(Running):
    """RabbitMQ with its own epmd and with all its files in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.port, distribution, epmd = free_port(), free_port(), free_port()
        self.environment = {
            "PATH": os.environ["PATH"] + ":/usr/sbin",
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_PORT": str(epmd),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"loyalty{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
        }
        (folder / "log").mkdir()
        self.server = Server.start("rabbitmq", [RABBITMQ], data_dir=folder, env=self.environment, cwd=folder)
        self.server.await_ready(lambda: self._ctl("await_startup", "--timeout", "5").returncode == 0)

    def __exit__(self, *error: Any) -> None:
        self._ctl("stop")
        super().__exit__(*error)
        subprocess.run(["epmd", "-port", self.environment["ERL_EPMD_PORT"], "-kill"], env=self.environment, check=False)

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def queues(self) -> dict[str, str]:
        """The type of each queue, by its name."""
        output = self._ctl("list_queues", "--quiet", "--no-table-headers", "name", "type").stdout
        return dict(line.split("\t") for line in output.splitlines())

    def _ctl(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = ["/usr/lib/rabbitmq/bin/rabbitmqctl", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)


__all__ = ["Bouncer", "Bucket", "Rabbit", "Replica", "programs_missing", "wait_until"]
