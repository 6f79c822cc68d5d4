"""Printing in the portal: asked, shown, asked again where it was printed before, and only by those who may."""

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
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from PIL import Image
from pypdf import PdfReader

from authcodes.admin.printing import preview, studio
from authcodes.models.prints import Printer, PrintRun
from authcodes.printing import runs
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import symbol
from authcodes.printing.qr.verification import Unreadable
from authcodes.printing.request import PrintRequest
from authcodes.recalls import recalls
from brands.models.audit import AuditLogEntry
from brands.tenants import pictures
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, links, printed, staff, text
from tests.support.print_jobs import SCHEME, content, decode_image, decode_pages, finished, manifest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
GOOD = {
    "what": "labels",
    "payload": "address",
    "level": "M",
    "size": "",
    "size_amount": "",
    "size_unit": "mm",
    "sheet": "letter-30",
    "start": "1",
}
SHEET = {
    "sheet": "custom",
    "page_width": "210",
    "page_height": "297",
    "left": "10",
    "top": "10",
    "label_width": "60",
    "label_height": "40",
    "pitch_x": "62",
    "pitch_y": "42",
    "columns": "3",
    "rows": "6",
}


@pytest.fixture
def owner(brand):
    return staff(brand, email="ann@example.com")


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, range_name="Spring")


def where(batch, what="batch"):
    return address("authcodes.printrun", what, batch.pk)


def send(client, batch, *buttons, **fields):
    sent = {**GOOD, "first": batch.first_code, "last": batch.last_code, **fields}
    return client.post(where(batch), {**sent, **dict.fromkeys(buttons, "1")})


def errors(answer):
    return dict(answer.context["form"].errors)


def picture(answer):
    return base64.b64decode(answer.context["picture"].partition("base64,")[2])


# --- From the batch to the file --------------------------------------------------------------------------------------


def test_batch_leads_to_its_print_page_which_offers_all_of_it(client, batch):
    page = text(client.get(address("authcodes.batchrange", "change", batch.pk)))

    assert where(batch) in links(page)
    form = client.get(where(batch)).context["form"]
    assert (form["first"].value(), form["last"].value()) == ("AB-0001", "AB-0010")


def test_page_shows_what_would_be_printed_and_starts_nothing(client, batch):
    answer = send(client, batch, "edit", first="3", start="4")

    shown = text(answer)
    assert "8 labels, 1 page" in " ".join(shown.split())
    assert "Print 8" in shown
    assert f"{SCHEME}://{batch.brand.hostnames.get()}/s/AB-0003" in shown
    assert (answer.context["pages"], answer.context["qr_mm"]) == (1, "21.5")
    assert picture(answer).count(b"scale(0.") == 8
    assert not PrintRun.objects.exists()


def test_page_is_whole_when_it_is_opened(client, batch):
    answer = client.get(where(batch))

    assert picture(answer).count(b">AB-00") == 10
    assert [row.name for row in answer.context["rows"] if row.is_visible] == ["qr", "code", "title"]
    assert not answer.context["form"].errors


