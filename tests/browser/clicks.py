"""Counts what a hand does besides typing, as the pages themselves notice it."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import FileChooser, Locator

from tests.browser.window import Window

# Each press of a mouse or finger that reaches the page: one for a click, a drag or a long press. Playwright presses
# again where the element has moved away; the press that missed it stops at the window. A document counts a press once.
COUNT_PRESSES = """
window.countPress ??= (event) => { if (event.isTrusted) window.handPressed(); };
document.addEventListener("pointerdown", window.countPress, true);
"""


class Clicks:
    """The presses in all pages of a window from now on. Calling it with an element clicks the element."""

    def __init__(self, window: Window) -> None:
        self.page, self.number = window.page, 0
        window.context.expose_binding("handPressed", self._pressed)
        window.context.add_init_script(COUNT_PRESSES)
        self.page.evaluate(COUNT_PRESSES)

    def _pressed(self, _source: Any) -> None:
        self.number += 1

    def __call__(self, locator: Locator) -> None:
        locator.click()

    def choosing(self, locator: Locator) -> Callable[[Any], None]:
        """Press a file field; the returned function chooses a file in the system's dialog, which is not counted."""
        with self.page.expect_file_chooser() as expected:
            self(locator)
        chooser: FileChooser = expected.value
        return chooser.set_files

    def drag(self, locator: Locator, across: float, down: float) -> None:
        """Drag by so many pixels from the element's middle."""
        locator.evaluate("it => it.scrollIntoView({ block: 'center' })")
        box = locator.bounding_box()
        assert box
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + across / 2, y + down / 2)
        self.page.mouse.move(x + across, y + down)
        self.page.mouse.up()
