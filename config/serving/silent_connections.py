"""Ends connections that send nothing: the server accepts a limited number and waits for each for ever.

A thread checks this process's own connections once a second; requests do not pass through this module.
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
# Browsers open a few connections in advance. One address may have this many that are silent for over YOUNG_SECONDS.
MAX_SILENT_PER_ADDRESS, YOUNG_SECONDS = 64, 1.0
LINE_SECONDS = 60
# Offsets in Linux's struct tcp_info: milliseconds since the last data, or since the connection; and bytes received.
LAST_DATA_RECEIVED, BYTES_RECEIVED = 52, 128
INFO_BYTES = 136
ESTABLISHED = 1  # value of the first byte


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
    """End connections that have been silent for too long, and those above the limit of an address; returns how many."""
    with contextlib.ExitStack() as opened:
        result = [opened.enter_context(each) for each in _sockets()]
        ports = {each.getsockname()[1] for each in result if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)}
        silent = sorted(_silent(result, ports), key=lambda each: each[0])
        counted: Counter[str] = Counter()
        ended = 0
        for seconds, address, connection in silent:  # the youngest are kept first: they may still send
            counted[address] += seconds > YOUNG_SECONDS
            if seconds > SILENT_SECONDS or counted[address] > MAX_SILENT_PER_ADDRESS:
                with contextlib.suppress(OSError):  # the client has closed it already
                    connection.shutdown(socket.SHUT_RDWR)
                    ended += 1
        return ended


def _sockets() -> Iterator[socket.socket]:
    """This process's TCP sockets, duplicated, because the server may close its own at any time."""
    for entry in list(Path("/proc/self/fd").iterdir()):  # before it contains our own
        with contextlib.suppress(OSError):
            if str(entry.readlink()).startswith("socket:"):
                result = socket.socket(fileno=os.dup(int(entry.name)))
                if result.family in {socket.AF_INET, socket.AF_INET6} and result.type == socket.SOCK_STREAM:
                    yield result
                else:
                    result.close()


def _silent(sockets: list[socket.socket], ports: set[int]) -> Iterator[tuple[float, str, socket.socket]]:
    """Seconds, address and connection of clients of `ports` that have sent nothing."""
    for each in sockets:
        with contextlib.suppress(OSError):
            if each.getsockname()[1] in ports:
                address = client_address.grouped(str(each.getpeername()[0]))  # OSError: it is a listening socket
                info = each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
                is_open = len(info) == INFO_BYTES and info[0] == ESTABLISHED
                if is_open and not unpack_from("Q", info, BYTES_RECEIVED)[0]:
                    yield unpack_from("I", info, LAST_DATA_RECEIVED)[0] / 1000, address, each