def test_page_loads_nothing_and_has_no_script_of_its_own(client, batch):
    answer = send(client, batch, "edit")

    assert "img-src 'self' data:" in answer["Content-Security-Policy"]
    shown = text(answer)
    assert not re.findall(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", shown)
    assert set(re.findall(r'<img[^>]*src="([a-z]+):', shown)) == {"data"}


def test_confirmed_print_is_started_recorded_and_noted(client, owner, batch):
    answer = send(client, batch, "confirm", what="png")

    run = PrintRun.objects.get()
    assert answer["Location"] == address("jobs.job", "change", run.job_id)
    assert (run.batch, run.what, run.codes, run.started_by) == (batch, "png", 10, owner)
    assert (run.job.kind, run.job.total) == ("print-batch", 10)
    noted = AuditLogEntry.objects.filter(kind="authcodes.batchrange", row_id=str(batch.pk)).values_list(
        "action", flat=True
    )
    assert "Printed: AB-0001 … AB-0010" in noted


def test_file_is_downloaded_from_the_jobs_page(client, batch):
    send(client, batch, "confirm", what="png")
    run = finished(PrintRun.objects.get())

    answer = client.get(address("jobs.job", "download", run.job_id))

    data = b"".join(answer.streaming_content)
    assert answer["Content-Type"] == "application/zip"
    assert [row["code"] for row in manifest(data)] == [f"AB-{number:04d}" for number in range(1, 11)]
    assert address("authcodes.printrun", "change", run.pk) in links(
        text(client.get(address("jobs.job", "change", run.job_id)))
    )


def test_run_is_listed_with_its_state_and_proof(client, batch):
    run = finished(printed(batch, what="png"))

    assert "To print" in text(client.get(address("authcodes.printrun")))
    page = text(client.get(address("authcodes.printrun", "change", run.pk)))
    assert run.sha256 in page
    assert address("authcodes.printrun", "cover", run.pk) in links(page)


def test_test_page_has_the_first_labels_and_says_what_it_is(client, batch, tmp_path):
    answer = send(client, batch, "test", start="30")

    assert answer["Content-Type"] == "application/pdf"
    assert decode_pages(answer.content, tmp_path) == [[f"{SCHEME}://{batch.brand.hostnames.get()}/s/AB-0001"]]
    assert "TEST" in text(answer)
    assert not PrintRun.objects.exists()


@pytest.mark.parametrize(("what", "kind"), [("png", "image/png"), ("svg", "image/svg+xml")])
def test_first_image_alone_can_be_tried_too(client, batch, what, kind):
    answer = send(client, batch, "test", what=what, payload="code")

    assert (answer["Content-Type"], answer["Content-Disposition"]) == (kind, f'attachment; filename="code-1.{what}"')
    if what == "png":
        assert decode_image(answer.content) == "AB-0001"


def test_test_page_that_would_say_another_code_is_not_given_away(client, batch, monkeypatch):
    monkeypatch.setattr(images, "symbol", lambda text, level: symbol(f"{text[:-1]}X", level))

    answer = send(client, batch, "test")

    assert answer["Content-Type"].startswith("text/html")
    assert "AB-0001 contains something else" in text(answer)


@pytest.mark.parametrize("what", ["png", "svg"])
def test_first_image_that_would_say_another_code_is_not_given_away(client, batch, what, monkeypatch):
    monkeypatch.setattr(images, "symbol", lambda text, level: symbol(f"{text[:-1]}X", level))

    with pytest.raises(Unreadable, match="AB-0001 contains something else"):
        send(client, batch, "test", what=what)


def test_calibration_page_has_the_sheets_shape(client):
    answer = client.get(address("authcodes.printrun", "calibration"))

    (page,) = PdfReader(io.BytesIO(answer.content)).pages
    assert [round(float(side)) for side in page.mediabox[2:]] == [612, 792]


def test_going_back_keeps_what_was_written(client, batch):
    form = send(client, batch, "edit", first="3", level="H").context["form"]

    assert (form["first"].value(), form["level"].value()) == ("3", "H")


def test_next_print_begins_with_the_last_ones_settings_and_printer(client, batch):
    printer = Printer.objects.create(brand=batch.brand, name="Left", offset_x="-0.5", scale="1.005")
    send(client, batch, "confirm", start="9", printer=printer.pk, note="Keep dry", **SHEET, first="1")

    form = client.get(where(batch)).context["form"]

    assert (form["printer"].value(), form["note"].value(), form["start"].value()) == (printer.pk, "Keep dry", 1)
    wanted = PrintRequest.read(PrintRun.objects.get().settings)
    assert (wanted.printer, wanted.offset_x, wanted.offset_y, wanted.scale) == (
        "Left",
        Decimal("-0.50"),
        Decimal(0),
        Decimal("1.00500"),
    )
    assert (form["sheet"].value(), form["pitch_x"].value()) == ("custom", Decimal("62"))


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ({"size": "custom", "size_amount": "2", "size_unit": "in"}, "50.8"),
        ({"size": "custom", "size_amount": "33.3", "size_unit": "mm"}, "33.3"),
        ({"size": "40"}, "40"),
        ({}, None),
    ],
)
def test_size_in_inches_or_millimetres(client, batch, fields, size):
    send(client, batch, "confirm", what="png", **fields)

    wanted = PrintRequest.read(PrintRun.objects.get().settings)
    assert wanted.size_mm == (Decimal(size) if size else None)


