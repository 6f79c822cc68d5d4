"""Input of the print page: previewed at once, errors at their fields, and never fetched or executed."""

import base64
import io
import mimetypes
import re
import sys
import tempfile
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
from PIL import Image
from pypdf import PdfReader

from authcodes.models.prints import Printer, PrintRun
from authcodes.printing.request import PrintRequest
from brands.models.tenants import Brand
from brands.tenants import pictures
from tests.authcodes.printing.print_pages import (
    SHEET,
    VALID,
    form_errors,
    get_preview,
    post_form,
    preview_image,
    print_url,
)
from tests.support import factories
from tests.support.portal import address, staff, text
from tests.support.print_jobs import content, finished

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def owner(brand):
    return staff(brand, email="ann@example.com")


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, range_name="Spring")


def test_preview_shows_page_1_before_the_form_is_submitted(client, batch):
    page = client.get(print_url(batch))
    preview = text(get_preview(client, batch, start="4", sheet="grid-20"))

    assert f'data-live="{print_url(batch, "preview")}"' in text(page)
    assert "authcodes/print_studio.js" in text(page)
    svg = base64.b64decode(re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', preview)[1])
    assert svg.count(b">AB-00") == 10
    assert "Page 1, 215.9 x 279.4 mm" in preview
    assert "calibration/?" in preview
    assert not PrintRun.objects.exists()


def test_preview_shows_errors_before_the_form_is_submitted(client, batch):
    preview = text(get_preview(client, batch, start="31", note="x" * 81))

    assert "Label text" in preview
    assert "data:image" not in preview


def test_preview_of_images_shows_an_image(client, batch):
    assert "data:image/png;base64," in text(get_preview(client, batch, output="png", payload="code"))


def test_list_of_codes_has_a_preview(client, batch):
    fields = {**VALID, "brand": batch.brand_id, "list": f"batch__id__exact={batch.pk}"}

    preview = text(client.get(address("authcodes.printrun", "codes_preview"), fields))

    assert "data:image/svg" in preview


def test_unprintable_characters_give_a_warning_before_printing(client, brand):
    batch = factories.batch(brand, product=factories.product(brand, title="茶 tea"))

    assert "茶" in " ".join(post_form(client, batch, "edit", title="on").context["warnings"])
    assert "茶" in text(get_preview(client, batch, title="on"))
    assert "cannot show" not in text(get_preview(client, batch))


def test_note_and_logo_are_printed(client, batch):
    image_file = io.BytesIO()
    Image.new("RGBA", (300, 100), (0, 0, 120, 255)).save(image_file, "PNG")
    picture = pictures.store(brand=batch.brand, encoded=pictures.logo(image_file.getvalue()))
    type(batch.brand).objects.filter(pk=batch.brand_id).update(logo=picture)

    post_form(client, batch, "confirm", logo="on", note="Keep dry <b>&amp;")
    run = finished(PrintRun.objects.get())

    [page] = PdfReader(io.BytesIO(content(run.job))).pages
    assert len(page.images) == 1
    assert page.extract_text().count("Keep dry <b>&amp;") == 10
    assert run.pages_read == 1


def test_printer_corrections_are_validated_and_printer_names_are_unique(client, batch):
    adding = address("authcodes.printer", "add")
    valid = {"brand": batch.brand_id, "name": "Left", "offset_x": "0.5", "offset_y": "0", "scale": "1.01"}

    for wrong in ({"offset_x": "21"}, {"offset_y": "NaN"}, {"scale": "2"}, {"scale": "0"}, {"name": ""}):
        answer = client.post(adding, {**valid, **wrong})
        assert list(answer.context["adminform"].form.errors) == list(wrong)
    assert client.post(adding, valid).status_code == 302
    assert client.post(adding, valid).status_code == 200
    assert [str(it) for it in Printer.objects.all()] == ["Left"]
    page = client.get(address("authcodes.printrun", "calibration"), {"printer": Printer.objects.get().pk})
    assert page["Content-Type"] == "application/pdf"


def test_calibration_page_of_a_printer_has_the_paper_of_its_brand(client, brand):
    for time_zone, size in (("Asia/Kolkata", [595, 842]), ("America/New_York", [612, 792])):
        Brand.objects.filter(pk=brand.pk).update(time_zone=time_zone)
        printer = Printer.objects.create(brand=brand, name=time_zone)

        answer = client.get(address("authcodes.printer", "calibration", printer.pk), follow=True)

        (page,) = PdfReader(io.BytesIO(answer.content)).pages
        assert [round(float(side)) for side in page.mediabox[2:]] == size


def test_calibration_page_needs_no_room_for_a_qr_code_with_text_below(client):
    sheet = {**SHEET, "label_height": "20", "pitch_y": "20"}

    page = client.get(address("authcodes.printrun", "calibration"), sheet)

    assert page["Content-Type"] == "application/pdf"


def test_another_brands_printer_is_not_available(client, batch):
    other_printer = Printer.objects.create(brand=factories.brand(), name="Theirs")

    assert "printer" in form_errors(post_form(client, batch, "confirm", printer=other_printer.pk))
    assert "Theirs" not in text(client.get(print_url(batch)))
    assert client.get(address("authcodes.printrun", "calibration"), {"printer": other_printer.pk}).status_code == 404


SSRF = [
    "http://127.0.0.1:1/x.png",
    "https://169.254.169.254/latest/meta-data/",
    "file:///etc/passwd",
    '<img src="http://127.0.0.1:1/a.png">',
    '<link rel="stylesheet" href="http://127.0.0.1:1/a.css">',
    '<style>@import url("http://127.0.0.1:1/b.css");</style>',
    '<svg><image href="file:///etc/passwd"/></svg>',
    '<iframe src="file:///etc/hostname">',
    "url(http://127.0.0.1:1/c)",
    '"><object data="file:///etc/passwd">',
    "{% include '/etc/passwd' %}",
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]>&y;',
]


