"""One installation and one Chromium for all journeys; every window is looked at for errors when its test ends."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser

from brands.models.tenants import Brand
from tests.browser.window import DESKTOP, Window, chromium
from tests.support import factories
from tests.support.live_stack import ROOT, Stack
from tests.support.portal import staff

# For these journeys alone: a worker that lived longer would take the other tests' events away from them.
ALIVE = "package"


@pytest.fixture(scope=ALIVE)
def portal(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    directory = tmp_path_factory.mktemp("portal")
    # Static files of its own: with those in STATIC_ROOT each test client of this process would look through all of
    # them, and the tests after these would take twice as long.
    own = {"STATIC_ROOT": str(directory / "static")}
    running = Stack(log=directory / "log", redis_url=settings.REDIS_URL, settings=own)
    with django_db_blocker.unblock():
        collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity=0"]
        subprocess.run(collect, cwd=ROOT, env=running.environment(), check=True)
        try:
            running.start_web(workers=1)
            running.start_worker()
            yield running
        finally:
            running.stop()


@pytest.fixture(scope=ALIVE)
def browser() -> Iterator[Browser]:
    # Playwright keeps an event loop running beside the test, which Django takes for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    try:
        with chromium() as running:
            yield running
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def brand(transactional_db: None) -> Brand:
    """Northwind Coffee, where nothing has happened yet."""
    made = factories.brand(name="Northwind Coffee", time_zone="Europe/Berlin")
    factories.level(made)
    return made


@pytest.fixture
def window(portal: Stack, browser: Browser, brand: Brand) -> Iterator[Callable[..., Window]]:
    """Opens windows for people with a role; what their pages did wrong fails the test.

    They are logged in and nowhere yet; with `by_form` they went through the login and are where it leads.
    """
    opened: list[Window] = []

    def opener(role: str | None = "owner", size: tuple[int, int] = DESKTOP, *, by_form: bool = False) -> Window:
        opened.append(Window(browser, portal.url, size))
        if role:
            person = staff(brand, role=role, email=f"{role}{len(opened)}@example.com", password=factories.PASSWORD)
            if by_form:
                opened[-1].login(person.email, factories.PASSWORD)
            else:
                opened[-1].begin_session(person)
        return opened[-1]

    yield opener
    complaints = [complaint for each in opened for complaint in each.complaints]
    for each in opened:
        each.close()
    assert complaints == []