# --- While one types, and what is on labels --------------------------------------------------------------------------


def live(client, batch, **fields):
    sent = {**GOOD, "first": batch.first_code, "last": batch.last_code, **fields}
    return client.get(where(batch, "preview"), sent)


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
    assert "data:image/png;base64," in text(live(client, batch, what="png", payload="code"))


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


@pytest.mark.parametrize("words", SSRF)
def test_titles_and_notes_open_no_socket_and_read_no_file(client, brand, settings, words):
    batch = factories.batch(brand, product=factories.product(brand, title=words), range_name=words[:100])
    send(client, batch, "confirm", title="on", note=words[:80])
    run = PrintRun.objects.get()
    opened = []

    with watched(opened):
        shown = text(live(client, batch, title="on", note=words[:80]))
        run = finished(run)
        cover = client.get(address("authcodes.printrun", "cover", run.pk))

    ours = [str(Path(__file__).parents[3]), sys.prefix, sys.base_prefix, tempfile.gettempdir(), *mimetypes.knownfiles]
    ours += [str(settings.MEDIA_ROOT), "/usr/share", "/usr/lib", "/dev", "/proc"]
    assert [where for where in opened if not str(where).startswith(tuple(ours))] == []
    assert run.job.status == "done"
    assert words not in shown or "<" not in words
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


# --- What cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"first": "ZZ-1"}, "first"),
        ({"first": "x" * 300}, "first"),
        ({"last": "11"}, "last"),
        ({"first": "5", "last": "4"}, "last"),
        ({"what": "exe"}, "what"),
        ({"payload": "javascript"}, "payload"),
        ({"payload": "gs1"}, "payload"),
        ({"level": "X"}, "level"),
        ({"size": "1"}, "size"),
        ({"size": "custom"}, "size_amount"),
        ({"size": "custom", "size_amount": "19.9"}, "size_amount"),
        ({"size": "custom", "size_amount": "0.5", "size_unit": "in"}, "size_amount"),
        ({"size": "custom", "size_amount": "600", "what": "png"}, "size_amount"),
        ({"size": "custom", "size_amount": "19", "what": "svg"}, "size_amount"),
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


def test_batch_still_being_made_is_not_printed(client, brand):
    batch = factories.batch(brand)
    type(batch).objects.filter(pk=batch.pk).update(generated_count=0)

    answer = client.get(where(batch))

    assert answer["Location"] == address("authcodes.batchrange", "change", batch.pk)


def test_recalled_batch_is_refused_and_offers_no_button(client, batch):
    words = {"recall_id": "R-1", "contact": "x", "message": "x", "reason": "x"}
    recalls.recall_batch(batch=batch, at=timezone.now(), **words)

    page = text(client.get(address("authcodes.batchrange", "change", batch.pk)))
    answer = send(client, batch, "confirm")

    assert where(batch) not in links(page)
    assert "Recalled codes are not printed." in errors(answer)["__all__"][0]


# --- Printed before --------------------------------------------------------------------------------------------------


def test_what_was_printed_before_is_asked_about_first(client, batch):
    before = printed(batch, by=staff(batch.brand, email="bob@example.com"))

    asked = send(client, batch, "confirm", first="9")

    assert PrintRun.objects.get() == before
    assert "printed before" in text(asked)
    assert "bob@example.com" in text(asked)
    assert address("authcodes.printrun", "change", before.pk) in links(text(asked))
    again = send(client, batch, "confirm", first="9", again=before.pk)
    assert again.status_code == 302
    assert PrintRun.objects.count() == 2


