"""The embedded Valkey: the queue and the counters, stored in an append-only file."""

import signal
import socket
from dataclasses import replace
from pathlib import Path

from embedded import datadir
from embedded.server import Home, Server, await_orphans


def check_ours(data_dir: Path) -> None:
    datadir.check_ours(data_dir / "valkey")


def start(home: Home) -> Server:
    """Start it on `home`. Raises ServerError."""
    data = home.data_dir / "valkey"
    await_orphans("valkey-server", data)
    settings = {
        "port": "0",
        "unixsocket": str(home.run / datadir.VALKEY_SOCKET),
        "unixsocketperm": "700",
        "dir": str(data),
        "appendonly": "yes",
        "appendfsync": "everysec" if home.durable else "no",
        "save": "",
        # If the memory is full, new messages must be rejected, and old ones never dropped.
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    server = home.start("valkey", [home.programs.valkey, *options], stop_signal=signal.SIGTERM)
    server.await_ready(lambda: _answers(home.run / datadir.VALKEY_SOCKET))
    return replace(server, start_again=lambda: start(home))


def _answers(address: Path) -> bool:
    """Whether it accepts commands, which it does only after it has loaded its file."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        try:
            client.connect(str(address))
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
        except OSError:
            return False
