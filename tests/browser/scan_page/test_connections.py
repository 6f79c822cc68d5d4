"""The scan page on a phone: recalls since the scan, no connection, no place, and codes that are typed or read."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from authcodes.api.qr_images import image_address
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from tests.browser.scan_page.conftest import OTHER_KEY, check, faults, log_in
from tests.support import factories
from tests.support.factories import PASSWORD
from tests.support.live_stack import wait_until


def recall_it(code):
    recall_fields = {
        "recall_id": "R-7",
        "contact": "recall@example.com",
        "message": "Bring it back.",
        "reason": "Glass",
    }
    return recalls.recall_batch(batch=code.batch, at=timezone.now(), **recall_fields)


@pytest.mark.parametrize("scan_limit", [1, None])
@pytest.mark.parametrize("logs_in", [False, True])
def test_a_code_recalled_since_its_scan_is_never_shown_as_genuine_again(phone, brand, scan_limit, logs_in):
    customer, code, page = factories.customer(brand, password=PASSWORD), factories.code(brand), phone()
    code.batch.scan_limit = scan_limit
    code.batch.save()
    check(page, f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")
    if logs_in:
        log_in(page, customer)
        expect(page.locator("#points")).to_contain_text("Points received")

    recall = recall_it(code)
    for key in ("", "another"):  # as it is, and from another address, where the same key is another scan's
        if key:
            page.evaluate(OTHER_KEY, f"scan {code}")
        page.goto(f"/s/{code}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Recalled: do not use it")
        expect(page.locator("#state")).to_contain_text("Bring it back.")
        expect(page.locator("#state").get_by_role("link", name="recall@example.com")).to_be_visible()
        expect(page.locator("#points")).to_be_empty()
    assert Scan.objects.count() == 1

    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=factories.user(is_staff=True))
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^Genuine"))


def test_without_scripts_a_guests_code_recalled_since_says_so(phone, brand):
    customer, code = factories.customer(brand, password=PASSWORD), factories.code(brand)
    page = phone(java_script_enabled=False)
    check(page, f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")

    recall_it(code)
    check(page, f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Recalled: do not use it")
    expect(page.locator("#state")).to_contain_text("Bring it back.")
    log_in(page, customer)
    expect(page.get_by_role("heading", level=1)).to_have_text("Recalled: do not use it")


def test_without_a_connection_the_last_answer_is_said_with_its_time_and_not_as_true_now(phone, brand):
    code, page = factories.code(brand, product=factories.product(brand, title="Coffee beans")), phone()
    page.goto("/s/")
    page.evaluate("navigator.serviceWorker.ready")
    wait_until(lambda: page.evaluate("caches.match('/s/').then(Boolean)"))
    check(page, f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")

    page.context.set_offline(True)
    page.goto(f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("No connection")
    expect(page.locator("#state dd").first).to_have_text(re.compile(r"\d\d:\d\d"))
    expect(page.locator("#state dd").last).to_have_text("Genuine")
    expect(page.locator("#state")).to_contain_text(
        "Whether the product has been recalled since, only a new check can say."
    )
    assert faults(page) == []
    recall_it(code)
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Recalled: do not use it")


def test_a_customer_for_whom_no_token_can_be_had_scans_nothing_until_there_is_one(phone, brand):
    customer, page = factories.customer(brand, password=PASSWORD), phone()
    page.goto("/s/")
    log_in(page, customer)
    expect(page.locator("#account h2")).to_be_visible()

    page.context.route("**/page/session", lambda route: route.fulfill(status=429, json={"error": "RATE_LIMITED"}))
    check(page, f"/s/{factories.code(brand)}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Too many attempts")
    assert not Scan.objects.exists()
    page.context.unroute_all()
    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")
    assert Scan.objects.get().user == customer


def test_the_place_is_asked_for_only_after_a_tap_and_may_be_refused(phone, brand):
    shares = phone(permissions=["geolocation"], geolocation={"latitude": 48.8566, "longitude": 2.3522})
    check(shares, f"/s/{factories.code(brand)}")
    expect(shares.get_by_role("heading", level=1)).to_have_text("Genuine")
    assert Scan.objects.get().latitude is None
    shares.get_by_role("button", name="Share your location").click()
    expect(shares.locator("#place")).to_have_text("Thank you. Your location has been saved.")
    wait_until(lambda: Scan.objects.get().location.startswith("Paris, "))
    shares.reload()
    expect(shares.locator("#points")).to_contain_text("Log in to earn")
    assert Scan.objects.count() == 1

    refuses = phone()
    check(refuses, f"/s/{factories.code(brand)}")
    refuses.get_by_role("button", name="Share your location").click()
    expect(refuses.locator("#place")).to_contain_text("Nothing else changes")
    expect(refuses.get_by_role("heading", level=1)).to_have_text("Genuine")
    assert Scan.objects.filter(latitude__isnull=False).count() == 1


def test_a_code_is_typed_compared_and_checked(phone, brand):
    code, page = factories.code(brand), phone()
    page.goto("/s/")

    page.get_by_label("Enter the code as printed").fill(f" {code.code[:4]} {code.code[4:]} ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Is this your code?")
    assert not Scan.objects.exists()
    page.get_by_role("button", name="Yes, check it").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")


OTHER_VERSION = "/page/assets/000000000000/page.css"


def test_without_a_connection_a_code_is_kept_and_sent_when_the_person_says_so(phone, brand):
    code, other, page = factories.code(brand), factories.code(brand), phone()
    page.goto("/s/")
    page.evaluate("navigator.serviceWorker.ready")
    wait_until(lambda: page.evaluate("caches.match('/s/').then(Boolean)"))
    page.evaluate(f"fetch('{OTHER_VERSION}').then((it) => it.text())")
    assert page.evaluate(f"caches.match('{OTHER_VERSION}')") is None  # a host of another version answered with its own

    page.context.set_offline(True)
    page.goto(f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("No connection")
    links = "[...document.querySelectorAll('link:is([rel=stylesheet], [rel=icon])')]"
    assert page.evaluate(f"Promise.all({links}.map((it) => caches.match(it.href))).then((kept) => kept.every(Boolean))")
    page.get_by_role("button", name="Save the code for later").click()
    page.goto(f"/s/{other}")
    page.get_by_role("button", name="Save the code for later").click()
    page.context.set_offline(False)
    page.goto("/s/")
    expect(page.get_by_text("Codes saved on this phone")).to_be_visible()
    assert not Scan.objects.exists()
    page.context.route("**/auth-codes/scan", lambda route: route.fulfill(status=429, json={"error": "RATE_LIMITED"}))
    page.get_by_role("button", name=f"Send now: {code}").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Too many attempts")
    page.context.unroute_all()
    page.get_by_role("button", name=f"Send now: {code}").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")
    expect(page.locator("#kept .code")).to_have_text([str(other)])  # and its points are offered in its turn
    assert Scan.objects.get().auth_code == code


CAMERA = """
() => {
  delete window.BarcodeDetector;
  const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 640 });
  const image = new Image();
  const paper = canvas.getContext("2d");
  const draw = () => {
    paper.fillStyle = "white";
    paper.fillRect(0, 0, 640, 640);
    if (image.complete && image.naturalWidth) paper.drawImage(image, 80, 80, 480, 480);
  };
  image.src = "%s";
  setInterval(draw, 100);
  navigator.mediaDevices.getUserMedia = async () => canvas.captureStream(10);
}
"""


def test_the_camera_reads_a_code_with_the_decoder_that_is_loaded_then(phone, brand):
    code, page = factories.code(brand), phone()
    image = image_address(code)
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto("/s/")
    expect(page.get_by_role("button", name="Scan with the camera")).to_be_visible()
    assert not [each for each in loaded if "camera" in each or "wasm" in each]

    page.evaluate(CAMERA % image)
    page.get_by_role("button", name="Scan with the camera").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine", timeout=20_000)
    assert [each for each in loaded if each.endswith(".wasm")]


def test_the_camera_begins_by_itself_where_it_was_allowed_before(phone, brand):
    code = factories.code(brand)
    page = phone(permissions=["camera"])
    page.add_init_script(f"({CAMERA % image_address(code)})()")

    page.goto("/s/")

    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine", timeout=20_000)