def test_yes_to_an_older_question_is_asked_again(client, batch):
    older = printed(batch)
    printed(batch)

    answer = send(client, batch, "confirm", again=older.pk)

    assert answer.status_code == 200
    assert PrintRun.objects.count() == 2


def confirmed_at_once(batch):
    """How many runs were started by people who all confirm the same print at the same moment."""
    clients = [browser(staff(batch.brand)) for _ in range(4)]
    answers = at_once(lambda client: send(client, batch, "confirm").status_code, clients)
    assert answers.count(302) == PrintRun.objects.count()
    assert set(answers) <= {200, 302}
    return answers.count(302)


@pytest.mark.django_db(transaction=True)
def test_of_people_who_print_the_same_at_once_one_is_not_asked(batch):
    assert confirmed_at_once(batch) == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_taking_turns_several_are_not_asked(batch, monkeypatch):
    monkeypatch.setattr(runs, "TURN", "SELECT %s::int")

    assert confirmed_at_once(batch) > 1


# --- Who may ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("printer", 200), ("support", 403)])
def test_roles_print_as_the_table_says(brand, batch, role, status):
    client = browser(staff(brand, role=role))
    run = finished(printed(batch, what="png"))

    assert client.get(where(batch)).status_code == status
    assert send(client, batch, "edit").status_code == status
    assert send(client, batch, "test").status_code == status
    assert client.get(address("authcodes.printrun", "codes")).status_code == status
    assert client.get(address("authcodes.printrun", "calibration")).status_code == status
    hidden = 404 if status == 403 else status  # whose page of print runs is not there either
    assert client.get(address("jobs.job", "download", run.job_id)).status_code == hidden
    page = text(client.get(address("authcodes.batchrange", "change", batch.pk)))
    assert (where(batch) in links(page)) is (status == 200)
    codes = text(client.get(address("authcodes.authcode")))
    assert (address("authcodes.printrun", "codes") in links(codes)) is (status == 200)
    assert client.get(address("authcodes.printrun", "change", run.pk)).status_code == hidden


def test_another_brands_batch_run_and_recall_do_not_exist(client, batch):
    foreign = factories.batch(factories.brand(name="zebra"), prefix="ZZ-")
    run = finished(printed(foreign, what="png"))
    words = {"recall_id": "R-1", "contact": "x", "message": "x", "reason": "x"}
    recall = recalls.recall_batch(batch=factories.batch(foreign.brand), at=timezone.now(), **words)

    for asked in (
        where(foreign),
        where(foreign, "preview"),
        address("authcodes.printrun", "done", run.pk),
        address("authcodes.printrun", "open", run.pk),
        address("authcodes.printrun", "change", run.pk),
        address("authcodes.printrun", "cover", run.pk),
        address("authcodes.printrun", "poster", recall.pk),
        address("jobs.job", "download", run.job_id),
    ):
        assert client.get(asked).status_code == 404, asked
        assert client.post(asked, {}).status_code == 404, asked
    assert send(client, foreign, "confirm").status_code == 404
    assert PrintRun.objects.count() == 1


def test_range_of_another_batch_is_none(client, batch):
    foreign = factories.batch(factories.brand(), prefix="ZZ-")

    answer = live(client, batch, first=foreign.first_code)

    assert "first" in errors(answer)
    assert answer.context.get("picture") is None


def test_codes_of_another_brand_are_not_in_a_list_to_print(client, brand):
    foreign = factories.batch(factories.brand(), prefix="ZZ-")

    chosen = client.post(address("authcodes.printrun", "codes"), {**GOOD, "brand": foreign.brand_id, "confirm": "1"})
    listed = client.post(
        address("authcodes.printrun", "codes") + f"?batch__id__exact={foreign.pk}",
        {**GOOD, "brand": brand.pk, "confirm": "1"},
    )

    assert "brand" in errors(chosen)
    assert (listed.status_code, listed["Location"]) == (302, address("authcodes.authcode") + "?e=1")
    assert not PrintRun.objects.exists()


