"""Connections that send nothing: the server accepts so many connections and waits for each for ever.

A thread looks at this process's own connections once a second and ends those; no request passes through here.
"""

import contextlib
import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from struct import unpack_from
from threading import Event, Thread
from time import monotonic

from core.web import client_address

logger = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
SILENT_SECONDS = 10.0
# Browsers open a few connections ahead. Of one address no more than this many may be silent for YOUNG_SECONDS.
MAX_SILENT_PER_ADDRESS, YOUNG_SECONDS = 64, 1.0
LINE_SECONDS = 60
# struct tcp_info of Linux: the milliseconds since data came, else since the connection stands; and the bytes received.
LAST_DATA_RECEIVED, BYTES_RECEIVED = 52, 128
INFO_BYTES = 136
ESTABLISHED = 1  # the first byte


def start() -> None:
    Thread(target=_watch, name="silent connections", daemon=True).start()


def _watch() -> None:
    pause = Event()  # never set
    ended, line_at = 0, 0.0
    while True:
        pause.wait(CHECK_SECONDS)
        try:
            ended += end_silent()
        except OSError as error:
            logger.warning("Connections that send nothing could not be looked for (%s)", error.strerror)
            pause.wait(LINE_SECONDS)
        if ended and monotonic() > line_at:
            logger.warning("Ended %s connections that had sent nothing", ended)
            ended, line_at = 0, monotonic() + LINE_SECONDS


def end_silent() -> int:
    """End the connections that have been silent for too long, and those that are too many; returns how many."""
    with contextlib.ExitStack() as opened:
        result = [opened.enter_context(each) for each in _sockets()]
        ports = {each.getsockname()[1] for each in result if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)}
        silent = sorted(_silent(result, ports), key=lambda each: each[0])
        counted: Counter[str] = Counter()
        ended = 0
        for seconds, address, connection in silent:  # the youngest first: they may still say something
            counted[address] += seconds > YOUNG_SECONDS
            if seconds > SILENT_SECONDS or counted[address] > MAX_SILENT_PER_ADDRESS:
                with contextlib.suppress(OSError):  # the other side was faster
                    connection.shutdown(socket.SHUT_RDWR)
                    ended += 1
        return ended


def _sockets() -> Iterator[socket.socket]:
    """This process's TCP sockets, each by a descriptor of our own: the server may close its one at any time."""
    for entry in list(Path("/proc/self/fd").iterdir()):  # before there are ours
        with contextlib.suppress(OSError):
            if str(entry.readlink()).startswith("socket:"):
                result = socket.socket(fileno=os.dup(int(entry.name)))
                if result.family in {socket.AF_INET, socket.AF_INET6} and result.type == socket.SOCK_STREAM:
                    yield result
                else:
                    result.close()


def _silent(sockets: list[socket.socket], ports: set[int]) -> Iterator[tuple[float, str, socket.socket]]:
    """The seconds, the sender and the connection, of those that have come to `ports` and have sent nothing."""
    for each in sockets:
        with contextlib.suppress(OSError):
            if each.getsockname()[1] in ports:
                address = client_address.grouped(str(each.getpeername()[0]))  # OSError: it listens
                info = each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
                is_open = len(info) == INFO_BYTES and info[0] == ESTABLISHED
                if is_open and not unpack_from("Q", info, BYTES_RECEIVED)[0]:
                    yield unpack_from("I", info, LAST_DATA_RECEIVED)[0] / 1000, address, each
