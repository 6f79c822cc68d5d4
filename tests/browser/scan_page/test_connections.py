"""The scan page on a phone: later recalls, lost connections, locations, and codes that are typed or read by camera."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from authcodes.api.qr_images import image_address
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from brands.models.credentials import LoginSession
from tests.browser.scan_page.conftest import OTHER_KEY, check, faults, log_in
from tests.support import factories
from tests.support.factories import PASSWORD
from tests.support.live_stack import wait_until


def recall_batch_of(code):
    recall_fields = {
        "recall_id": "R-7",
        "contact": "recall@example.com",
        "message": "Bring it back.",
        "reason": "Glass",
    }
    return recalls.recall_batch(batch=code.batch, at=timezone.now(), **recall_fields)


@pytest.mark.parametrize("scan_limit", [1, None])
@pytest.mark.parametrize("logs_in", [False, True])
def test_code_recalled_after_its_scan_is_no_longer_shown_as_genuine(phone, brand, scan_limit, logs_in):
    customer, code, page = factories.customer(brand, password=PASSWORD), factories.code(brand), phone()
    code.batch.scan_limit = scan_limit
    code.batch.save()
    check(page, f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")
    if logs_in:
        log_in(page, customer)
        expect(page.locator("#points")).to_contain_text("Points received")

    recall = recall_batch_of(code)
    for key in ("", "another"):  # unchanged, and from another address, where the same key is that of another scan
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


def test_without_scripts_a_guest_sees_a_recall_after_the_scan(phone, brand):
    customer, code = factories.customer(brand, password=PASSWORD), factories.code(brand)
    page = phone(java_script_enabled=False)
    check(page, f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")

    recall_batch_of(code)
    check(page, f"/s/{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Recalled: do not use it")
    expect(page.locator("#state")).to_contain_text("Bring it back.")
    log_in(page, customer)
    expect(page.get_by_role("heading", level=1)).to_have_text("Recalled: do not use it")


def test_offline_page_shows_the_last_answer_with_its_time(phone, brand):
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
    recall_batch_of(code)
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Recalled: do not use it")


def test_customer_without_a_token_cannot_scan_until_there_is_one(phone, brand):
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


def test_location_is_requested_only_after_a_tap_and_may_be_denied(phone, brand):
    sharing_page = phone(permissions=["geolocation"], geolocation={"latitude": 48.8566, "longitude": 2.3522})
    check(sharing_page, f"/s/{factories.code(brand)}")
    expect(sharing_page.get_by_role("heading", level=1)).to_have_text("Genuine")
    assert Scan.objects.get().latitude is None
    sharing_page.get_by_role("button", name="Share your location").click()
    expect(sharing_page.locator("#place")).to_have_text("Thank you. Your location has been saved.")
    wait_until(lambda: Scan.objects.get().location.startswith("Paris, "))
    sharing_page.reload()
    expect(sharing_page.locator("#points")).to_contain_text("Log in to earn")
    assert Scan.objects.count() == 1

    denying_page = phone()
    check(denying_page, f"/s/{factories.code(brand)}")
    denying_page.get_by_role("button", name="Share your location").click()
    expect(denying_page.locator("#place")).to_contain_text("Nothing else changes")
    expect(denying_page.get_by_role("heading", level=1)).to_have_text("Genuine")
    assert Scan.objects.filter(latitude__isnull=False).count() == 1


def test_typed_code_is_confirmed_and_checked(phone, brand):
    code, page = factories.code(brand), phone()
    page.goto("/s/")

    page.get_by_label("Enter the code as printed").fill(f" {code.code[:4]} {code.code[4:]} ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Is this your code?")
    assert not Scan.objects.exists()
    page.get_by_role("button", name="Yes, check it").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine")


OTHER_VERSION = "/page/assets/000000000000/page.css"


def test_code_is_saved_offline_and_sent_on_request(phone, brand):
    code, other, page = factories.code(brand), factories.code(brand), phone()
    page.goto("/s/")
    page.evaluate("navigator.serviceWorker.ready")
    wait_until(lambda: page.evaluate("caches.match('/s/').then(Boolean)"))
    page.evaluate(f"fetch('{OTHER_VERSION}').then((it) => it.text())")
    assert page.evaluate(f"caches.match('{OTHER_VERSION}')") is None  # another version's file is not cached

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
    expect(page.locator("#kept .code")).to_have_text([str(other)])  # the other code is still saved
    assert Scan.objects.get().auth_code == code


def open_stored_page(phone):
    """The page without a code, stored for offline use, in a phone that has lost its connection."""
    page = phone()
    page.goto("/s/")
    page.evaluate("navigator.serviceWorker.ready")
    wait_until(lambda: page.evaluate("caches.match('/s/').then(Boolean)"))
    page.context.set_offline(True)
    page.reload()
    return page


def test_typed_code_can_be_saved_offline(phone, brand):
    page = open_stored_page(phone)

    page.get_by_label("Enter the code as printed").fill("NW-1 234")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("No connection")
    page.get_by_role("button", name="Save the code for later").click()

    expect(page.locator("#kept .code")).to_have_text(["NW-1234"])


DECODER = """
() => {
  window.BarcodeDetector = class {
    static async getSupportedFormats() { return ["qr_code"]; }
    async detect() { return [{ rawValue: "NW-1234" }]; }
  };
  const canvas = document.createElement("canvas"), paper = canvas.getContext("2d");
  setInterval(() => paper.fillRect(0, 0, 10, 10), 100);
  navigator.mediaDevices.getUserMedia = async () => canvas.captureStream(10);
}
"""


def test_code_read_by_the_camera_can_be_saved_offline(phone, brand):
    page = open_stored_page(phone)

    page.evaluate(DECODER)
    page.get_by_role("button", name="Scan with the camera").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("No connection")
    page.get_by_role("button", name="Save the code for later").click()

    expect(page.locator("#kept .code")).to_have_text(["NW-1234"])


def test_camera_without_its_decoder_is_reported_offline(phone, brand):
    page = open_stored_page(phone)

    page.evaluate("delete window.BarcodeDetector")
    page.get_by_role("button", name="Scan with the camera").click()

    expect(page.locator("#camera-offer")).to_have_text("The camera cannot be used here. Type the code instead.")


def test_rejected_logout_is_reported_and_can_be_repeated(phone, brand):
    customer, page = factories.customer(brand, password=PASSWORD), phone()
    page.goto("/s/")
    log_in(page, customer)
    expect(page.locator("#account h2")).to_be_visible()
    page.goto("/s/?account")
    page.context.route(
        "**/page/session", lambda route: route.fulfill(status=429, json={"error": "RATE_LIMITED", "message": "Wait."})
    )
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("#points")).to_have_text("Wait.")
    page.context.unroute_all()

    page.get_by_role("button", name="Log out").click()
    expect(page.locator("[data-entry=log_in]")).to_be_visible()
    assert LoginSession.objects.get().revoked_at


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


def test_camera_reads_a_code_with_a_decoder_loaded_on_demand(phone, brand):
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


def test_camera_starts_by_itself_if_it_was_allowed_before(phone, brand):
    code = factories.code(brand)
    page = phone(permissions=["camera"])
    page.add_init_script(f"({CAMERA % image_address(code)})()")

    page.goto("/s/")

    expect(page.get_by_role("heading", level=1)).to_have_text("Genuine", timeout=20_000)
