"""A Chromium window on the portal, driven as staff would, which notes whatever a page does wrong behind their back."""

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
SIDEBAR_FROM = 1280  # pixels of width; below that it waits behind a button
LOOPBACK = "127.0.0.1"
BY_NAME = "localhost"  # a passkey belongs to a name, so pages with passkeys are opened by this one
CHROMIUM = ["chromium-headless-shell", "chromium", "chromium-browser"]
ABORTED = "net::ERR_ABORTED"
ASSETS = {"script", "stylesheet", "image", "font"}
# Names lead nowhere but to this machine: a page that wants a file from elsewhere neither gets it nor tells anybody.
ARGUMENTS = ["--no-sandbox", f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {LOOPBACK}, EXCLUDE {BY_NAME}"]

# What a page has to offer whoever cannot see it, has no mouse, or holds a phone.
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

# Definitions of one line; at once, so that a page that is being loaded anew gives either all of its old or of its new.
FACTS = """
() => Object.fromEntries([...document.querySelectorAll("dt")]
  .map((term) => [term.innerText, term.nextElementSibling.innerText]).filter(([, fact]) => !fact.includes("\\n")))
"""

# axe-core, and the rules that it checks.
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# The rules among them whose answer depends on the size of the window or on the colours.
AXE_LOOKS = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
# Of what is good it lists one element each: to list them all takes most of its time.
# A pinned button covers half of some field wherever a page is scrolled to, and axe looks at one such place.
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

# A colour on its way, on a slow machine, still looks as it did without focus.
NO_TRANSITIONS = """
() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, *::before, *::after { transition: none !important }");
  document.adoptedStyleSheets.push(sheet);
}
"""

# A page that was asked to look different does so in the frame after next at the latest.
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

# Links that begin something and buttons that send something, but for those that only look for rows.
OFFERS = """
() => [...document.querySelectorAll("a.addlink, [type=submit], select[name=action], a[href*='/export/']")]
  .filter((it) => it.checkVisibility() && it.form?.method !== "get" && !it.form?.action.includes("/logout/"))
  .map((it) => it.title || it.innerText || it.value || it.name)
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium, which bin/test installs; without it there is nothing to look at the pages with.

    The one without windows of its own if it can be had: a page costs it half the time.
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
    """Have a page in another size and other colours, "light" or "dark"."""
    page.evaluate(NO_TRANSITIONS)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme)
    page.evaluate(FRAMES)


def load_axe(page: Page) -> None:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)


class Window:
    """One person's window, logged in or not. `complaints` grows by itself; whoever opened it looks at the end."""

    def __init__(self, browser: Browser, address: str, size: tuple[int, int] = DESKTOP, **other: Any) -> None:
        self.address = address
        self.width, self.height = size
        usual = {"locale": "en-GB", "timezone_id": "Europe/Berlin", "reduced_motion": "reduce", "color_scheme": "light"}
        viewport: Any = {"width": self.width, "height": self.height}
        self.context = browser.new_context(base_url=address, viewport=viewport, **{**usual, **other})
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
        if request.resource_type in ASSETS and request.failure != ABORTED:  # the page was left before it came
            self.complaints.append(f"not loaded: {request.url} ({request.failure})")

    def _response(self, response: Response) -> None:
        if response.status >= (400 if response.request.resource_type in ASSETS else 500):
            self.complaints.append(f"{response.status}: {response.url}")

    def begin_session(self, person: User) -> None:
        """As after a login, without its two pages: the window is nowhere yet."""
        request = RequestFactory().get("/admin/login/")
        request.session = SessionStore()
        sessions.begin(request, user=person, brand_id=None, at=timezone.now())
        request.session.save()
        cookie: Any = {"name": settings.SESSION_COOKIE_NAME, "value": request.session.session_key, "url": self.address}
        self.context.add_cookies([cookie])

    def login(self, email: str, password: str) -> None:
        """Through the form, as everybody does."""
        self.page.goto("/admin/")
        self.page.get_by_label("E-mail").fill(email)
        self.page.get_by_label("Password").fill(password)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(lambda address: urlsplit(address).path in {"/admin/", "/admin/loyalty/redemption/till/"})

    def goto(self, address: str) -> None:
        self.page.goto(f"/admin/{address}")

    def leave_for(self, path: str) -> None:
        """As `goto` from a page that may load itself again at the same moment, which ends the other loading."""
        try:
            self.page.goto(path)
        except Error as error:
            if "ERR_ABORTED" not in str(error):
                raise
            self.page.goto(path)

    def sidebar(self, group: str, name: str = "") -> None:
        """Go where the sidebar leads, and to a list of the group; a narrow window has to open the sidebar first."""
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
        """Choose in a field that looks its choices up while one types: open it, type, Enter."""
        self.page.locator(f"#id_{field} + .select2 .select2-selection").click()
        self.page.locator(".select2-search__field").last.fill(typed)
        self.page.locator(".select2-results__option--highlighted", has_text=typed).wait_for()
        self.page.keyboard.press("Enter")

    def wait_for_text(self, *texts: str) -> None:
        """Wait until the page says all of this."""
        for each in texts:
            self.page.get_by_text(each).filter(visible=True).first.wait_for()

    def lists(self, number: int) -> None:
        """Wait until the list has so many rows."""
        rows = "number => document.querySelectorAll('#result_list tr.data-row').length === number"
        self.page.wait_for_function(rows, arg=number)

    def facts(self) -> dict[str, str]:
        """The short facts of the page, by what they are about."""
        self.page.locator("dt").first.wait_for()
        found: dict[str, str] = self.page.evaluate(FACTS)
        return found

    def card(self, title: str) -> str:
        """The figure of a card with this title."""
        found = self.page.locator(f"xpath=//div[normalize-space()='{title}']/following-sibling::div[1]")
        return found.first.inner_text()

    def figure(self, title: str) -> str:
        """A figure on top of Home."""
        return self.page.locator(".home-tile", has_text=title).first.locator(".home-tile-value").inner_text()

    def offers(self) -> list[str]:
        """What the page lets people change or take away: its + and its buttons, but no searching and filtering."""
        found: list[str] = self.page.evaluate(OFFERS)
        return found

    def saved(self, click: Locator) -> str:
        """What a click saves on the disk, as text; a byte order mark belongs to the file."""
        with self.page.expect_download() as expected:
            click.click()
        return expected.value.path().read_text(encoding="utf-8")

    def audit(self) -> list[str]:
        """What keeps some people from using the open page. Waits until it is loaded: a link may just have led to it."""
        self.page.wait_for_load_state()
        found: list[str] = self.page.evaluate(AUDIT)
        where = urlsplit(self.page.url).path
        return [f"{where}: {complaint}" for complaint in found]

    def show_as(self, size: tuple[int, int], scheme: str) -> None:
        """Have the page that is open in another size and other colours."""
        self.width, self.height = size
        show_as(self.page, size, scheme)

    def axe(self, *, looks_only: bool = False) -> list[str]:
        """What axe finds on the page that is open, of the rules of WCAG 2.2 up to AA.

        `looks_only`: of those that may be broken only in this size or these colours, where all were tried in others.
        """
        load_axe(self.page)
        rules = {"type": "rule", "values": AXE_LOOKS} if looks_only else {"type": "tag", "values": AXE_RULES}
        found = self.page.evaluate(AXE_RUN, rules)
        where = urlsplit(self.page.url).path
        return [
            f"{where}: {rule['id']}: {node['html'][:160]} ({'; '.join(c['message'] for c in node['any'])})"
            for rule in found
            for node in rule["nodes"]
        ]

    def hidden_stops(self, most: int) -> list[str]:
        """Where the keyboard stops, of the first so many times that Tab is pressed, without showing it."""
        self.page.evaluate(NO_TRANSITIONS)
        found = []
        for _press in range(most):
            self.page.keyboard.press("Tab")
            stop = self.page.evaluate(FOCUS)
            if stop and not stop["differs"]:
                found.append(stop["what"])
        return found

    def close(self) -> None:
        self.context.close()
