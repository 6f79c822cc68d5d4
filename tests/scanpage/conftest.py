"""A browser without scripts that uses the scan page, and helpers that read its pages."""

import re
from typing import Any

import pytest
from django.test import Client

from brands.models.tenants import Brand
from tests.support import factories
from tests.support.api import random_address
from tests.support.factories import PASSWORD


class Browser:
    """A browser with its own cookies; it submits a form with all hidden fields of the page."""

    def __init__(self, brand: Brand, **headers: str) -> None:
        self.host = brand.hostnames.get().hostname
        self.client = Client(HTTP_HOST=self.host, REMOTE_ADDR=random_address(), enforce_csrf_checks=True)
        self.headers = headers

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers={**self.headers, **headers})

    def send(self, page: Any, act: str, **fields: str) -> Any:
        """Submit the form with this `act` on a page."""
        forms = re.findall(
            r"<form method=\"post\" action=\"([^\"]*)\"[^>]*>(.*?)</form>", visible_html(page), re.DOTALL
        )
        path, form = next(candidate for candidate in forms if f'name="act" value="{act}"' in candidate[1])
        hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))
        return self.client.post(path, {**hidden, **fields}, headers=self.headers)

    def scan(self, code: Any) -> Any:
        return self.send(self.get(f"/s/{code}"), "scan")

    def log_in(self, page: Any, email: str, password: str) -> Any:
        return self.send(page, "log_in", email=email, password=password)


def text(page: Any) -> str:
    """The complete HTML of the page."""
    return page.content.decode()


def visible_html(page: Any) -> str:
    """The HTML without its templates, as a browser without scripts displays it."""
    html, previous = text(page), ""
    while html != previous:
        previous, html = html, re.sub(r"<template[^>]*>(?:(?!<template).)*?</template>", "", html, flags=re.DOTALL)
    return html


def state(page: Any) -> str:
    return re.search(r'data-state="(\w+)"', visible_html(page))[1]  # type: ignore[index]


@pytest.fixture(autouse=True)
def relaxed_settings(settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")


@pytest.fixture
def browser(brand: Brand) -> Browser:
    return Browser(brand)


def customer_with_password(brand, **fields):
    return factories.customer(brand, password=PASSWORD, **fields)


def logged_in_browser(brand, customer):
    browser = Browser(brand)
    browser.log_in(browser.get("/s/"), customer.email, PASSWORD)
    return browser
