"""One installation and one Chromium for all browser tests; every window is checked for errors when its test ends."""

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

# Only for these tests: a worker that lived longer would handle the events of other tests.
SCOPE = "package"


@pytest.fixture(scope=SCOPE)
def portal(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    directory = tmp_path_factory.mktemp("portal")
    # A separate folder for static files: with STATIC_ROOT, each test client of this process would search all files,
    # and the tests after these would take twice as long.
    static_settings = {"STATIC_ROOT": str(directory / "static")}
    stack = Stack(log=directory / "log", redis_url=settings.REDIS_URL, settings=static_settings)
    with django_db_blocker.unblock():
        collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity=0"]
        subprocess.run(collect, cwd=ROOT, env=stack.environment(), check=True)
        try:
            stack.start_web(workers=1)
            stack.start_worker()
            yield stack
        finally:
            stack.stop()


@pytest.fixture(scope=SCOPE)
def browser() -> Iterator[Browser]:
    # Playwright runs an event loop during the test, which Django takes for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    try:
        with chromium() as instance:
            yield instance
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def brand(transactional_db: None) -> Brand:
    """Northwind Coffee, a brand without any activity yet."""
    northwind = factories.brand(name="Northwind Coffee", time_zone="Europe/Berlin")
    factories.level(northwind)
    return northwind


@pytest.fixture
def window(portal: Stack, browser: Browser, brand: Brand) -> Iterator[Callable[..., Window]]:
    """Opens windows of staff with a role; errors of their pages fail the test.

    The users are logged in, with no page open; with `by_form` they log in through the form, which opens a page.
    """
    windows: list[Window] = []

    def open_window(role: str | None = "owner", size: tuple[int, int] = DESKTOP, *, by_form: bool = False) -> Window:
        windows.append(Window(browser, portal.url, size))
        if role:
            user = staff(brand, role=role, email=f"{role}{len(windows)}@example.com", password=factories.PASSWORD)
            if by_form:
                windows[-1].login(user.email, factories.PASSWORD)
            else:
                windows[-1].begin_session(user)
        return windows[-1]

    yield open_window
    complaints = [complaint for opened_window in windows for complaint in opened_window.complaints]
    for opened_window in windows:
        opened_window.close()
    assert complaints == []
