"""Errors to Sentry and spans to OpenTelemetry, if a setting configures them; otherwise neither is even imported."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from hashlib import sha256
from importlib import import_module
from types import TracebackType
from typing import Any

from django.conf import settings

from core.observability import tracing
from core.observability.log_format import NO_ROUTE, cleaned
from core.observability.tracing import TraceContext

# Sentry only receives a request's method, and its route as the transaction: addresses, bodies, cookies and headers
# contain keys and personal data.
SENT_OF_REQUESTS = {"method"}


def start() -> None:
    if settings.SENTRY_DSN:
        start_sentry()
    if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        tracing.opened[:] = [spans()]


def start_sentry() -> None:
    sentry = import_module("sentry_sdk")
    sentry.init(
        dsn=settings.SENTRY_DSN,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        before_send=harmless,
        before_breadcrumb=lambda crumb, _hint: scrubbed(crumb),
    )


def harmless(event: dict[str, Any], _hint: dict[str, Any]) -> dict[str, Any]:
    """The event for Sentry: with the ids of the work, without secrets and personal data."""
    event["tags"] = {**event.get("tags", {}), **tracing.ids()}
    if "request" in event:
        event["request"] = {name: value for name, value in event["request"].items() if name in SENT_OF_REQUESTS}
    if event.get("transaction_info", {}).get("source") == "url":  # no route matched, so it is the path
        event["transaction"] = NO_ROUTE
    event.pop("user", None)
    result: dict[str, Any] = scrubbed(event)
    return result


def scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, dict):
        return {name: scrubbed(content) for name, content in value.items()}
    return [scrubbed(each) for each in value] if isinstance(value, list | tuple) else value


def trace_of(request_id: str) -> int | None:
    """The trace id that a request and everything it causes share, on all hosts: derived from the request's id."""
    if not request_id:
        return None
    is_one = len(request_id) == 32 and set(request_id) <= set("0123456789abcdef") and set(request_id) != {"0"}
    return int(request_id, 16) if is_one else int.from_bytes(sha256(request_id.encode()).digest()[:16])


def spans() -> Callable[[TraceContext], AbstractContextManager[object]]:
    """The function that opens a span for each request, event, job and message. The SDK reads its sampler and the
    service's name from the environment."""
    os.environ.setdefault("OTEL_SERVICE_NAME", "loyalty")
    sdk = import_module("opentelemetry.sdk.trace")
    export = import_module("opentelemetry.sdk.trace.export")
    otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    random_ids = import_module("opentelemetry.sdk.trace.id_generator").RandomIdGenerator
    trace = import_module("opentelemetry.trace")
    random_trace_id = random_ids.generate_trace_id

    def generate_trace_id(self: Any) -> int:
        result: int = trace_of(tracing.request_id()) or random_trace_id(self)
        return result

    provider = sdk.TracerProvider(
        id_generator=type("RequestIds", (random_ids,), {"generate_trace_id": generate_trace_id})(),
    )
    endpoint = f"{settings.OTEL_EXPORTER_OTLP_ENDPOINT.rstrip('/')}/v1/traces"
    provider.add_span_processor(
        export.BatchSpanProcessor(otlp.OTLPSpanExporter(endpoint=endpoint), schedule_delay_millis=2_000)
    )
    trace.set_tracer_provider(provider)
    tracer = trace.get_tracer("loyalty")
    kinds = {"request": trace.SpanKind.SERVER}
    return lambda work: Span(work, tracer, kinds.get(work.kind, trace.SpanKind.CONSUMER))


class Span:
    """The span of a piece of work. It may be named later."""

    def __init__(self, work: TraceContext, tracer: Any, kind: Any) -> None:
        self.work = work
        attributes = {f"loyalty.{name}": value for name, value in work.ids.items() if value}
        self.current = tracer.start_as_current_span(
            work.name or work.kind, kind=kind, attributes=attributes, record_exception=False
        )

    def __enter__(self) -> object:
        self.span = self.current.__enter__()
        return self.span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.span.update_name(self.work.name or self.work.kind)
        self.current.__exit__(kind, error, trace)
