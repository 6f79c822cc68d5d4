"""Staff print codes in the studio: labels are arranged, tested, made by a worker and downloaded, and can be scanned."""

import zipfile

import pytest
from playwright.sync_api import expect

from authcodes.models.prints import LabelLayout, PrintRun
from tests.browser.clicks import Clicks
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories
from tests.support.print_jobs import decode_image, decode_pages, manifest, start


def download(window, click, locator):
    with window.page.expect_download() as expected:
        click(locator)
    return expected.value.path().read_bytes()


def open_studio(window, batch):
    window.goto(f"authcodes/printrun/batch/{batch.pk}/")
    window.page.locator("form.has-script").wait_for()


def wait_for_preview(window, action):
    """Do something, and wait for the answer to the preview that it requests."""
    with window.page.expect_response(lambda answer: "/preview/" in answer.url):
        action()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_label_is_arranged_saved_tested_and_printed_in_six_clicks(window, brand, size, tmp_path):
    product = factories.product(brand, title="Coffee beans, dark roast")
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=35, product=product)
    printer = window("printer", size=size)
    page, click = printer.page, Clicks(printer)

    printer.goto(f"authcodes/batchrange/{batch.pk}/change/")
    click(page.locator(f"a[href$='/printrun/batch/{batch.pk}/']"))
    printer.wait_for_text("Page 1, 210 x 297 mm.", "35 labels, 2 pages")
    assert printer.audit() + printer.axe() == []
    title = page.locator("[data-part=title]")
    left = float(title.get_attribute("x"))
    height = float(title.get_attribute("height"))
    page.locator("#id_title_height").fill(str(height - 10))  # to have room for moving it
    wait_for_preview(printer, lambda: click.drag(title, 0, 20))
    assert page.locator("#id_layout").input_value() == "own"
    moved = float(page.locator("#id_title_top").input_value())
    assert float(page.locator("#id_title_left").input_value()) == pytest.approx(left, abs=0.1)
    assert moved > float(page.locator("#id_qr_top").input_value()) + 3
    assert printer.audit() + printer.axe() == []
    page.locator("#id_layout_name").fill("Bags")
    click(page.get_by_role("button", name="Save layout"))
    printer.wait_for_text("Layout “Bags” saved.")
    wait_for_preview(printer, lambda: click(page.locator("[data-slot='3']")))
    assert page.locator("#id_start").input_value() == "3"
    expect(page.locator("[data-fragment=count]")).to_contain_text("35 labels, 2 pages")
    test_page = download(printer, click, page.get_by_role("button", name="Test page"))
    click(page.get_by_role("button", name="Print 35"))
    assert click.number == 6
    page.wait_for_url("**/printrun/*/change/")
    printer.wait_for_text("PDF with 35 labels", "To print", "35 labels on 2 pages. 35 codes were read back and match.")
    assert printer.audit() + printer.axe() == []
    sheets = download(printer, click, printer.link("Download"))

    layout = LabelLayout.objects.get()
    assert (layout.name, layout.brand, float(layout.parts["title"]["top"])) == ("Bags", brand, moved)
    run = PrintRun.objects.get()
    assert (run.settings["layout"], run.settings["parts"], run.settings["start"]) == ("Bags", layout.parts, 3)
    expected = [f"http://{brand.hostnames.get()}/s/NW-{number:04d}" for number in range(1, 36)]
    assert decode_pages(sheets, tmp_path) == [expected[:28], expected[28:]]
    (tmp_path / "trial").mkdir()
    assert decode_pages(test_page, tmp_path / "trial") == [expected[:28]]


