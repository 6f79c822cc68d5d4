"""Formats log lines, as JSON or for people, with the ids of the current work and without secrets."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from core.observability.tracing import ids

# Secrets and personal data must not reach a log, whatever an error's text quotes. A pattern begins at a word's start
# and takes the whole word: otherwise a long address from a client would keep us busy for minutes.
SECRETS = [
    (re.compile(r"(?<![\w-])eyJ[\w-]++\.[\w-]+(?:\.[\w-]*)?"), "<token>"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), r"\1 <secret>"),
    (
        re.compile(
            r"(?i)(?<![\w-])([\w-]*(?:(?:api|app|hub)[-_]?key|password|secret|token|authorization))(['\"]?\s*[:=]\s*['\"]?)[^\s'\",}]+"
        ),
        r"\1\2<secret>",
    ),
    (re.compile(r"\b(?:hub|app)_[\w-]{20,}"), "<key>"),
    (re.compile(r"(?<![\w.+%-])[\w.+%-]++@[\w-]+(?:\.[\w-]+)+"), "<e-mail>"),
    (re.compile(r"(://[^\s:/@]*):[^\s/@]+@"), r"\1:<secret>@"),
    # PostgreSQL quotes the row that it rejects: names, addresses, positions.
    (re.compile(r"(Failing row contains) \([^\n]*"), r"\1 <row>"),
    (re.compile(r"(Key \([^)\n]*\))=\([^\n]*?\)(?= |$|\n)"), r"\1=<values>"),
    # Text signed by Django: value, time, signature. Links in mails contain it, and it gives access to their target.
    (re.compile(r"(?<![\w:-])[\w.-]++:[\w-]{6}:[\w-]{43}(?![\w-])"), "<signed>"),
]
NO_ROUTE = "(no route)"


def cleaned(text: str) -> str:
    """The text with tokens, keys, passwords and e-mail addresses replaced."""
    for pattern, instead in SECRETS:
        text = pattern.sub(instead, text)
    return text


def work_ids(record: logging.LogRecord) -> dict[str, str]:
    """The ids of the work that the record belongs to. Django logs a failed request after its work has ended."""
    if fields := {name: value for name, value in ids().items() if value}:
        return fields
    of_request = getattr(getattr(record, "request", None), "request_id", "")
    return {"request_id": of_request} if of_request else {}


def route_of(request: Any) -> str:
    """The method and the route of a request: its path may hold a code's tag, or a token that still works."""
    match = getattr(request, "resolver_match", None)
    return f"{request.method} {match.route if match else NO_ROUTE}"


class RoutesInsteadOfPaths(logging.Filter):
    """For Django's loggers of failed requests. A logger's filter runs before every handler, including Sentry's."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if request is not None and isinstance(record.args, tuple):
            paths = {request.path, request.path_info, request.get_full_path()}
            # As Django's log_response writes them.
            paths |= {path.encode("unicode_escape").decode("ascii") for path in paths}
            record.args = tuple(route_of(request) if argument in paths else argument for argument in record.args)
        return True


class ExpectedErrors(logging.Filter):
    """For Django's loggers of requests: a 4xx response becomes a warning of one line.

    Django logs some of them as errors with a traceback; invalid requests would then raise alerts on errors.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if 400 <= getattr(record, "status_code", 500) < 500:
            record.levelno, record.levelname = min(record.levelno, logging.WARNING), "WARNING"
            record.exc_info = record.exc_text = None
            if record.name.startswith("django.security."):
                record.msg, record.args = "%s: %s", (record.name.rpartition(".")[2], route_of(record.request))  # type: ignore[attr-defined] # added by log_response
        return True


# Kinds of SuspiciousOperation: Django has a logger for each, and a logger's filter does not see other loggers' records.
SUSPICIOUS = (
    "SuspiciousOperation",
    "SuspiciousMultipartForm",
    "SuspiciousFileOperation",
    "DisallowedHost",
    "DisallowedRedirect",
    "TooManyFieldsSent",
    "TooManyFilesSent",
    "RequestDataTooBig",
    "DisallowedModelAdminLookup",
    "DisallowedModelAdminToField",
    "InvalidSessionKey",
    "SuspiciousSession",
)


class PlainLine(logging.Formatter):
    """A line for people; errors with their traceback below."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        fields = " ".join(f"{name}={value}" for name, value in work_ids(record).items())
        return super().formatMessage(record) + (f" [{fields}]" if fields else "")

    def format(self, record: logging.LogRecord) -> str:
        return cleaned(super().format(record))


class JsonLine(logging.Formatter):
    """One JSON object per line, for log collectors."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": cleaned(record.getMessage()),
            "process": record.process,
            **work_ids(record),
            **getattr(record, "log_fields", {}),
        }
        if record.exc_info:
            fields["error"] = cleaned(self.formatException(record.exc_info))
        return json.dumps(fields, ensure_ascii=False, default=str)
