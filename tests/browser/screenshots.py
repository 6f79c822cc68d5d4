"""Takes the pictures of docs/images, each at 1440 and at 390 pixels: `.venv/bin/python -m tests.browser.screenshots`.

Everything runs on throw-away servers over the demo and three weeks of its life; nothing is left behind but the
pictures. A folder as argument takes them there instead; words after it take only the pictures so named.
"""

import io
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.browser.scenery import Scene
    from tests.browser.window import Window

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
INSIDE = "--inside"  # the servers run already
MOST_BYTES = 150_000
FILLED = {
    "batch-form": {"range_name": "Winter edition", "prefix": "WIN-", "quantity": "2500", "number_width": "6"},
    "print": {"note": "Keep cool and dry"},
    "recall": {
        "recall_id": "AUR-RC-2",
        "contact": "help@aurora.demo.example, +49 30 1234567",
        "message": "Please stop using this cream and bring it back: we refund it.",
        "reason": "The supplier reports a wrong preservative in lot 7.",
    },
}
SETTLED_MS = 700  # what a page asks for while one types, it asks a moment later
TALLEST = 1500  # pixels: what lies below repeats what lies above


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
    myself = [sys.executable, "-m", "tests.browser.screenshots", INSIDE, *arguments]
    servers = [sys.executable, str(ROOT / "bin" / "servers.py"), "exec", "--throwaway", "--"]
    return subprocess.run([*servers, *myself], env=environment, cwd=ROOT, check=False).returncode


def take(folder: Path, only: list[str]) -> None:
    import django
    import time_machine

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.utils import timezone

    from authcodes.models import AuthCode
    from brands.models import Brand, BrandHostname, User
    from tests.browser import scenery
    from tests.browser.window import DESKTOP, LOOPBACK, PHONE, Window, chromium
    from tests.stack import Stack

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    said = io.StringIO()
    with time_machine.travel(timezone.now() - timedelta(days=scenery.DAYS + 1)):
        call_command("demo", "--json", stdout=said)
    demo = json.loads(said.getvalue())
    owner = demo["staff"][0]
    running = Stack(log=Path(tempfile.mkdtemp()) / "log", redis_url=settings.REDIS_URL)
    complaints = []
    try:
        running.start_web()
        running.start_worker()
        BrandHostname.objects.create(brand_id=demo["brand_id"], hostname=LOOPBACK)
        scene = scenery.play(Brand.objects.get(pk=demo["brand_id"]), User.objects.get(email=owner["username"]))
        # The three weeks have used some of them up.
        demo["codes"] = [it.code for it in AuthCode.objects.unscanned().filter(code__in=demo["codes"])]
        with chromium() as browser:
            for size in (DESKTOP, PHONE):
                window = Window(browser, running.url, size)
                for name, path in pictures(window, owner, scene):
                    if not only or name in only:
                        window.goto(path)
                        for field, words in FILLED.get(name, {}).items():
                            window.page.locator(f"[name={field}]").fill(words)
                        picture(window, folder / (f"{name}.png" if size == DESKTOP else f"{name}-phone.png"))
                wanted = not only or any(name.startswith("scan-page") for name in only)
                for name, path in scan_pages(window, demo) if wanted else ():
                    window.page.goto(path)
                    if not only or name in only:
                        picture(window, folder / (f"{name}.png" if size == DESKTOP else f"{name}-phone.png"))
                complaints += window.complaints
    finally:
        running.stop()
    for complaint in complaints:
        print(complaint, file=sys.stderr)  # noqa: T201


def pictures(window: "Window", owner: dict[str, Any], scene: "Scene") -> Iterator[tuple[str, str]]:
    """What is on each picture; the first is taken before anybody is logged in."""
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
    yield "job", f"authcodes/job/{scene.export}/change/"
    yield "export", "authcodes/scan/export/?outcome__exact=success"


def scan_pages(window: "Window", demo: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The brand's page, as customers find it."""
    yield "scan-page-recalled", "/s/AURR-00001"
    yield "scan-page-arabic", f"/s/{demo['codes'].pop()}?lang=ar"
    yield "scan-page-typed", f"/s/{demo['codes'][0]}?by=hand&lang=en"
    code, customer = demo["codes"].pop(), demo["customers"][0]
    yield "scan-page-genuine", f"/s/{code}"
    form = window.page.locator("form[data-act=log_in]")
    form.locator("[name=email]").fill(customer["email"])
    form.locator("[name=password]").fill(customer["password"])
    form.locator("button").click()
    window.page.locator(".arrived").wait_for()
    yield "scan-page-points", f"/s/{demo['codes'].pop()}"


def picture(window: "Window", file: Path) -> None:
    """The page down to TALLEST, in as many colours as leave it small."""
    from PIL import Image

    window.page.wait_for_timeout(SETTLED_MS)
    window.page.wait_for_load_state("networkidle")
    window.page.mouse.move(0, 0)
    # A window as high as the page: what is fixed to the window's end would else lie across the page's middle.
    height = window.page.evaluate("document.documentElement.scrollHeight")
    window.page.set_viewport_size({"width": window.width, "height": min(max(height, window.height), TALLEST)})
    window.page.evaluate("document.activeElement.blur(); scrollTo(0, 0); document.fonts.ready")
    shot = Image.open(io.BytesIO(window.page.screenshot())).convert("RGB")
    window.page.set_viewport_size({"width": window.width, "height": window.height})
    file.parent.mkdir(parents=True, exist_ok=True)
    for colours in (256, 128, 64, 32, 16):
        shot.quantize(colours, dither=Image.Dither.NONE).save(file, optimize=True)
        if file.stat().st_size <= MOST_BYTES:
            return
    message = f"{file.name} is {file.stat().st_size:,} bytes, more than {MOST_BYTES:,}"
    raise ValueError(message)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
