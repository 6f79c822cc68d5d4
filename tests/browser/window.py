"""A Chromium window on the portal, driven as staff would, which records errors of its pages that staff do not see."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import axe_playwright_python
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.test import RequestFactory
from django.utils import timezone
from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Request, Response, sync_playwright

from brands.models.people import User
from brands.staff_login import sessions

DESKTOP, PHONE = (1440, 900), (390, 844)
SIDEBAR_FROM = 1280  # pixels of width; below that it is behind a button
LOOPBACK = "127.0.0.1"
BY_NAME = "localhost"  # a passkey belongs to a name, so pages with passkeys are opened by this one
CHROMIUM = ["chromium-headless-shell", "chromium", "chromium-browser"]
ABORTED = "net::ERR_ABORTED"
ASSETS = {"script", "stylesheet", "image", "font"}
# Hostnames lead only to this machine: a page can neither load a file from another host nor send anything there.
ARGUMENTS = ["--no-sandbox", f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {LOOPBACK}, EXCLUDE {BY_NAME}"]

# What a page needs for users who cannot see it, have no mouse, or use a phone.
AUDIT = """
() => {
  const problems = [];
  const shown = (element) => element.checkVisibility({ checkVisibilityCSS: true }) && element.getClientRects().length;
  const textOf = (element) => {
    const copy = element.cloneNode(true);
    copy.querySelectorAll(".material-symbols-outlined, svg").forEach((icon) => icon.remove());
    const inside = element.querySelector("img[alt]:not([alt='']), [title]");
    return copy.textContent.trim() || inside?.alt || inside?.title || "";
  };
  const named = (id) => textOf(document.getElementById(id) || document.createElement("p"));
  const name = (element) =>
    element.getAttribute("aria-label") ||
    (element.getAttribute("aria-labelledby") || "").split(" ").map((id) => id && named(id)).join(" ").trim() ||
    [...(element.labels || [])].map(textOf).join(" ").trim() ||
    element.title;
  const sketch = (element) => element.outerHTML.replace(/\\s+/g, " ").slice(0, 140);

  if (!document.documentElement.lang) problems.push("no language");
  if (!document.title.trim()) problems.push("no title");
  const titles = [...document.querySelectorAll("h1")].filter((it) => shown(it) && textOf(it));
  if (titles.length !== 1) problems.push(`${titles.length} headings of the first level`);
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!name(field) && (shown(field) || field.classList.contains("select2-hidden-accessible")))
      problems.push(`a field without a label: ${sketch(field)}`);
  }
  for (const link of document.querySelectorAll("a[href], button")) {
    if (shown(link) && !name(link) && !textOf(link)) problems.push(`a link or button without words: ${sketch(link)}`);
  }
  for (const element of document.querySelectorAll("[hx-get], [hx-post], [x-sort]"))
    problems.push(`needs a library that the skeleton leaves out: ${sketch(element)}`);
  for (const image of document.querySelectorAll("img:not([alt])"))
    problems.push(`an image without alt: ${sketch(image)}`);
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) problems.push(`${scrollWidth - clientWidth} pixels wider than the window`);
  return problems;
}
"""

# Definitions of one line, read in one step: a page that is being reloaded gives either all old values or all new ones.
DEFINITIONS = """
() => Object.fromEntries([...document.querySelectorAll("dt")]
  .map((term) => [term.innerText, term.nextElementSibling.innerText]).filter(([, fact]) => !fact.includes("\\n")))
