"""The till: scanners without a field, a camera that stays on, sounds, undo, and work without a connection."""

import re
import time
from statistics import median
from typing import Any

import pytest
import qrcode
from playwright.sync_api import expect

from loyalty.models.rewards import Redemption
from loyalty.rewards import codes
from tests.browser.window import DESKTOP, PHONE, Window
from tests.support import factories

TILL = "loyalty/redemption/till/"
CUSTOMERS, SECONDS = 5, 5.0
EXPECTED_ERRORS = re.compile(r"ERR_INTERNET_DISCONNECTED")
# Records what the page plays.
RECORD_SOUNDS = """
window.heard = [];
window.AudioContext = class {
  currentTime = 0; state = "running"; destination = {};
  createOscillator() {
    const frequency = { set value(hertz) { window.heard.push(hertz); } };
    return { frequency, connect: (to) => to, start() {}, stop() {} };
  }
  createGain() {
    return { gain: { setValueAtTime() {}, exponentialRampToValueAtTime() {} }, connect: (to) => to };
  }
};
"""
# A camera that sees what `show` is called with: rows of the dark and light modules of a QR code.
CAMERA = """
delete window.BarcodeDetector;
const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 640 });
const paper = canvas.getContext("2d");
let rows = [];
window.show = (matrix) => { rows = matrix; };
setInterval(() => {
  paper.fillStyle = "white";
  paper.fillRect(0, 0, 640, 640);
  paper.fillStyle = "black";
  const side = Math.floor(560 / (rows.length || 1));
  rows.forEach((row, y) => row.forEach((dark, x) => dark && paper.fillRect(40 + x * side, 40 + y * side, side, side)));
}, 50);
navigator.mediaDevices.enumerateDevices = async () => [{ kind: "videoinput" }];
navigator.mediaDevices.getUserMedia = async () => {
  window.asked = (window.asked || 0) + 1;
  return canvas.captureStream(20);
};
"""
# The list of codes for times without a connection is empty, as if each were older than the newest that it has.
EMPTY_LIST = """
const real = window.fetch;
window.fetch = async (address, options) => {
  const response = await real(address, options);
  return String(address).endsWith("till/codes") ? Response.json({ ...await response.json(), codes: [] }) : response;
};
"""


@pytest.fixture
def customer(brand):
    ada = factories.customer(brand, first_name="Ada")
    factories.points(ada, brand, 1000)
    return ada


@pytest.fixture
def issue_code(brand, customer):
    """Issues a reward of this name to the customer; returns its code as the customer's phone shows it."""

    def issue(name: str = "A mug") -> str:
        return codes.grouped(factories.redemption(customer, factories.reward(brand, name=name, cost=10)).code)

    return issue


def open_till(window: Any, *scripts: str, size: tuple[int, int] = PHONE) -> Window:
    till: Window = window("support", size)
    for script in (RECORD_SOUNDS, *scripts):
        till.context.add_init_script(script)
    till.goto(TILL)
    return till


def scan(page: Any, code: str) -> None:
    """Type a code as a USB scanner does, wherever the focus is."""
    page.evaluate("document.activeElement.blur()")
    page.keyboard.type(code)
    page.keyboard.press("Enter")


def test_each_of_five_customers_takes_less_than_five_seconds_and_one_tap(window, issue_code, record_property):
    page = open_till(window).page
    waiting = [issue_code(f"Reward {number}") for number in range(CUSTOMERS)]
    checks, totals, taps = [], [], 0

    for number, code in enumerate(waiting):
        began = time.monotonic()
        scan(page, code)
        page.get_by_role("heading", name=f"Hand over: Reward {number}").wait_for()
        checks.append(time.monotonic() - began)
        page.get_by_role("button", name="Mark as used").click()
        taps += 1
        page.get_by_role("heading", name=f"Just handed over: Reward {number}").wait_for()
        totals.append(time.monotonic() - began)
        assert page.get_by_label("Code", exact=True).input_value() == ""

    figures = f"to green {median(checks):.2f} s, whole {median(totals):.2f} s, slowest {max(totals):.2f} s, {taps} taps"
    print(figures)  # noqa: T201 - shown by pytest -s
    record_property("till", figures)
    assert (taps, max(totals) < SECONDS) == (CUSTOMERS, True), figures
    assert Redemption.objects.filter(status="used").count() == CUSTOMERS
    expect(page.locator("#till-count")).to_have_text(f"Handed over by you today: {CUSTOMERS}")


