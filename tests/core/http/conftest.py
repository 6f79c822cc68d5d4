"""Servers of other people on loopback."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest


@contextmanager
def server(*parts, pause=0.0):
    """A server that answers one call with `parts`, a pause before each; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        seen: list[bytes] = []

        def serve():
            caller, _ = listening.accept()
            with caller:
                seen.append(caller.recv(65536))
                try:
                    for part in parts:
                        time.sleep(pause)
                        caller.sendall(part)
                except OSError:
                    pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/hook", seen


@pytest.fixture
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