"""

# axe-core, and the rules that it checks.
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# The rules among them whose answer depends on the size of the window or on the colours.
APPEARANCE_RULES = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
# Rules that are met list only one element, because listing all of them takes most of the time.
# A pinned button always covers half of some field, however a page is scrolled, and axe checks only one position.
AXE_RUN = """
async (runOnly) => {
  const unpinned = new CSSStyleSheet();
  unpinned.replaceSync(".submit-save { position: static !important }");
  document.adoptedStyleSheets.push(unpinned);
  const { violations } = await axe.run({ runOnly, resultTypes: ["violations"] });
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== unpinned);
  return violations;
}
"""

# On a slow machine, a colour in transition still looks as it did without focus.
NO_TRANSITIONS = """
() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, *::before, *::after { transition: none !important }");
  document.adoptedStyleSheets.push(sheet);
}
"""

# A changed appearance takes effect after two frames at the latest.
FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

# Whether the focused element looks different without focus, and what it is.
FOCUS = """
() => {
  const appearance = (element) => {
    const found = [];
    for (let it = element, depth = 0; it && depth < 3; it = it.parentElement, depth += 1) {
      const style = getComputedStyle(it);
      found.push(style.outlineStyle === "none" ? "" : style.outline, style.boxShadow, style.borderColor,
                 style.backgroundColor, style.color, style.textDecorationLine);
    }
    return found.join("|");
  };
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const with_focus = appearance(element);
  element.blur();
  const without = appearance(element);
  element.focus({ focusVisible: true, preventScroll: true });
  return { differs: with_focus !== without, what: element.outerHTML.replace(/\\s+/g, " ").slice(0, 140) };
}
"""

# Links that begin an action and buttons that submit a form, except those that only search for rows.
OFFERS = """
() => [...document.querySelectorAll("a.addlink, [type=submit], select[name=action], a[href*='/export/']")]
  .filter((it) => it.checkVisibility() && it.form?.method !== "get" && !it.form?.action.includes("/logout/"))
  .map((it) => it.title || it.innerText || it.value || it.name)
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium, which bin/test installs.

    The headless shell is preferred, because it takes half the time for a page.
    """
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        message = "Chromium is missing; as root: apt-get install -y --no-install-recommends chromium-headless-shell"
        raise RuntimeError(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


def show_as(page: Page, size: tuple[int, int], scheme: Any) -> None:
    """Show a page in another size and colour scheme, "light" or "dark"."""
    page.evaluate(NO_TRANSITIONS)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme)
    page.evaluate(FRAMES)


def load_axe(page: Page) -> None:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)


class Window:
    """The window of one user, logged in or not. `complaints` collects errors, which its opener checks at the end."""

    def __init__(self, browser: Browser, address: str, size: tuple[int, int] = DESKTOP, **options: Any) -> None:
        self.address = address
        self.width, self.height = size
        defaults = {
            "locale": "en-GB",
            "timezone_id": "Europe/Berlin",
            "reduced_motion": "reduce",
            "color_scheme": "light",
        }
        viewport: Any = {"width": self.width, "height": self.height}
        self.context = browser.new_context(base_url=address, viewport=viewport, **{**defaults, **options})
        self.context.set_default_timeout(30_000)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        self.context.on("request", self._request)
        self.context.on("requestfailed", self._failed)
        self.context.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"console: {message.text} ({message.location['url']})")

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in {"http", "https", "ws", "wss"} and address.hostname not in {LOOPBACK, BY_NAME}:
            self.complaints.append(f"leaves this machine: {request.url}")

    def _failed(self, request: Request) -> None:
        if request.resource_type in ASSETS and request.failure != ABORTED:  # the page was left before the file arrived
            self.complaints.append(f"not loaded: {request.url} ({request.failure})")

    def _response(self, response: Response) -> None:
        if response.status >= (400 if response.request.resource_type in ASSETS else 500):
            self.complaints.append(f"{response.status}: {response.url}")

    def begin_session(self, user: User) -> None:
        """Log in without the two pages of the login; no page is open yet."""
        request = RequestFactory().get("/admin/login/")
        request.session = SessionStore()
        sessions.begin(request, user=user, brand_id=None, at=timezone.now())
        request.session.save()
        cookie: Any = {"name": settings.SESSION_COOKIE_NAME, "value": request.session.session_key, "url": self.address}
        self.context.add_cookies([cookie])

    def login(self, email: str, password: str) -> None:
        """Log in through the form, as users do."""
        self.page.goto("/admin/")
        self.page.get_by_label("E-mail").fill(email)
        self.page.get_by_label("Password").fill(password)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(lambda address: urlsplit(address).path in {"/admin/", "/admin/loyalty/redemption/till/"})

    def goto(self, address: str) -> None:
        self.page.goto(f"/admin/{address}")

    def leave_for(self, path: str) -> None:
        """Like `goto`, from a page that may reload itself at the same moment, which aborts the navigation."""
        try:
            self.page.goto(path)
        except Error as error:
            if not re.search("ERR_ABORTED|interrupted by another navigation", str(error)):
                raise
            self.page.goto(path)

    def sidebar(self, group: str, name: str = "") -> None:
        """Open a group of the sidebar, and a list of the group; a narrow window has to open the sidebar first."""
        if self.width < SIDEBAR_FROM:
            self.page.get_by_text("dock_to_right", exact=True).filter(visible=True).click()
        with self.page.expect_navigation():
            self.page.locator("#nav-sidebar-apps").get_by_text(group, exact=True).click()
        if not name:
            return
        tab = self.page.locator(".group-tabs").get_by_role("link", name=name, exact=True)
        menu = self.page.locator(".group-tabs summary")
        menu.or_(tab).first.wait_for()
        if not tab.is_visible():
            menu.click()
        with self.page.expect_navigation():
            tab.click()

    def add(self) -> None:
        """Press the + of the page."""
        self.page.locator("a.addlink").click()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def link(self, name: str) -> Locator:
        return self.page.get_by_role("link", name=name)

    def look_up(self, field: str, typed: str) -> None:
        """Choose in a field that searches its choices while the user types: open it, type, Enter."""
        self.page.locator(f"#id_{field} + .select2 .select2-selection").click()
        self.page.locator(".select2-search__field").last.fill(typed)
        self.page.locator(".select2-results__option--highlighted", has_text=typed).wait_for()
        self.page.keyboard.press("Enter")

    def wait_for_text(self, *texts: str) -> None:
        """Wait until the page shows all these texts."""
        for each in texts:
            self.page.get_by_text(each).filter(visible=True).first.wait_for()

    def lists(self, number: int) -> None:
        """Wait until the list has so many rows."""
        rows = "number => document.querySelectorAll('#result_list tr.data-row').length === number"
        self.page.wait_for_function(rows, arg=number)

    def definitions(self) -> dict[str, str]:
        """The short definitions of the page, by their terms."""
        self.page.locator("dt").first.wait_for()
        values: dict[str, str] = self.page.evaluate(DEFINITIONS)
        return values

    def card(self, title: str) -> str:
        """The figure of a card with this title."""
        figure = self.page.locator(f"xpath=//div[normalize-space()='{title}']/following-sibling::div[1]")
        return figure.first.inner_text()

    def figure(self, title: str) -> str:
        """A figure on top of Home."""
        return self.page.locator(".home-tile", has_text=title).first.locator(".home-tile-value").inner_text()

    def offers(self) -> list[str]:
        """What the page lets users change or export: its + and its buttons, except searching and filtering."""
        offered: list[str] = self.page.evaluate(OFFERS)
        return offered

    def saved(self, click: Locator) -> str:
        """The text of the file that a click downloads, including a byte order mark."""
        with self.page.expect_download() as expected:
            click.click()
        return expected.value.path().read_text(encoding="utf-8")

    def audit(self) -> list[str]:
        """Accessibility problems of the open page. Waits until it is loaded, because a link may just have opened it."""
        self.page.wait_for_load_state()
        problems: list[str] = self.page.evaluate(AUDIT)
        path = urlsplit(self.page.url).path
        return [f"{path}: {complaint}" for complaint in problems]

    def show_as(self, size: tuple[int, int], scheme: str) -> None:
        """Show the open page in another size and colour scheme."""
        self.width, self.height = size
        show_as(self.page, size, scheme)

    def axe(self, *, appearance_only: bool = False) -> list[str]:
        """What axe finds on the open page, by the rules of WCAG 2.2 up to AA.

        `appearance_only`: only rules that depend on size or colours, for a page that was checked in other ones already.
        """
        load_axe(self.page)
        rules = (
            {"type": "rule", "values": APPEARANCE_RULES} if appearance_only else {"type": "tag", "values": AXE_RULES}
        )
        violations = self.page.evaluate(AXE_RUN, rules)
        path = urlsplit(self.page.url).path
        return [
            f"{path}: {rule['id']}: {node['html'][:160]} ({'; '.join(c['message'] for c in node['any'])})"
            for rule in violations
            for node in rule["nodes"]
        ]

    def hidden_stops(self, presses: int) -> list[str]:
        """The elements that show no focus, among those that so many presses of Tab lead to."""
        self.page.evaluate(NO_TRANSITIONS)
        hidden = []
        for _press in range(presses):
            self.page.keyboard.press("Tab")
            stop = self.page.evaluate(FOCUS)
            if stop and not stop["differs"]:
                hidden.append(stop["what"])
        return hidden

    def close(self) -> None:
        self.context.close()
