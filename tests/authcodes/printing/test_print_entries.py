"""What is typed into the print page: shown at once, told at its field, and never fetched or run."""

import base64
import io
import mimetypes
import re
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image
from pypdf import PdfReader

from authcodes.models.prints import Printer, PrintRun
from brands.tenants import pictures
from tests.authcodes.printing.print_pages import GOOD, SHEET, errors, live, picture, send, where
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


def test_page_1_is_shown_while_the_form_is_filled_in(client, batch):
    page = client.get(where(batch))
    shown = text(live(client, batch, start="4", sheet="grid-20"))

    assert f'data-live="{where(batch, "preview")}"' in text(page)
    assert "authcodes/print_studio.js" in text(page)
    drawn = base64.b64decode(re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', shown)[1])
    assert drawn.count(b">AB-00") == 10
    assert "Page 1, 215.9 x 279.4 mm" in shown
    assert "calibration/?" in shown
    assert not PrintRun.objects.exists()


def test_what_is_wrong_is_told_while_one_types(client, batch):
    shown = text(live(client, batch, start="31", note="x" * 81))

    assert "Label text" in shown
    assert "data:image" not in shown


def test_images_are_shown_while_one_types_too(client, batch):
    assert "data:image/png;base64," in text(live(client, batch, output="png", payload="code"))


def test_list_is_previewed_without_counting_it(client, batch):
    fields = {**GOOD, "brand": batch.brand_id, "list": f"batch__id__exact={batch.pk}"}

    shown = text(client.get(address("authcodes.printrun", "codes_preview"), fields))

    assert "data:image/svg" in shown


def test_letters_that_will_not_print_are_told_of_before(client, brand):
    batch = factories.batch(brand, product=factories.product(brand, title="茶 tea"))

    assert "茶" in " ".join(send(client, batch, "edit", title="on").context["warnings"])
    assert "茶" in text(live(client, batch, title="on"))
    assert "cannot show" not in text(live(client, batch))


def test_note_and_logo_are_printed(client, batch):
    drawn = io.BytesIO()
    Image.new("RGBA", (300, 100), (0, 0, 120, 255)).save(drawn, "PNG")
    picture = pictures.store(brand=batch.brand, drawn=pictures.logo(drawn.getvalue()))
    type(batch.brand).objects.filter(pk=batch.brand_id).update(logo=picture)

    send(client, batch, "confirm", logo="on", note="Keep dry <b>&amp;")
    run = finished(PrintRun.objects.get())

    [page] = PdfReader(io.BytesIO(content(run.job))).pages
    assert len(page.images) == 1
    assert page.extract_text().count("Keep dry <b>&amp;") == 10
    assert run.pages_read == 1


def test_printers_corrections_are_checked_and_their_names_are_the_brands_own(client, batch):
    adding = address("authcodes.printer", "add")
    good = {"brand": batch.brand_id, "name": "Left", "offset_x": "0.5", "offset_y": "0", "scale": "1.01"}

    for wrong in ({"offset_x": "21"}, {"offset_y": "NaN"}, {"scale": "2"}, {"scale": "0"}, {"name": ""}):
        answer = client.post(adding, {**good, **wrong})
        assert list(answer.context["adminform"].form.errors) == list(wrong)
    assert client.post(adding, good).status_code == 302
    assert client.post(adding, good).status_code == 200
    assert [str(it) for it in Printer.objects.all()] == ["Left"]
    page = client.get(address("authcodes.printrun", "calibration"), {"printer": Printer.objects.get().pk})
    assert page["Content-Type"] == "application/pdf"


def test_another_brands_printer_is_none(client, batch):
    foreign = Printer.objects.create(brand=factories.brand(), name="Theirs")

    assert "printer" in errors(send(client, batch, "confirm", printer=foreign.pk))
    assert "Theirs" not in text(client.get(where(batch)))
    assert client.get(address("authcodes.printrun", "calibration"), {"printer": foreign.pk}).status_code == 404


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
def test_titles_and_notes_open_no_socket_and_read_no_file(client, brand, settings, hostile_text):
    batch = factories.batch(brand, product=factories.product(brand, title=hostile_text), range_name=hostile_text[:100])
    send(client, batch, "confirm", title="on", note=hostile_text[:80])
    run = PrintRun.objects.get()
    opened = []

    with watched(opened):
        shown = text(live(client, batch, title="on", note=hostile_text[:80]))
        run = finished(run)
        cover = client.get(address("authcodes.printrun", "cover", run.pk))

    ours = [str(Path(__file__).parents[3]), sys.prefix, sys.base_prefix, tempfile.gettempdir(), *mimetypes.knownfiles]
    ours += [str(settings.MEDIA_ROOT), "/usr/share", "/usr/lib", "/dev", "/proc"]
    assert [where for where in opened if not str(where).startswith(tuple(ours))] == []
    assert run.job.status == "done"
    assert hostile_text not in shown or "<" not in hostile_text
    assert "root:x:0" not in text(cover)


@contextmanager
def watched(opened):
    """Notes addresses that are connected to, but for the database's and Redis' own sockets, and files that are read."""
    watching = True

    def hook(event, arguments):
        if not watching:
            return
        if event == "socket.connect" and not isinstance(arguments[1], str):
            opened.append(f"socket {arguments[1]}")
        elif event == "open" and isinstance(arguments[0], str) and not arguments[0].startswith("<"):
            opened.append(arguments[0])

    sys.addaudithook(hook)  # it stays, and hears no more
    try:
        yield
    finally:
        watching = False


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
def test_bad_input_is_told_at_its_field_and_nothing_is_printed(client, batch, wrong, field, button):
    factories.product(batch.brand, gtin="4006381333931")  # so that links to one are offered

    answer = send(client, batch, button, **wrong)

    assert field in errors(answer)
    assert not PrintRun.objects.exists()


def test_links_to_gtins_are_offered_where_there_are_some(client, batch):
    def offered():
        return [value for value, _ in client.get(where(batch)).context["form"].fields["payload"].choices]

    without = offered()
    factories.product(batch.brand, gtin="4006381333931")

    assert (without, offered()) == (["address", "code"], ["address", "code", "gs1"])


def test_markup_in_a_title_is_text(client, brand):
    product = factories.product(brand, title="<script>alert(1)</script>" + "x" * 175)
    batch = factories.batch(brand, product=product)

    answer = send(client, batch, "preview", title="on")

    assert "<script>alert" not in text(answer)
    assert b"&lt;script&gt;alert(1)" in picture(answer)
    assert b"<script" not in picture(answer)
