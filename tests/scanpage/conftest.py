"""The scan page as a browser without scripts sees it."""

import re
from typing import Any

import pytest
from django.test import Client

from brands.models.tenants import Brand
from tests.support import factories
from tests.support.api import somewhere
from tests.support.factories import PASSWORD


class Browser:
    """A visitor with cookies of their own; forms are sent with all that the page put into them."""

    def __init__(self, brand: Brand, **headers: str) -> None:
        self.host = brand.hostnames.get().hostname
        self.client = Client(HTTP_HOST=self.host, REMOTE_ADDR=somewhere(), enforce_csrf_checks=True)
        self.headers = headers

    def get(self, address: str, **headers: str) -> Any:
        return self.client.get(address, headers={**self.headers, **headers})

    def send(self, page: Any, act: str, **fields: str) -> Any:
        """Press the button of the form with this `act` on a page."""
        forms = re.findall(r"<form method=\"post\" action=\"([^\"]*)\"[^>]*>(.*?)</form>", seen(page), re.DOTALL)
        address, form = next(each for each in forms if f'name="act" value="{act}"' in each[1])
        hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))
        return self.client.post(address, {**hidden, **fields}, headers=self.headers)

    def scan(self, code: Any) -> Any:
        return self.send(self.get(f"/s/{code}"), "scan")

    def log_in(self, page: Any, email: str, password: str) -> Any:
        return self.send(page, "log_in", email=email, password=password)


def text(page: Any) -> str:
    """The page with everything in it."""
    return page.content.decode()


def seen(page: Any) -> str:
    """What a browser without scripts shows: no templates."""
    whole, before = text(page), ""
    while whole != before:
        before, whole = whole, re.sub(r"<template[^>]*>(?:(?!<template).)*?</template>", "", whole, flags=re.DOTALL)
    return whole


def state(page: Any) -> str:
    return re.search(r'data-state="(\w+)"', seen(page))[1]  # type: ignore[index]


@pytest.fixture(autouse=True)
def plain(settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")


@pytest.fixture
def browser(brand: Brand) -> Browser:
    return Browser(brand)


def customer_of(brand, **fields):
    return factories.customer(brand, password=PASSWORD, **fields)


def logged_in(brand, customer):
    browser = Browser(brand)
    browser.log_in(browser.get("/s/"), customer.email, PASSWORD)
    return browser