@pytest.mark.parametrize("hostile_text", SSRF)
def test_hostile_titles_and_notes_open_no_sockets_or_files(client, brand, settings, hostile_text):
    batch = factories.batch(brand, product=factories.product(brand, title=hostile_text), range_name=hostile_text[:100])
    post_form(client, batch, "confirm", title="on", note=hostile_text[:80])
    run = PrintRun.objects.get()
    accessed = []

    with recording_access(accessed):
        preview = text(get_preview(client, batch, title="on", note=hostile_text[:80]))
        run = finished(run)
        cover = client.get(address("authcodes.printrun", "cover", run.pk))

    allowed = [
        str(Path(__file__).parents[3]),
        sys.prefix,
        sys.base_prefix,
        tempfile.gettempdir(),
        *mimetypes.knownfiles,
    ]
    allowed += [str(settings.MEDIA_ROOT), "/usr/share", "/usr/lib", "/dev", "/proc"]
    assert [resource for resource in accessed if not str(resource).startswith(tuple(allowed))] == []
    assert run.job.status == "done"
    assert hostile_text not in preview or "<" not in hostile_text
    assert "root:x:0" not in text(cover)


@contextmanager
def recording_access(accessed):
    """Records network addresses that are connected to, except Unix sockets, and files that are opened."""
    recording = True

    def record_access(event, arguments):
        if not recording:
            return
        if event == "socket.connect" and not isinstance(arguments[1], str):
            accessed.append(f"socket {arguments[1]}")
        elif event == "open" and isinstance(arguments[0], str) and not arguments[0].startswith("<"):
            accessed.append(arguments[0])

    sys.addaudithook(record_access)  # it cannot be removed, so it is switched off
    try:
        yield
    finally:
        recording = False


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"first": "ZZ-1"}, "first"),
        ({"first": "x" * 300}, "first"),
        ({"last": "11"}, "last"),
        ({"first": "5", "last": "4"}, "last"),
        ({"output": "exe"}, "output"),
        ({"payload": "javascript"}, "payload"),
        ({"payload": "gs1"}, "payload"),
        ({"level": "X"}, "level"),
        ({"size": "1"}, "size"),
        ({"size": "custom"}, "size_amount"),
        ({"size": "custom", "size_amount": "19.9"}, "size_amount"),
        ({"size": "custom", "size_amount": "0.5", "size_unit": "in"}, "size_amount"),
        ({"size": "custom", "size_amount": "600", "output": "png"}, "size_amount"),
        ({"size": "custom", "size_amount": "19", "output": "svg"}, "size_amount"),
        ({"size": "custom", "size_amount": "NaN"}, "size_amount"),
        ({"size": "custom", "size_amount": "-30"}, "size_amount"),
        ({"size": "custom", "size_amount": "1e9"}, "size_amount"),
        ({"size": "custom", "size_amount": "90"}, "size_amount"),
        ({"sheet": "a3"}, "sheet"),
        ({"sheet": "custom"}, "page_width"),
        ({**SHEET, "columns": "4"}, "columns"),
        ({**SHEET, "rows": "9"}, "rows"),
        ({**SHEET, "columns": "0"}, "columns"),
        ({**SHEET, "rows": "1001"}, "rows"),
        ({**SHEET, "pitch_x": "50"}, "pitch_x"),
        ({**SHEET, "pitch_y": "-1"}, "pitch_y"),
        ({**SHEET, "label_height": "3"}, "label_height"),
        ({**SHEET, "page_width": "99999"}, "page_width"),
        ({**SHEET, "left": "Infinity"}, "left"),
        ({**SHEET, "size": "50.8"}, "size"),
        ({"start": "31"}, "start"),
        ({"start": "0"}, "start"),
        ({"start": "1.5"}, "start"),
        ({"note": "x" * 81}, "note"),
        ({"note": "x" * 100_000}, "note"),
        ({"note": "a\0b"}, "note"),
        ({"printer": "0"}, "printer"),
        ({"printer": "x"}, "printer"),
        ({"logo": "on"}, "logo"),
    ],
)
@pytest.mark.parametrize("button", ["edit", "test", "save", "confirm"])
def test_invalid_input_is_reported_at_its_field_and_nothing_is_printed(client, batch, wrong, field, button):
    factories.product(batch.brand, gtin="4006381333931")  # so that digital links are offered

    answer = post_form(client, batch, button, **wrong)

    assert field in form_errors(answer)
    assert not PrintRun.objects.exists()