def test_enter_after_a_scan_marks_the_code_as_used(window, issue_code):
    page = open_till(window, size=DESKTOP).page

    scan(page, issue_code())
    expect(page.get_by_role("button", name="Mark as used")).to_be_focused()
    page.keyboard.press("Enter")

    page.get_by_role("heading", name="Just handed over: A mug").wait_for()
    scan(page, issue_code("A cup"))  # although the focus is elsewhere
    page.get_by_role("heading", name="Hand over: A cup").wait_for()


def test_sounds_differ_by_result_and_can_be_switched_off_permanently(window, issue_code):
    page, code = open_till(window).page, issue_code()
    scan(page, code)
    page.get_by_role("button", name="Mark as used").click()
    page.get_by_role("heading", name="Just handed over: A mug").wait_for()
    good = page.evaluate("window.heard.splice(0)")
    scan(page, code)
    page.get_by_role("heading", name=re.compile(r"Do not hand over: used \d\d:\d\d by support1@example.com")).wait_for()
    bad = page.evaluate("window.heard.splice(0)")

    page.get_by_role("button", name="Sound").click()
    page.reload()
    assert page.get_by_role("button", name="Sound").get_attribute("aria-pressed") == "false"
    scan(page, code)
    page.get_by_role("heading", name="Do not hand over").wait_for()

    assert (good, bad) == ([880, 1320, 1320], [220, 165])
    assert page.evaluate("window.heard") == []


def test_code_marked_as_used_by_mistake_is_undone(window, issue_code):
    page = open_till(window).page
    scan(page, issue_code())
    page.get_by_role("button", name="Mark as used").click()

    page.get_by_role("button", name="Undo: A mug").click()

    expect(page.locator("#till-result")).to_contain_text("Undone: A mug. The code is valid again.")
    expect(page.locator("#till-count")).to_have_text("Handed over by you today: 0")
    assert Redemption.objects.get().status == "issued"


def test_camera_stays_on_and_reads_one_code_after_another(window, issue_code):
    page = open_till(window, CAMERA).page
    first, second = issue_code(), issue_code("A cup")

    page.evaluate("window.show", rows_of(first))
    page.get_by_role("heading", name="Hand over: A mug").wait_for()
    page.get_by_role("button", name="Mark as used").click()
    page.get_by_role("heading", name="Just handed over: A mug").wait_for()
    page.wait_for_timeout(1000)  # still in front of the camera, and not looked up again
    page.get_by_role("heading", name="Just handed over: A mug").wait_for()
    page.evaluate("window.show", rows_of(second))
    page.get_by_role("heading", name="Hand over: A cup").wait_for()

    assert page.evaluate("window.asked") == 1
    page.get_by_role("button", name="Camera").click()
    expect(page.locator("#till-picture")).to_be_hidden()
    page.reload()
    expect(page.get_by_role("button", name="Camera")).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("window.asked") is None


def rows_of(code: str) -> list[list[bool]]:
    image = qrcode.QRCode(border=4)
    image.add_data(code)
    return image.get_matrix()


