"""The trace context of the current thread: the request and the event that its log lines, spans and new events name."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self

Ids = Mapping[str, str]

_ids: ContextVar[Ids] = ContextVar("ids", default={})  # noqa: B039 - never changed, always replaced
# Opens a span around each piece of work; core.observability.telemetry adds it if spans are collected.
opened: "list[Callable[[TraceContext], AbstractContextManager[object]]]" = []


def ids() -> Ids:
    """`request_id`, `caller_request_id`, `event_id`, `event_kind` and `job_id`, as far as the current work has them."""
    return _ids.get()


def request_id() -> str:
    """The id of the request that caused the current work, or "" if there is none."""
    return _ids.get().get("request_id", "")


class TraceContext:
    """`with TraceContext("event", request_id=..., event_id=...):` logs and traces the block under these ids.

    `name` is the span's name; it may be set later.
    """

    __slots__ = ("_span", "_token", "ids", "kind", "name")

    def __init__(self, kind: str, name: str, **ids: str) -> None:
        self.kind, self.name, self.ids = kind, name, ids

    def __enter__(self) -> Self:
        self._token: Token[Ids] = _ids.set(self.ids)
        self._span = opened[0](self) if opened else None
        if self._span:
            self._span.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._span:
            self._span.__exit__(kind, error, trace)
        _ids.reset(self._token)