@pytest.mark.parametrize("output", ["png", "svg"])
def test_images_need_no_sheet(client, batch, output):
    sheet = {**dict.fromkeys(SHEET, ""), "sheet": "custom", "columns": "0", "left": "x", "start": "0"}

    answer = post_form(client, batch, "confirm", output=output, **sheet)

    print_request = PrintRequest.from_json(PrintRun.objects.get().settings)
    assert answer.status_code == 302
    assert (print_request.sheet, print_request.start) == (None, 1)
    assert not client.get(print_url(batch)).context["form"].errors


def test_images_remember_the_custom_sheet_of_labels(client, batch):
    post_form(client, batch, "confirm", output="png", **SHEET)

    form = client.get(print_url(batch)).context["form"]

    assert (form["sheet"].value(), form["pitch_x"].value()) == ("custom", Decimal("62"))


def test_digital_links_are_offered_if_a_product_has_a_gtin(client, batch):
    def offered():
        return [value for value, _ in client.get(print_url(batch)).context["form"].fields["payload"].choices]

    without = offered()
    factories.product(batch.brand, gtin="4006381333931")

    assert (without, offered()) == (["address", "code"], ["address", "code", "gs1"])


def test_markup_in_a_title_is_escaped(client, brand):
    product = factories.product(brand, title="<script>alert(1)</script>" + "x" * 175)
    batch = factories.batch(brand, product=product)

    answer = post_form(client, batch, "preview", title="on")

    assert "<script>alert" not in text(answer)
    assert b"&lt;script&gt;alert(1)" in preview_image(answer)
    assert b"<script" not in preview_image(answer)
