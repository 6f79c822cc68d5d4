"""Reads all that the product logs during the tests, and finds what a log must not contain.

The patterns are independent of core.observability.log_format: they describe a secret, not how it is removed.
"""

import logging
import re

from core.observability.log_format import JsonLine

SECRETS = {
    "a token": re.compile(r"eyJ[\w-]{8,}\.[\w-]+\.[\w-]+"),
    "an API key": re.compile(r"\b(?:hub|app)_[\w-]{30,}"),
    "a webhook secret": re.compile(r"\bwhsec_[A-Za-z0-9+/=]{20,}"),
    "a code's tag": re.compile(r"\b[\w-]*\d[\w-]*\.[0-9A-HJKMNP-TV-Z]{11}\b"),
    "a signed value": re.compile(r"[\w.-]+:[\w-]{6}:[\w-]{40,}"),
    "an e-mail address": re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}\b"),
    "a position": re.compile(
        r"(?i)\b(?:lat(?:itude)?|lon(?:gitude)?)\b\W{1,4}-?\d+\.\d+|-?\d{1,3}\.\d{3,}, ?-?\d{1,3}\.\d{3,}"
    ),
    "a password in an address": re.compile(r"://[^\s:/@]*:(?!<secret>)[^\s/@]+@"),
    "a link that opens something": re.compile(
        r"/(?:password/new|notices/opt-out|notices/acknowledge|email/confirm|register/confirm)/[\w:.-]{8,}|/verify/product/[^<\s]|/s/[A-Z0-9]"
    ),
}
# The tests' own clients log their requests; the product uses none of them.
CLIENTS = ("httpx", "schemathesis", "asyncio")
# Names of machines and programs, not of people: Celery's own.
HARMLESS = re.compile(r"\b(?:celery|points|work|outgoing|jobs|regular|beat|gen\d+)@[\w.-]+")


def secrets_in(text: str) -> list[str]:
    """The secrets in each line of `text`: `an API key: <the line>`."""
    secrets = []
    for line in text.splitlines():
        harmless = HARMLESS.sub("", line)
        secrets += [f"{name}: {line[:400]}" for name, pattern in SECRETS.items() if pattern.search(harmless)]
    return secrets


class LogWatch(logging.Handler):
    """Collects what a production log would contain since the last `take`."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLine())
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(CLIENTS):
            self.lines.append(self.format(record))

    def take(self) -> str:
        taken, self.lines = "\n".join(self.lines), []
        return taken
