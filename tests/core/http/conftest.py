"""External servers, simulated on loopback."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest


@contextmanager
def server(*parts, pause=0.0):
    """A server that answers one call with `parts`, pausing before each; yields its URL and the requests it received."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        seen: list[bytes] = []

        def serve():
            connection, _ = listener.accept()
            with connection:
                seen.append(connection.recv(65536))
                try:
                    for part in parts:
                        time.sleep(pause)
                        connection.sendall(part)
                except OSError:
                    pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/hook", seen


@pytest.fixture
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
