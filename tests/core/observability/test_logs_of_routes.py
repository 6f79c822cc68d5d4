"""Secrets in a URL, a header or a body stay out of the log, whatever the answer is."""

import logging

import pytest
from django.core import signing
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.support import factories
from tests.support.machinery.log_watch import LogWatch, secrets_in

CANARY = "Canary0123456789canary"
VALUES = {
    "code": CANARY,
    "scanned": CANARY,
    "str": CANARY,
    "path": CANARY,
    "slug": CANARY,
    "id": "7",
    "int": "7",
    "gtin": "04006381333931",
    "uuid": "00000000-0000-4000-8000-000000000007",
}


def addresses(patterns, prefix=""):
    """Every URL of the service, with a canary wherever a path takes text."""
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            if "admin/" not in route or route == "admin/":
                yield from addresses(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern) and "(?" not in route and "^" not in route:
            yield with_canaries(route)


def with_canaries(route):
    for name, value in VALUES.items():
        while f"<{name}:" in route:
            before, _, tail = route.partition(f"<{name}:")
            route = before + value + tail.partition(">")[2]
    while "<" in route:
        before, _, tail = route.partition("<")
        route = before + CANARY + tail.partition(">")[2]
    return "/" + route


ADDRESSES = sorted({address for address in addresses(get_resolver().url_patterns) if CANARY in address})


def test_collected_urls_include_password_links():
    assert len(ADDRESSES) >= 15
    assert f"/password/new/{CANARY}" in ADDRESSES


@pytest.fixture
def log_watch():
    handler = LogWatch()
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


@pytest.mark.parametrize("address", [*ADDRESSES, f"/nowhere/{CANARY}"])
def test_no_request_logs_the_text_of_its_url(db, log_watch, address):
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)

    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        body = f'{{"code": "{CANARY}", "latitude": 1.23456}}'
        answer = client.generic(method, address, body, "application/json", headers={"api-key": CANARY})
        assert answer.status_code < 500

    assert CANARY.lower() not in log_watch.take().lower()


def test_rejected_form_does_not_log_its_password_link(brand, log_watch):
    """A regression: the log of a form without its CSRF token contained the link, which was still valid."""
    token = signing.dumps([factories.customer(brand).pk, CANARY], salt="password")
    client = Client(enforce_csrf_checks=True)

    answer = client.post(f"/password/new/{token}", {"password": "x"})

    assert 400 <= answer.status_code < 500
    output = log_watch.take()
    assert "password/new/<str:token>" in output
    assert token not in output


def test_control_log_watch_finds_a_password_link():
    line = "WARNING django.request Forbidden: /password/new/MTI:1vabcd:0123456789012345678901234567890123456789abc"

    assert secrets_in(line)


@pytest.mark.parametrize(
    "line",
    [
        "Bearer eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyX2lkIjoxfQ.c2lnbmF0dXJl",
        "key hub_" + "k" * 43,
        "verify AUR-00000281.7ZK2M9Q4T1X refused",
        "mail to anna@example.com",
        "latitude=52.5200",
        "Failing row contains (1, 52.5200, 13.4050)",
        "redis://:hunter2@redis:6379",
    ],
)
def test_control_log_watch_recognises_each_kind_of_secret(line):
    assert secrets_in(line)
