"""Log lines: JSON with the ids of request and event, down to the notification, and without secrets."""

import json
import logging
import sys
import time

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import path

from core.observability import log_format
from core.observability.tracing import TraceContext, ids
from events import leases, messages, publishing, worker
from events.messages import NewEvent
from events.models import Event
from tests.support import factories

logger = logging.getLogger("test")


def json_line(message, *arguments, error=None, **extra):
    log_record = logger.makeRecord("test", logging.WARNING, "x.py", 1, message, arguments, error, extra=extra)
    return log_format.JsonLine().format(log_record)


def test_log_line_is_json_with_the_ids_of_its_trace_context():
    with TraceContext("event", "scan-auth", request_id="r1", event_id="e1", event_kind="scan-auth"):
        entry = json.loads(json_line("it is %s", "so", log_fields={"attempt": 2}))

    assert entry.pop("time").endswith("+00:00")
    assert entry.pop("process")
    assert entry == {
        "level": "WARNING",
        "logger": "test",
        "message": "it is so",
        "request_id": "r1",
        "event_id": "e1",
        "event_kind": "scan-auth",
        "attempt": 2,
    }


def test_nested_trace_context_restores_the_outer_ids():
    with TraceContext("request", "GET /", request_id="outer"):
        with TraceContext("event", "notify", request_id="inner"):
            assert ids() == {"request_id": "inner"}
        assert ids() == {"request_id": "outer"}

    assert ids() == {}


def test_error_is_logged_in_one_line_with_its_traceback():
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        line = json_line("failed", error=sys.exc_info())

    assert "\n" not in line
    assert json.loads(line)["error"].endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize("piece", ["A", "a-", "eyJ-", "a@", "token-", "app_", "bearer ", "://a:b", "a@b."])
def test_long_text_is_cleaned_quickly(piece):
    """A pattern that starts again at each letter would take minutes for a hundred thousand letters."""
    began = time.process_time()
    log_format.cleaned(piece * (100_000 // len(piece)))

    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "secret",
    [
        "Bearer abcdefgh12345",
        "eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyX2lkIjoxfQ.c2lnbmF0dXJl",
        "hub_" + "k" * 43,
        "app_" + "k" * 43,
        "anna.muster+shop@mail.example.com",
        "password=hunter2222",
        '"refresh_token": "deadbeefdeadbeef"',
    ],
)
@pytest.mark.parametrize("form", [log_format.PlainLine(), log_format.JsonLine()])
def test_secrets_and_email_addresses_are_not_logged(form, secret):
    log_record = logger.makeRecord("test", logging.ERROR, "x.py", 1, "refused: %s!", (secret,), None)
    line = form.format(log_record)

    assert "refused" in line
    assert secret.split()[-1].strip('"') not in line


def test_url_is_logged_with_its_host_and_without_its_password():
    assert log_format.cleaned("postgres://loyalty:hunter2@db:5432/x") == "postgres://loyalty:<secret>@db:5432/x"


class LogCollector(logging.Handler):
    """Collects the lines that a JSON log would contain."""

    def __init__(self):
        super().__init__()
        self.lines = []
        self.setFormatter(log_format.JsonLine())

    def emit(self, record):
        line = json.loads(self.format(record))
        if line["logger"] in {"test", "django.request"}:
            self.lines.append(
                {name: line[name] for name in sorted(line.keys() - {"time", "process", "level", "logger"})}
            )


@pytest.fixture
def log_lines():
    handler = LogCollector()
    logging.getLogger().addHandler(handler)
    yield handler.lines
    logging.getLogger().removeHandler(handler)


def logging_view(_request):
    logger.warning("here")
    return HttpResponse()


urlpatterns = [path("shout", logging_view)]


@pytest.mark.urls(__name__)
def test_unknown_url_is_logged_with_its_request_id(log_lines):
    answer = Client().get("/nothing/here", headers={"X-Request-ID": "abc-2"})

    assert log_lines == [{"message": "Not Found: GET (no route)", "request_id": answer["X-Request-ID"]}]


@pytest.mark.urls(__name__)
def test_log_lines_of_a_request_have_its_id(log_lines):
    answer = Client().get("/shout", headers={"X-Request-ID": "abc-1"})

    assert log_lines == [{"message": "here", "request_id": answer["X-Request-ID"], "caller_request_id": "abc-1"}]


def test_request_id_of_a_scan_is_passed_on_to_all_following_events(api, brand, customer, deliver_events):
    code = factories.code(brand)

    answer = api.as_customer(customer).with_headers(X_Request_ID="scan-77").verify(code)
    deliver_events()

    kinds = Event.objects.order_by("id").values_list("detail_type", "request_id")
    assert answer["X-Request-ID"] != "scan-77"
    assert dict(kinds) == dict.fromkeys(["scan-auth", "balance-changed", "notify"], answer["X-Request-ID"])


def test_trace_id_of_the_caller_is_not_the_request_id(api, brand):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    answer = api.with_headers(traceparent=f"00-{trace}-00f067aa0ba902b7-01").verify(factories.code(brand))

    assert answer["X-Request-ID"] != trace


def test_events_of_a_hub_call_have_its_request_id(api, brand, customer):
    answer = (
        api.hub().as_customer(customer).with_headers(X_Request_ID="claim-5").credit(customer, factories.code(brand))
    )

    assert set(Event.objects.values_list("request_id", flat=True)) == {answer["X-Request-ID"]}


def logging_handler(delivery):
    logger.warning("handling")
    leases.finish(delivery, following=[NewEvent(kind="told", payload={}, arguments={})])


def test_worker_logs_with_the_ids_of_the_event(brand, settings, log_lines):
    settings.EVENT_HANDLERS = {"telling": f"{__name__}.logging_handler"}
    messages.handler_of.cache_clear()
    with TraceContext("request", "POST", request_id="r-9"):
        publishing.publish(
            messages=[NewEvent(kind="telling", payload={}, arguments={})], brand_id=brand.pk, at=brand.created_at
        )

    worker.drain()

    event = Event.objects.get(detail_type="telling")
    assert log_lines == [
        {"message": "handling", "request_id": "r-9", "event_id": str(event.event_id), "event_kind": "telling"}
    ]
    assert Event.objects.get(detail_type="told").request_id == "r-9"
    messages.handler_of.cache_clear()