def test_parts_are_moved_by_keyboard_and_errors_appear_at_once(window, brand):
    batch = factories.batch(brand, prefix="NW-", quantity=35, product=factories.product(brand, title="Coffee"))
    printer = window("printer")
    page = printer.page
    open_studio(printer, batch)
    value = lambda name: float(page.locator(f"#id_{name}").input_value())  # noqa: E731 - used many times
    top, width = value("qr_top"), value("qr_width")

    page.get_by_role("button", name="Move QR code").focus()
    wait_for_preview(printer, lambda: page.keyboard.press("ArrowDown"))
    assert (value("qr_top"), page.locator("#id_layout").input_value()) == (top + 0.5, "own")
    page.keyboard.press("Shift+ArrowLeft")
    assert value("qr_width") == width - 0.5
    page.get_by_role("button", name="Move Product title").focus()
    for _press in range(8):
        page.keyboard.press("ArrowLeft")
    message = page.locator("[data-errors-of=title]")
    expect(message).to_contain_text("This part covers the QR code or the white margin that cameras need.")
    with page.expect_response(lambda answer: "/preview/" in answer.url):
        page.locator("#id_order_note").fill("Matt paper")
    expect(page.locator("[data-fragment=errors]")).to_contain_text("Product title: This part covers the QR code")
    expect(message).to_contain_text("This part covers the QR code")
    assert printer.audit() + printer.axe() == []
    page.get_by_role("button", name="Move Product title").focus()
    for _press in range(8):
        page.keyboard.press("ArrowRight")
    expect(message).to_be_empty()
    expect(page.locator("[data-fragment=errors] li")).to_have_count(0)


def test_first_free_label_is_chosen_by_keyboard_and_page_1_follows(window, brand):
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=35)
    printer = window("printer")
    page = printer.page
    open_studio(printer, batch)
    picture = page.locator(".studio-page > img")
    before = picture.get_attribute("src")

    page.get_by_role("slider", name="First free label on the sheet").focus()
    for key, label in (("ArrowRight", "2"), ("ArrowDown", "5"), ("End", "30"), ("Home", "1"), ("ArrowDown", "4")):
        page.keyboard.press(key)
        assert page.locator("#id_start").input_value() == label
    page.wait_for_function("before => document.querySelector('.studio-page > img').src !== before", arg=before)
    expect(page.locator("[data-slot].is-used")).to_have_count(3)
    page.locator("#id_start").fill("31")
    expect(page.locator("[data-errors-of=start]")).to_have_text("Enter a label number from 1 to 30.")
    page.locator("#id_start").fill("30")
    expect(page.locator("[data-errors-of=start]")).to_be_empty()
    page.locator("#id_note").fill("Keep dry")
    page.wait_for_function("document.querySelector('.studio-label')?.textContent.includes('Keep dry')")
    page.keyboard.press("Enter")  # which prints nothing
    assert printer.audit() + printer.axe() == []
    assert not PrintRun.objects.exists()


@pytest.mark.parametrize("answer", [{"status": 500}, {"status": 302, "headers": {"Location": "/admin/login/"}}])
def test_failed_preview_is_reported_until_one_succeeds(window, brand, answer):
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=3)
    printer = window("printer")
    page = printer.page
    open_studio(printer, batch)
    message = page.locator("[data-stale]")

    page.route("**/preview/**", lambda route: route.fulfill(**answer))
    page.locator("#id_note").fill("Keep")
    expect(message).to_have_text("The preview could not be updated. Try again.")
    assert printer.axe() == []
    page.unroute("**/preview/**")
    wait_for_preview(printer, lambda: page.locator("#id_note").fill("Keep dry"))
    expect(message).to_be_empty()
    printer.complaints.clear()  # what the browser reported about the failed preview


