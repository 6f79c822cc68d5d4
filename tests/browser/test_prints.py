"""Staff print a batch's codes: asked, looked at, made by a worker, downloaded; and what was downloaded scans."""

import base64
import zipfile

import pytest

from authcodes.models.prints import PrintRun
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories
from tests.support.print_jobs import decode_image, decode_pages, manifest


def downloaded(window, click):
    with window.page.expect_download() as expected:
        click.click()
    return expected.value.path().read_bytes()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_a_batch_is_printed_on_label_sheets_that_scan(window, brand, size, tmp_path):
    product = factories.product(brand, title="Coffee beans, dark roast")
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=35, product=product)
    printer = window("printer", size=size)

    printer.goto(f"authcodes/batchrange/{batch.pk}/change/")
    printer.page.locator(f"a[href$='/printrun/batch/{batch.pk}/']").click()
    printer.reads("Page 1, 210 x 297 mm.")  # the page is there, with what it asks for by itself
    assert printer.audit() == []
    printer.button("Preview").click()
    printer.reads("NW-0001 … NW-0035", "Page 1. The ruler along its edges is in centimetres.")
    assert printer.audit() == []
    first = downloaded(printer, printer.link("Page 1 only"))
    printer.button("Print").click()
    printer.reads("Done", "35 labels on 2 pages. 35 codes were read back and match.")
    sheets = downloaded(printer, printer.link("Download"))

    hostname = brand.hostnames.get().hostname
    expected = [f"http://{hostname}/s/NW-{number:04d}" for number in range(1, 36)]
    assert decode_pages(sheets, tmp_path) == [expected[:30], expected[30:]]
    (tmp_path / "one").mkdir()
    assert decode_pages(first, tmp_path / "one") == [expected[:30]]


def test_page_1_follows_the_form_while_one_types(window, brand):
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=35)
    printer = window("printer")

    printer.goto(f"authcodes/printrun/batch/{batch.pk}/")
    printer.reads("Page 1, 210 x 297 mm.")
    picture = printer.page.locator("[data-live] img")
    before = picture.get_attribute("src")
    printer.page.locator("#id_note").fill("Keep dry")
    printer.page.wait_for_function("before => document.querySelector('[data-live] img')?.src !== before", arg=before)
    assert b"Keep dry" in base64.b64decode(picture.get_attribute("src").partition("base64,")[2])
    printer.page.locator("#id_start").fill("31")
    printer.reads("The sheet has the labels 1 to 30.")
    printer.page.locator("#id_start").fill("30")
    printer.reads("Page 1, 210 x 297 mm.")
    assert printer.audit() == []


def test_images_are_printed_once_and_asked_about_the_second_time(window, brand, tmp_path):
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=2500)
    owner = window()

    owner.goto(f"authcodes/printrun/batch/{batch.pk}/")
    owner.page.locator("#id_what").select_option("png")
    owner.page.locator("#id_size").select_option("20")
    owner.button("Preview").click()
    owner.button("Print").click()
    owner.reads("Done", "2,500 images. 2,500 codes were read back and match.")
    data = downloaded(owner, owner.link("Download"))
    owner.goto(f"authcodes/printrun/batch/{batch.pk}/")
    owner.button("Preview").click()
    owner.reads("Some of these codes have been printed before.", "Print again")

    assert len(manifest(data)) == 2500
    (tmp_path / "codes.zip").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "codes.zip") as archive:
        assert decode_image(archive.read("NW-2500.png")) == f"http://{brand.hostnames.get()}/s/NW-2500"
    assert PrintRun.objects.count() == 1
