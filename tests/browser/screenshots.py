"""Takes the pictures of docs/images that pages show: `.venv/bin/python -m tests.browser.screenshots`.

They are 1440 pixels wide, or 390 if their name ends in -phone. Everything runs on throw-away servers with three weeks
of the demo; only the pictures remain. The first argument may name another folder for them; further arguments limit the
pictures to those names.
"""

import io
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.browser.page_fixtures import Scene
    from tests.browser.window import Window

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
INSIDE = "--inside"  # the servers are running already
MAX_BYTES = 150_000
FORM_VALUES = {
    "batch-form": {"range_name": "Winter edition"},
    "print": {"note": "Keep cool and dry"},
    "recall": {
        "recall_id": "AUR-RC-2",
        "contact": "help@aurora.demo.example, +49 30 1234567",
        "message": "Please stop using this cream and bring it back: we refund it.",
        "reason": "The supplier reports a wrong preservative in lot 7.",
    },
    "adjust": {"amount": "50", "reason": "Sorry for the jar that came broken."},
}
# Scrolls the page and everything inside it to the top, because filling in a form scrolls to its fields. The sidebar is
# left as it is: it shows the current page.
SCROLL_TO_TOP = """
() => {
  document.activeElement.blur();
  const scrolled = [...document.querySelectorAll("*")].filter((it) => it.scrollTop && !it.closest("#nav-sidebar"));
  scrolled.forEach((it) => it.scrollTo(0, 0));
  return document.fonts.ready.then(() => true);
}
"""
SETTLED_MS = 700  # a page sends its requests a moment after typing
NETWORK_IDLE_MS = 10_000
BUSY_MS = 180_000  # for a busy machine
MAX_HEIGHT = 1500  # pixels: what lies below repeats what lies above


