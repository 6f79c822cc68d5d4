"""Counts what a hand does beside typing."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import FileChooser, Locator, Page


class Clicks:
    def __init__(self) -> None:
        self.number = 0

    def __call__(self, locator: Locator) -> None:
        locator.click()
        self.number += 1

    def choosing(self, page: Page, locator: Locator) -> Callable[[Any], None]:
        """Press a field for files; what it returns chooses one in the system's own window, which is no more click."""
        with page.expect_file_chooser() as expected:
            self(locator)
        chooser: FileChooser = expected.value
        return chooser.set_files
