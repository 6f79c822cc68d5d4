"""What bin/run does once .venv exists: servers, migrations, demo, then web, workers and beat until they are stopped."""

import argparse
import contextlib
import http.client
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Never

import phone
import servers
from embedded import datadir, processes
from embedded.datadir import PROJECT, ServerError
from embedded.server import Server

STOP_SECONDS = 10
# A process that ends more often than this within this many seconds is not restarted.
MAX_ENDS, ENDS_SECONDS = 5, 60
READY_SECONDS = 60
# With DATABASE_URL, the settings expect a portal on the internet; this one listens locally.
LOCAL = {"ALLOWED_HOSTS": "localhost,.localhost,127.0.0.1,[::1]", "HTTPS": "0"}


@dataclass(frozen=True)
class Site:
    """The platform's address and its data directory."""

    host: str
    port: int
    data_dir: Path
    for_phones: bool = False

    @classmethod
    def from_environment(cls, *, for_phones: bool = False) -> "Site":
        port = os.environ.get("PORT") or "8000"
        if not port.isdecimal() or not 0 < int(port) < 65536:
            raise ServerError(f"PORT has a bad value: {port!r} is not a port number")
        host = phone.local_address() if for_phones else os.environ.get("HOST") or "127.0.0.1"
        return cls(host, int(port), datadir.from_environment(), for_phones)

    @property
    def address(self) -> str:
        """The host to call from this machine."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104

    @property
    def url(self) -> str:
        return f"http://[{self.address}]:{self.port}" if ":" in self.address else f"http://{self.address}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every process of the platform."""
        values = {**LOCAL, **nonempty_environment()}
        if self.for_phones:
            values |= phone.settings(self.host, self.port, hosts=values["ALLOWED_HOSTS"])
        return values | {"DATA_DIR": str(self.data_dir), "PORT": str(self.port), "PYTHONUNBUFFERED": "1"}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bin/run", description="Sets everything up and runs it until Ctrl-C.")
    parser.add_argument("--phone", action="store_true", help="serve a phone in the same network, by http")
    options = parser.parse_args(arguments)
    processes.raise_on_signals()
    try:
        run(Site.from_environment(for_phones=options.phone))
    except KeyboardInterrupt:
        say("Stopped.")
        return 0
    except (ServerError, OSError) as error:
        print(f"bin/run: {error}", file=sys.stderr)
        return 1


def run(site: Site) -> Never:
    """Run everything on `site` until a signal (KeyboardInterrupt) or until a process dies for good (ServerError)."""
    servers.check_can_start(site.data_dir, **servers.required_servers())
    check_port_free(site)
    with servers.running(site.data_dir, **servers.required_servers()) as started:
        save_secret_key(site.data_dir)
        environment = site.environment
        manage("migrate --noinput --verbosity 0", "collectstatic --noinput --verbosity 0", environment=environment)
        with datadir.noted_for_manage(site.data_dir), platform(site, environment) as programs:
            if os.environ.get("DEMO") != "0":
                manage("demo --three-months", environment=environment)  # while the others load
            say("Waiting for the portal ...")
            watch(site, servers=started, programs=programs)


def nonempty_environment() -> dict[str, str]:
    """The environment without its empty variables, which count as unset."""
    return {name: value for name, value in os.environ.items() if value}


def check_port_free(site: Site) -> None:
    """Raise ServerError if another program listens on the port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(site.host, site.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        message = f"cannot listen on {site.host} port {site.port}: {error.strerror}. Set PORT (or HOST) to another one."
        raise ServerError(message) from error


def save_secret_key(data_dir: Path) -> None:
    """Create the installation's own secret key on the first start."""
    key_file = data_dir / "secret_key"
    if not key_file.exists():
        unfinished = key_file.with_suffix(".new")
        unfinished.touch(mode=0o600)
        unfinished.write_text(secrets.token_urlsafe(48))
        unfinished.rename(key_file)


def manage(*commands: str, environment: dict[str, str]) -> None:
    """Run commands of manage.py in parallel to their ends; their output goes to the screen.

    Raises ServerError if one fails.
    """
    program = [sys.executable, str(PROJECT / "manage.py")]
    children: list[subprocess.Popen[bytes]] = []
    try:
        children.extend(
            processes.spawn([*program, *command.split()], env=environment, cwd=PROJECT) for command in commands
        )
        codes = [child.wait() for child in children]
    finally:
        processes.stop(children, seconds=STOP_SECONDS)
    for command, code in zip(commands, codes, strict=True):
        if code:
            raise ServerError(f"manage.py {command} failed, see above")


