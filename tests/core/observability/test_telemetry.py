"""Sentry and OpenTelemetry, against a local server that accepts what they send, and neither without its setting."""

import gzip
import json
import os
import subprocess
import sys
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import brotli
import pytest
from django.core.exceptions import ImproperlyConfigured
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from config import environment
from core.observability import telemetry
from tests.support.live_stack import ROOT

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
EMAIL, TOKEN = "anna@example.com", "eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyX2lkIjoxfQ.c2ln"
UNPACK = {None: bytes, "gzip": gzip.decompress, "deflate": zlib.decompress, "br": brotli.decompress}
FAILING = f"""
import logging, django
django.setup()
from core.observability.tracing import TraceContext
with TraceContext("event", "scan-auth", request_id="req-1", event_id="ev-1", event_kind="scan-auth"):
    try:
        secret = "{TOKEN}"
        raise RuntimeError("Key (email)=({EMAIL}) with Bearer " + secret)
    except RuntimeError:
        logging.getLogger("events.messages").exception("event %s: attempt 1 failed", "ev-1")
import sentry_sdk
sentry_sdk.flush(5)
"""
WORKING = """
import sys, django
django.setup()
from core.observability.tracing import TraceContext
kind, name = sys.argv[1:3]
with TraceContext(kind, "", request_id=sys.argv[3]) as work:
    work.name = name
from opentelemetry import trace
trace.get_tracer_provider().force_flush()
"""


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, UNPACK[self.headers.get("Content-Encoding")](body)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}" if "envelope" in self.path else b"")

    def log_message(self, *_arguments):
        """Log nothing."""


@pytest.fixture
def receiver():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.received = []
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def run(script, *arguments, **settings):
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "PYTHONPATH": str(ROOT), **settings}
    command = [sys.executable, "-c", script, *arguments]
    result = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result


def test_sentry_receives_an_error_with_its_ids_and_without_secrets(receiver):
    run(FAILING, SENTRY_DSN=f"http://key@127.0.0.1:{receiver.server_port}/7")

    envelopes = [body for path, body in receiver.received if path == "/api/7/envelope/"]
    items = [json.loads(line) for body in envelopes for line in body.split(b"\n") if line.startswith(b"{")]
    [event] = [item for item in items if "exception" in item]
    assert (event["tags"]["request_id"], event["tags"]["event_id"]) == ("req-1", "ev-1")
    assert event["exception"]["values"][0]["type"] == "RuntimeError"
    everything = b"".join(envelopes).decode()
    assert EMAIL not in everything
    assert TOKEN not in everything


def spans_of(receiver):
    """(trace, name, kind) of every span that arrived."""
    for path, body in receiver.received:
        assert path == "/v1/traces"
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = {each.key: each.value.string_value for each in resource.resource.attributes}["service.name"]
            for scope in resource.scope_spans:
                yield from ((service, span.trace_id.hex(), span.name, span.kind) for span in scope.spans)


@pytest.mark.parametrize("request_id", [TRACE, "callers-own-id"])
def test_request_and_its_event_share_one_trace_across_processes(receiver, request_id):
    address = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{receiver.server_port}/"}
    run(WORKING, "request", "POST api/v1/verify", request_id, **address)
    run(WORKING, "event", "scan-auth", request_id, **address)

    trace = f"{telemetry.trace_of(request_id):032x}"
    assert list(spans_of(receiver)) == [
        ("loyalty", trace, "POST api/v1/verify", 2),  # server
        ("loyalty", trace, "scan-auth", 5),  # consumer
    ]
    assert request_id != TRACE or trace == TRACE


def test_telemetry_packages_are_not_imported_without_settings():
    # redis-py imports OpenTelemetry's SDK itself if it is installed; only our code needs the exporter.
    script = "import sys, django; django.setup(); print({'sentry_sdk', 'opentelemetry.exporter'} & set(sys.modules))"

    assert run(script).stdout.strip() == "set()"


@pytest.mark.parametrize("package", ["nobody_has_this", "nobody_has_this.inner"])
def test_missing_package_raises_an_error_that_names_the_setting(package):
    with pytest.raises(ImproperlyConfigured, match="SENTRY_DSN needs the Python package nobody_has_this"):
        environment.needed(package, by="SENTRY_DSN")


def test_sentry_receives_only_the_method_and_route_of_a_request():
    request = {"url": "http://x/a?token=1", "method": "POST", "headers": {"api-key": "k"}, "cookies": {"a": "b"}}
    event = {"request": request, "user": {"email": EMAIL}, "transaction": "/password/new/{token}"}

    sent = telemetry.harmless({**event, "transaction_info": {"source": "route"}}, {})

    assert sent == {
        "tags": {},
        "request": {"method": "POST"},
        "transaction": "/password/new/{token}",
        "transaction_info": {"source": "route"},
    }


def test_sentry_receives_no_path_without_a_route():
    sent = telemetry.harmless({"transaction": "/password/nwe/abc", "transaction_info": {"source": "url"}}, {})

    assert sent["transaction"] == "(no route)"