def test_codes_are_looked_up_offline_but_not_marked_as_used(window, issue_code):
    till = open_till(window)
    page, good, used = till.page, issue_code(), issue_code("A cup")
    scan(page, used)
    page.get_by_role("button", name="Mark as used").click()
    page.get_by_role("heading", name="Just handed over: A cup").wait_for()
    page.reload()
    page.evaluate("navigator.serviceWorker.ready")
    page.wait_for_function("() => JSON.parse(localStorage.getItem('till codes') || '{}').codes?.length === 2")
    page.wait_for_function("() => caches.match('/admin/loyalty/redemption/till/empty').then(Boolean)")
    assert good.replace("-", "") not in page.evaluate("JSON.stringify(localStorage)")
    scan(page, good)
    page.get_by_role("heading", name="Hand over: A mug").wait_for()

    till.context.set_offline(True)
    page.get_by_role("button", name="Mark as used").click()
    page.get_by_role("heading", name="No connection: do not hand over yet").wait_for()
    expect(page.locator("#till-offline")).to_be_visible()
    page.reload()  # the page opens nevertheless
    for code, heading in [(good, "No connection: do not hand over yet"), (used, "Do not hand over: used")]:
        scan(page, code)
        page.get_by_role("heading", name=heading).wait_for()
    assert till.axe() == []
    scan(page, "0000-0000-0000-0000")
    expect(page.locator("#till-result")).to_contain_text("This till does not know the code.")
    assert Redemption.objects.filter(status="used").count() == 1

    till.context.set_offline(False)
    till.leave_for(f"/admin/{TILL}")  # the page that was opened offline reloads itself
    scan(page, good)
    page.get_by_role("button", name="Mark as used").click()
    page.get_by_role("heading", name="Just handed over: A mug").wait_for()
    till.complaints[:] = [each for each in till.complaints if not EXPECTED_ERRORS.search(each)]


def test_code_outside_the_stored_list_is_shown_with_the_time_of_its_look_up(window, issue_code):
    """The list is fetched again every minute, but says nothing about this code."""
    till = open_till(window, EMPTY_LIST)
    page, good = till.page, issue_code()
    page.wait_for_function("() => localStorage.getItem('till codes')")
    scan(page, good)
    page.get_by_role("heading", name="Hand over: A mug").wait_for()
    page.wait_for_function("() => JSON.parse(localStorage.getItem('till codes')).seen.length")
    looked_up = page.evaluate("new Date().toLocaleTimeString([], { timeStyle: 'short' })")

    later = "const now = Date.now; Date.now = () => now() + 3 * 3_600_000;"
    page.evaluate(f"() => {{ {later} dispatchEvent(new Event('online')); }}")
    page.wait_for_function("() => JSON.parse(localStorage.getItem('till codes')).at > new Date().getTime() + 7_200_000")
    till.context.set_offline(True)
    scan(page, good)

    page.get_by_role("heading", name="No connection: do not hand over yet").wait_for()
    expect(page.locator("#till-result time")).to_have_text(looked_up)
    till.complaints[:] = [each for each in till.complaints if not EXPECTED_ERRORS.search(each)]


def test_another_user_of_the_device_starts_without_the_stored_list(window, issue_code):
    page = open_till(window).page
    issue_code()
    stored_codes = "{ person: '0', at: Date.now(), codes: [['x']], seen: [['y']] }"
    page.evaluate(f"localStorage.setItem('till codes', JSON.stringify({stored_codes}))")
    page.reload()

    saved = "JSON.parse(localStorage.getItem('till codes'))"
    page.wait_for_function(f"() => {saved}.person !== '0' && {saved}.codes.length")

    stored = page.evaluate(saved)
    assert (len(stored["codes"]), stored["seen"]) == (1, [])


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), (DESKTOP, "light")])
def test_every_state_of_the_till_is_accessible(window, issue_code, size, scheme):
    till = open_till(window, size=size)
    page, code = till.page, issue_code()
    page.emulate_media(color_scheme=scheme)
    complaints = till.audit() + till.axe()
    scan(page, code)
    page.get_by_role("heading", name="Hand over: A mug").wait_for()
    complaints += till.audit() + till.axe() + till.hidden_stops(8)
    page.get_by_role("button", name="Mark as used").click()
    page.get_by_role("heading", name="Just handed over: A mug").wait_for()
    complaints += till.audit() + till.axe()
    scan(page, code)
    page.get_by_role("heading", name="Do not hand over").wait_for()

    assert complaints + till.audit() + till.axe() == []


def test_expired_session_requires_a_login_and_marks_nothing_as_used(window, issue_code):
    till = open_till(window)
    page = till.page
    scan(page, issue_code())
    page.get_by_role("heading", name="Hand over: A mug").wait_for()
    till.context.clear_cookies()

    page.get_by_role("button", name="Mark as used").click()

    page.get_by_label("Password").wait_for()
    assert Redemption.objects.get().status == "issued"
    till.complaints[:] = [each for each in till.complaints if "status of 403" not in each]
