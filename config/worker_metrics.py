"""The metrics server of a worker, which listens at settings.METRICS_WORKER_ADDRESS."""

import logging
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from celery.signals import worker_ready
from django.conf import settings

from config.metrics import encoded, may_read
from core.observability.metrics import collected
from core.web.client_address import address_in

logger = logging.getLogger(__name__)


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    timeout = 10  # seconds, for a request to arrive

    def log_message(self, *_arguments: object) -> None:
        """Do not log scrapes."""


@worker_ready.connect
def offer_metrics(**_signal: object) -> None:
    """Start when the worker's processes have started; they add their counts to the files that this one reads."""
    if settings.METRICS_WORKER_ADDRESS is None:
        return
    host, port = settings.METRICS_WORKER_ADDRESS
    try:
        server = make_server(host, port, answer, server_class=Server, handler_class=Quiet)
    except OSError as error:  # another worker of this host serves our counts as well
        logger.warning("no metrics on %s port %d: %s", host, port, error)
        return
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    logger.info("metrics on %s port %d", host, server.server_port)


def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """`GET /metrics` like the web processes, but without the state of the installation."""
    allowed = environ["PATH_INFO"] == "/metrics" and environ["REQUEST_METHOD"] in {"GET", "HEAD"}
    if not allowed or not may_read(environ, address_in(environ["REMOTE_ADDR"])):
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"Not found.\n"]
    body, content_type = encoded([collected], environ.get("HTTP_ACCEPT", ""))
    start_response("200 OK", [("Content-Type", content_type), ("Content-Length", str(len(body)))])
    return [body]