def main(arguments: list[str]) -> int:
    if INSIDE in arguments:
        arguments.remove(INSIDE)
        take(Path(arguments[0]) if arguments else IMAGES, only=arguments[1:])
        return 0
    secret = secrets.token_urlsafe(48)
    environment = {
        **os.environ,
        "SECRET_KEY": secret,
        "CODE_TAG_SECRETS": f"1:{secret}",
        "ALLOWED_HOSTS": "127.0.0.1,localhost",
        "HTTPS": "0",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        # Playwright keeps an event loop running, which Django takes for asynchronous code.
        "DJANGO_ALLOW_ASYNC_UNSAFE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "tests.browser.screenshots", INSIDE, *arguments]
    servers = [sys.executable, str(ROOT / "bin" / "servers.py"), "exec", "--throwaway", "--"]
    return subprocess.run([*servers, *command], env=environment, cwd=ROOT, check=False).returncode


def take(folder: Path, only: list[str]) -> None:
    import django
    import time_machine

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.utils import timezone

    from authcodes.models.codes import AuthCode
    from brands.models.people import User
    from brands.models.tenants import Brand, BrandHostname
    from tests.browser import page_fixtures
    from tests.browser.window import DESKTOP, LOOPBACK, PHONE, Window, chromium
    from tests.support.live_stack import Stack

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    output = io.StringIO()
    with time_machine.travel(timezone.now() - timedelta(days=page_fixtures.DAYS + 1)):
        call_command("demo", "--json", stdout=output)
    demo = json.loads(output.getvalue())
    owner = demo["staff"][0]
    stack = Stack(log=Path(tempfile.mkdtemp()) / "log", redis_url=settings.REDIS_URL)
    complaints = []
    try:
        stack.start_web()
        stack.start_worker()
        BrandHostname.objects.create(brand_id=demo["brand_id"], hostname=LOOPBACK)
        scene = page_fixtures.fill_demo(
            Brand.objects.get(pk=demo["brand_id"]), User.objects.get(email=owner["username"])
        )
        # The three weeks have used up some of them.
        demo["codes"] = [it.code for it in AuthCode.objects.unscanned().filter(code__in=demo["codes"])]
        requested = set(only) or pictures_in_docs()
        with chromium() as browser:
            for size in (DESKTOP, PHONE):
                window, suffix = Window(browser, stack.url, size), "" if size == DESKTOP else "-phone"
                window.context.set_default_timeout(BUSY_MS)
                for name, path in pictures(window, owner, scene):
                    if name + suffix in requested:
                        window.goto(path)
                        for field, content in FORM_VALUES.get(name, {}).items():
                            window.page.locator(f"[name={field}]").fill(content)
                        picture(window, folder / f"{name}{suffix}.png")
                scans = any(
                    name.startswith("scan-page") and name.endswith("-phone") == bool(suffix) for name in requested
                )
                for name, path in scan_pages(window, demo) if scans else ():
                    window.page.goto(path)
                    if name + suffix in requested:
                        picture(window, folder / f"{name}{suffix}.png")
                complaints += window.complaints
    finally:
        stack.stop()
    for complaint in complaints:
        print(complaint, file=sys.stderr)  # noqa: T201


def pictures_in_docs() -> set[str]:
    """The names of the pictures that the documentation shows."""
    return {name for page in DOCS.rglob("*.md") for name in re.findall(r"images/([\w-]+)\.png", page.read_text())}


def pictures(window: "Window", owner: dict[str, Any], scene: "Scene") -> Iterator[tuple[str, str]]:
    """The name and path of each picture; the first is taken before the login."""
    yield "login", ""
    window.login(owner["username"], owner["password"])
    yield "dashboard", ""
    yield "batches", "authcodes/batchrange/"
    yield "batch-form", "authcodes/batchrange/add/"
    yield "batch", f"authcodes/batchrange/{scene.batch}/change/"
    yield "print", f"authcodes/printrun/batch/{scene.fresh_batch}/"
    yield "codes", "authcodes/authcode/"
    yield "code", f"authcodes/authcode/{scene.code}/change/"
    yield "scans", "authcodes/scan/"
    yield "import", "authcodes/import/add/"
    yield "import-preview", f"authcodes/import/{scene.upload}/change/"
    yield "recall", f"authcodes/recall/add/?batch={scene.batch}"
    yield "job", f"jobs/job/{scene.export}/change/"
    yield "export", "authcodes/scan/export/?outcome__exact=success"
    yield "member", f"loyalty/userpoints/{scene.member}/change/"
    yield "campaign", f"campaigns/campaign/{scene.campaign}/page/"
    yield "programme", "loyalty/pointsrollup/programme/"
    yield "rule", "campaigns/earningrule/add/"
    yield "adjust", f"loyalty/userpoints/{scene.member}/adjust/"
    yield "erase", f"loyalty/userpoints/{scene.member}/erase/"
    yield "till", f"loyalty/redemption/till?code={scene.reward_code}"
    yield "notification-templates", "loyalty/notificationtemplate/"
    query = "template=NOTIFY_CAMPAIGN_SUCCESS&channel=email&language=en"
    yield "notification-preview", f"loyalty/notificationtemplate/preview/?brand={scene.brand}&{query}"
    yield "webhook-message", f"loyalty/webhookdelivery/{scene.message}/change/"


def scan_pages(window: "Window", demo: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The brand's page, as customers see it."""
    yield "scan-page-recalled", "/s/AURR-00001"
    yield "scan-page-arabic", f"/s/{demo['codes'].pop()}?lang=ar"
    yield "scan-page-typed", f"/s/{demo['codes'][0]}?by=hand&lang=en"
    code, customer = demo["codes"].pop(), demo["customers"][0]
    yield "scan-page-genuine", f"/s/{code}"
    check(window)
    form = window.page.locator("form[data-act=log_in]")
    window.page.locator("[data-entry=log_in] summary").click()
    form.locator("[name=email]").fill(customer["email"])
    form.locator("[name=password]").fill(customer["password"])
    form.locator("button").click()
    window.page.locator(".arrived").wait_for()
    yield "scan-page-points", f"/s/{demo['codes'].pop()}"


def check(window: "Window") -> None:
    """Press the button of a code's page, unless it was pressed already: the picture shows the result."""
    if window.page.locator("#check:not([data-by-hand] #check)").count():
        window.page.locator("#check button").click()


def picture(window: "Window", file: Path) -> None:
    """Save the page down to MAX_HEIGHT, in as many colours as keep the file small."""
    from PIL import Image
    from playwright import sync_api

    check(window)
    window.page.wait_for_timeout(SETTLED_MS)
    with suppress(sync_api.TimeoutError):  # a page that never becomes idle is settled by then too
        window.page.wait_for_load_state("networkidle", timeout=NETWORK_IDLE_MS)
    window.page.mouse.move(0, 0)
    # A window as high as the page, since whatever is fixed to the window's bottom would otherwise cover the middle.
    height = window.page.evaluate("document.documentElement.scrollHeight")
    window.page.set_viewport_size({"width": window.width, "height": min(max(height, window.height), MAX_HEIGHT)})
    window.page.evaluate(SCROLL_TO_TOP)
    window.page.wait_for_timeout(SETTLED_MS)  # frames, such as a mail's preview, are drawn again by their own process
    shot = Image.open(io.BytesIO(window.page.screenshot())).convert("RGB")
    window.page.set_viewport_size({"width": window.width, "height": window.height})
    file.parent.mkdir(parents=True, exist_ok=True)
    for colours in (256, 128, 64, 32, 16):
        shot.quantize(colours, dither=Image.Dither.NONE).save(file, optimize=True)
        if file.stat().st_size <= MAX_BYTES:
            return
    message = f"{file.name} is {file.stat().st_size:,} bytes, more than {MAX_BYTES:,}"
    raise ValueError(message)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