# --- What a list shows -----------------------------------------------------------------------------------------------


def test_codes_of_a_filtered_list_are_printed(client, brand, batch):
    other = factories.batch(brand, prefix="CD-", quantity=2, product=batch.product)
    factories.deactivate(codes=list(other.codes.all()), at=timezone.now())
    factories.batch(brand, prefix="EF-", quantity=2)
    listed = address("authcodes.printrun", "codes") + f"?product__id__exact={batch.product_id}&status=deactivated"

    page = client.post(listed, {**GOOD, "brand": brand.pk, "edit": "1", "what": "png"})
    trial = client.post(listed, {**GOOD, "brand": brand.pk, "test": "1", "what": "png"})
    client.post(listed, {**GOOD, "brand": brand.pk, "confirm": "1", "what": "png"})

    assert "Status: Deactivated" in text(page)
    assert "2 of these codes are deactivated" in text(page)
    assert decode_image(trial.content).endswith("/s/CD-0001")
    run = finished(PrintRun.objects.get())
    assert (run.batch, run.first_code, run.last_code, run.codes) == (None, "CD-0001", "CD-0002", 2)
    assert [row["code"] for row in manifest(content(run.job))] == ["CD-0001", "CD-0002"]


def sent_and_asked(client, where, **fields):
    """The answer, and the statements about codes that it took."""
    with CaptureQueriesContext(connection) as asked:
        answer = client.post(where, {**GOOD, **fields}) if fields else client.get(where)
    return answer, [query["sql"] for query in asked if "authcodes_authcode" in query["sql"]]


def is_bounded(statement):
    """Whether it ends after some rows, or has those of one page of the list, named by their ids."""
    return " LIMIT " in statement or re.search(r'"id" IN \(\d+[,)]', statement)


@pytest.fixture
def few(monkeypatch):
    """As if no more than three codes could be counted while a page is shown."""
    for module in (preview, studio):
        monkeypatch.setattr(module, "MAX_COUNTED", 3)


def test_long_list_is_counted_once_print_is_pressed_and_printed_by_the_second_press(client, brand, batch, few):
    factories.deactivate(codes=list(batch.codes.all()[:2]), at=timezone.now())
    where, common = address("authcodes.printrun", "codes"), {"brand": brand.pk, "payload": "code"}

    for fields in (
        {},
        {**common, "edit": "1"},
        {**common, "test": "1"},
        {**common, "save": "1", "layout_name": "Jars"},
    ):
        answer, statements = sent_and_asked(client, where, **fields)
        assert answer.status_code == 200
        assert [statement for statement in statements if not is_bounded(statement)] == []
        if "test" not in fields:
            shown = text(answer)
            assert "More than 3 codes. They are counted when you press Print." in shown
            assert "deactivated" not in answer.context.get("code_warnings", [])
            assert 'name="shown" value=""' in shown
    first = client.post(where, {**GOOD, **common, "confirm": "1"})

    assert "10 labels, 1 page" in " ".join(text(first).split())
    assert "Print 10" in text(first)
    assert "Nothing was printed yet. Check the number" in text(first)
    assert first.context["code_warnings"] == [
        "2 of these codes are deactivated. They will be printed but scan as not valid."
    ]
    assert not PrintRun.objects.exists()
    second = {
        **GOOD,
        **common,
        "confirm": "1",
        "shown": first.context["shown"],
        "page_token": first.context["page_token"],
    }
    assert client.post(where, second).status_code == client.post(where, second).status_code == 302
    assert PrintRun.objects.get().codes == 10


def test_list_that_grew_since_its_number_was_shown_is_shown_again(client, brand, batch, few):
    where, sent = address("authcodes.printrun", "codes"), {**GOOD, "brand": brand.pk, "confirm": "1"}
    shown = client.post(where, sent).context["shown"]
    factories.batch(brand, prefix="CD-", quantity=2)

    answer = client.post(where, {**sent, "shown": shown})

    assert "Print 12" in text(answer)
    assert not PrintRun.objects.exists()
    assert client.post(where, {**sent, "shown": answer.context["shown"]}).status_code == 302