def test_without_scripts_the_layout_is_edited_in_fields(window, brand):
    batch = factories.batch(brand, prefix="NW-", quantity=5, product=factories.product(brand, title="Coffee"))
    LabelLayout.objects.create(
        brand=brand, name="Bags", label_width=70, label_height="29.7", note="Scan me", parts=PARTS
    )
    printer = window("printer")
    printer.goto("")
    state = printer.context.storage_state()
    context = printer.context.browser.new_context(
        java_script_enabled=False, storage_state=state, base_url=printer.page.url
    )
    page = context.new_page()

    page.goto(f"/admin/authcodes/printrun/batch/{batch.pk}/")
    page.locator("#id_layout").select_option(label="Bags (70 x 29.7 mm)")
    page.locator(".studio-update").click()
    assert page.locator("#id_note").input_value() == "Scan me"
    assert page.locator("#id_qr_left").input_value() == "44"
    page.locator("#id_layout").select_option("own")
    page.locator("#id_qr_left").fill("60")
    page.locator(".studio-update").click()
    expect(page.locator("[data-errors-of=qr]")).to_contain_text("This part extends 14.0 mm beyond the label.")
    assert page.locator("#id_qr_left").input_value() == "60"
    page.locator("#id_qr_left").fill("43")
    page.locator("button[name=confirm]").click()
    expect(page.get_by_role("heading", name="PDF with 5 labels")).to_be_visible()
    assert PrintRun.objects.get().settings["parts"]["qr"]["left"] == "43"
    context.close()


PARTS = {
    "qr": {"left": "44", "top": "1", "width": "24", "height": "24", "centred": False},
    "code": {"left": "44", "top": "25.5", "width": "24", "height": "3", "centred": True},
    "note": {"left": "2", "top": "20", "width": "30", "height": "4", "centred": False},
}


def test_printing_images_a_second_time_requires_confirmation(window, brand, tmp_path):
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=2500)
    owner = window()
    page, click = owner.page, Clicks(owner)

    open_studio(owner, batch)
    wait_for_preview(owner, lambda: page.locator("#id_output").select_option("png"))
    page.locator("#id_size").select_option("20")
    click(page.get_by_role("button", name="Print 2,500"))
    owner.wait_for_text("ZIP with 2,500 images", "To print", "2,500 images. 2,500 codes were read back and match.")
    data = download(owner, click, owner.link("Download"))
    page.go_back()
    page.locator("form.has-script").wait_for()
    open_studio(owner, batch)
    owner.wait_for_text("Some of these codes have been printed before.")
    click(page.get_by_role("button", name="Print 2,500"))
    owner.wait_for_text("Nothing has been printed yet.")
    assert owner.audit() + owner.axe() == []

    assert len(manifest(data)) == 2500
    (tmp_path / "codes.zip").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "codes.zip") as archive:
        assert decode_image(archive.read("NW-2500.png")) == f"http://{brand.hostnames.get()}/s/NW-2500"
    assert PrintRun.objects.count() == 1


def test_confirmed_reprint_is_confirmed_again_after_a_newer_run(window, brand):
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=30)
    start(batch)
    owner = window()
    page, again = owner.page, owner.page.get_by_label("Print them again")
    open_studio(owner, batch)
    again.check()

    wait_for_preview(owner, lambda: page.locator("#id_start").fill("2"))
    expect(again).to_be_checked()
    start(batch)  # by a colleague
    wait_for_preview(owner, lambda: page.locator("#id_start").fill("3"))
    expect(page.locator(".studio-before li")).to_have_count(2)
    expect(again).not_to_be_checked()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_print_shop_downloads_a_requested_print_and_marks_it_as_done(window, brand, size):
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=3)
    owner, printer = window(), window("printer", size=size)
    open_studio(owner, batch)
    owner.page.locator("#id_due_on").fill("2099-12-31")
    owner.page.locator("#id_order_note").fill("Matt paper")
    owner.page.get_by_role("button", name="Print 3").click()
    owner.wait_for_text("PDF with 3 labels", "To print", "3 labels on 1 page.")

    printer.goto("")
    printer.sidebar("Print")
    printer.wait_for_text("To print", "31 Dec 2099", "Matt paper", "owner1@example.com")
    assert printer.audit() + printer.axe() == []
    with printer.page.expect_download():
        printer.link("Download").click()
    printer.button("Mark NW-0001 … NW-0003 as done").click()
    printer.wait_for_text("Marked as done: NW-0001 … NW-0003")
    expect(printer.page.get_by_role("button", name="Mark NW-0001")).to_have_count(0)
    assert PrintRun.objects.get().done_by is not None