@contextlib.contextmanager
def platform(site: Site, environment: dict[str, str]) -> Iterator[list[Server]]:
    """Web, workers and beat, each with its own log; all are stopped together at the end."""
    programs: list[Server] = []
    try:
        programs.extend(start_program(site, environment, name) for name in commands(site))
        yield programs
    finally:
        processes.stop([program.process for program in programs], seconds=STOP_SECONDS)


def start_program(site: Site, environment: dict[str, str], name: str) -> Server:
    program = [sys.executable, "-m", *commands(site)[name]]
    started = Server.start(name, program, data_dir=site.data_dir, env=environment, cwd=PROJECT)
    return replace(started, start_again=lambda: start_program(site, environment, name))


def commands(site: Site) -> dict[str, list[str]]:
    # As modules, because the scripts in .venv/bin contain the path where .venv was created.
    web = (
        f"granian --interface wsgi --host {site.host} --port {site.port} --workers 2 --blocking-threads 512 "
        f"--backpressure 512 --no-ws --workers-kill-timeout {STOP_SECONDS - 2} config.wsgi:application"
    )
    worker = "celery -A config worker -n points@%h -Q events --concurrency 3"
    # Jobs have their own processes, so that they never delay points.
    jobs = "celery -A config worker -n work@%h -Q work --concurrency 4"
    # Periodic tasks do not wait for jobs.
    regular = "celery -A config worker -n regular@%h -Q regular --pool threads --concurrency 2"
    # It waits for third-party servers most of the time.
    sender = "celery -A config worker -n outgoing@%h -Q outgoing --pool threads --concurrency 12"
    beat = "celery -A config beat --schedule"
    return {
        "web": web.split(),
        "worker": worker.split(),
        "jobs": jobs.split(),
        "sender": sender.split(),
        "regular": regular.split(),
        "beat": [*beat.split(), str(site.data_dir / "run" / "beat")],
    }


def watch(site: Site, *, servers: list[Server], programs: list[Server]) -> Never:
    """Report when the portal answers, and restart processes that end.

    Raises ServerError, with the last lines of a program that does not start or keeps ending.
    """
    deadline, ready = time.monotonic() + READY_SECONDS, False
    ends: dict[str, list[float]] = {}
    while True:
        for group in (servers, programs):
            for place, server in enumerate(group):
                if not server.is_alive():
                    group[place] = started_again(server, ends.setdefault(server.name, []), is_ready=ready)
        if not ready and answers(site):
            ready = True
            say(f"Ready: {site.url}  (logs: {site.data_dir / 'log'}; Ctrl-C stops everything)")
            if site.for_phones:
                say(phone.ADVICE)
        elif not ready and time.monotonic() > deadline:
            raise ServerError(f"{site.url} does not answer. {programs[0].log_tail()}")
        time.sleep(0.2)


def started_again(dead: Server, ends: list[float], *, is_ready: bool) -> Server:
    """A replacement for `dead`, which ended at `ends` before. Raises ServerError if a restart is pointless."""
    now = time.monotonic()
    ends[:] = [*(end for end in ends if now - end < ENDS_SECONDS), now]
    how = f"{dead.name} ended (exit code {dead.process.returncode})"
    if not is_ready or dead.start_again is None or len(ends) > MAX_ENDS:
        again = f" for the {len(ends)}th time in a minute" if len(ends) > MAX_ENDS else ""
        raise ServerError(f"{how}{again}, so everything stops. {dead.log_tail()}")
    say(f"{how}; starting it again (log of before: {dead.log.with_suffix('.log.1')})")
    processes.signal_group(dead.process, signal.SIGKILL)  # leftover children would keep its port or its work
    return dead.start_again()


def answers(site: Site) -> bool:
    """Whether the web processes answer at all; an error about this host's name counts, too."""
    with contextlib.closing(http.client.HTTPConnection(site.address, site.port, timeout=2)) as connection:
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status < 500
        except (OSError, http.client.HTTPException):
            return False


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