def test_what_is_to_say_of_a_large_batch_is_said_before_it_is_printed(client, batch, few):
    assert "number" in client.get(where(batch)).context
    factories.deactivate(codes=list(batch.codes.all()[:2]), at=timezone.now())

    first = send(client, batch, "confirm")

    assert "2 of these codes are deactivated" in text(first)
    assert not PrintRun.objects.exists()
    assert send(client, batch, "confirm", shown=first.context["shown"]).status_code == 302


def test_large_batch_of_which_there_is_nothing_to_say_is_printed_at_once(client, batch, few):
    assert "Print 10" in text(client.get(where(batch)))
    assert send(client, batch, "confirm").status_code == 302


@pytest.mark.parametrize("shown", ["x", ":", "-1:", "9" * 400, "10:x"])
def test_what_no_page_of_ours_has_shown_prints_no_long_list(client, brand, batch, few, shown):
    factories.deactivate(codes=list(batch.codes.all()[:2]), at=timezone.now())
    sent = {**GOOD, "brand": brand.pk, "confirm": "1", "shown": shown}

    assert client.post(address("authcodes.printrun", "codes"), sent).status_code == 200
    assert not PrintRun.objects.exists()


def test_who_lost_the_role_meanwhile_gets_no_codes(client, owner, brand, batch):
    client.post(address("authcodes.printrun", "codes"), {**GOOD, "brand": brand.pk, "confirm": "1"})
    owner.staff_roles.update(role="support")

    run = finished(PrintRun.objects.get())

    assert (run.job.status, run.job.result.name) == ("failed", "")


def test_product_and_list_lead_to_printing_their_codes(client, batch):
    product = text(client.get(address("authcodes.product", "change", batch.product_id)))
    (action,) = {link for link in links(product) if link.endswith("/print/")}
    codes = text(client.get(address("authcodes.authcode"), {"status": "unscanned"}))

    assert client.get(action)["Location"] == (
        address("authcodes.printrun", "codes") + f"?product__id__exact={batch.product_id}"
    )
    assert f'href="{address("authcodes.printrun", "codes")}?status=unscanned"' in codes


def test_list_that_cannot_be_can_be_undone(client):
    answer = client.get(address("authcodes.printrun", "codes") + "?product__id__exact=x")

    assert answer["Location"] == address("authcodes.authcode") + "?e=1"


# --- Documents -------------------------------------------------------------------------------------------------------


def test_cover_sheet_and_the_posters_of_a_recall_are_offered(client, brand, batch):
    run = finished(printed(batch, what="png"))
    words = {"recall_id": "R-77", "contact": "x", "message": "x", "reason": "x"}
    recall = recalls.recall_batch(batch=factories.batch(brand), at=timezone.now(), **words)
    poster = address("authcodes.printrun", "poster", recall.pk)

    assert run.first_code in text(client.get(address("authcodes.printrun", "cover", run.pk)))
    posters = {f"{poster}?language={language}" for language in ("ar", "de", "en")}
    assert posters <= set(links(text(client.get(address("authcodes.recall", "change", recall.pk)))))
    assert "R-77" in text(client.get(poster))


def test_run_without_a_file_has_no_cover_sheet(client, batch):
    run = printed(batch)

    answer = client.get(address("authcodes.printrun", "cover", run.pk))

    assert answer["Location"] == address("authcodes.printrun", "change", run.pk)


def test_server_without_the_libraries_says_so_on_the_page(client, batch, monkeypatch):
    run = finished(printed(batch, what="png"))
    monkeypatch.setitem(sys.modules, "weasyprint", None)

    answer = client.get(address("authcodes.printrun", "cover", run.pk), follow=True)

    assert "libpango-1.0-0" in text(answer)
