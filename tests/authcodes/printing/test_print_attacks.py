"""Printing as somebody with bad intent would try it: told or not found, never a broken page, never half a file."""

import io

import pytest
from django.test import Client
from PIL import Image
from pypdf import PdfReader

from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.prints import PrintRun
from brands.models.tenants import Brand
from brands.tenants import pictures
from jobs.models import Job
from tests.support import factories
from tests.support.portal import address, browser, errors, printed, staff, text
from tests.support.print_jobs import content, finished, manifest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
LENGTHS = (
    *("size_amount", "page_width", "page_height", "left", "top"),
    *("label_width", "label_height", "pitch_x", "pitch_y", "columns", "rows", "start"),
)
NO_NUMBERS = ["NaN", "sNaN", "-Infinity", "1e400", "1e9999999999", "1e-400", "9" * 5000, "0x10", "1;2", "<b>"]


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=4)


def where(batch, what="batch"):
    return address("authcodes.printrun", what, batch.pk)


def form_data(batch, **fields):
    usual = {"output": "labels", "payload": "address", "sheet": "letter-30", "start": "1"}
    return {**usual, "first": batch.first_code, "last": batch.last_code, **fields}


def nothing_was_made():
    return not PrintRun.objects.exists() and not Job.objects.filter(kind__startswith="print").exists()


# --- What the form and the addresses of its previews are sent --------------------------------------------------------


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_what_is_no_number_is_told_at_each_field(client, batch, number):
    sent = form_data(batch, sheet="custom", size="custom", **dict.fromkeys(LENGTHS, number))

    answer = client.post(where(batch), {**sent, "confirm": "1"})
    live = client.get(where(batch, "preview"), sent)

    assert set(LENGTHS) <= set(answer.context["form"].errors)
    assert (live.status_code, live.context.get("picture")) == (200, None)
    assert client.get(address("authcodes.printrun", "calibration"), sent).status_code == 404
    assert nothing_was_made()


@pytest.mark.parametrize(
    "tampered",
    [
        {"output": "exe"},
        {"first": "../../etc/passwd"},
        {"first": "9" * 64},
        {"last": "\u202e"},
        {"payload": "javascript:alert(1)"},
        {"level": "Z"},
        {"sheet": "__class__"},
        {"size": "custom", "size_amount": "1"},
        {"start": "-1"},
        {"printer": "9" * 30},
        {"note": "x" * 3000},
        {"logo": "on"},
    ],
)
def test_tampered_addresses_of_previews_show_nothing(client, batch, tampered):
    sent = form_data(batch, **tampered)

    live = client.get(where(batch, "preview"), sent)

    assert client.post(where(batch), {**sent, "test": "1"})["Content-Type"].startswith("text/html")
    assert (live.status_code, live.context.get("picture")) == (200, None)
    assert 'role="alert"' in text(live)


@pytest.mark.parametrize("listed", ["batch__id__exact=9e9", "product__id__exact=x", "q=a%00b", "status=%00"])
def test_tampered_lists_show_nothing(client, brand, batch, listed):
    sent = {**form_data(batch), "brand": brand.pk, "list": listed}

    live = client.get(address("authcodes.printrun", "codes_preview"), sent)

    assert (live.status_code, live.context.get("picture")) == (200, None)
    assert 'role="alert"' in text(live)


@pytest.mark.parametrize("listed", ["brand__name__startswith=a", "batch__recall__reason__startswith=a"])
def test_lists_do_not_ask_what_no_filter_asks(client, brand, batch, listed):
    sent = {**form_data(batch), "brand": brand.pk}

    preview = client.get(address("authcodes.printrun", "codes_preview"), {**sent, "list": listed})
    assert preview.status_code == 200
    assert preview.context.get("picture") is None
    assert (
        client.post(f"{address('authcodes.printrun', 'codes')}?{listed}", {**sent, "confirm": "1"}).status_code == 400
    )
    assert nothing_was_made()


def test_null_characters_in_an_address_are_refused(client, batch):
    assert client.get(where(batch, "preview"), form_data(batch, note="a\0b")).status_code == 400


@pytest.mark.parametrize("again", ["x", "-1", "9" * 50, ""])
def test_yes_to_a_question_nobody_asked_starts_nothing(client, batch, again):
    printed(batch)

    answer = client.post(where(batch), {**form_data(batch), "confirm": "1", "again": again})

    assert "printed before" in text(answer)
    assert PrintRun.objects.count() == 1


# --- Prefixes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["x" * 300, "a/b", "../../etc/", "a\\b", "a b", "a.b", "<b>", "é", "\u202e"])
def test_prefix_that_no_file_and_no_address_could_have_makes_no_batch(client, brand, prefix):
    sent = {"brand": brand.pk, "range_name": "Bad", "prefix": prefix, "quantity": 3, "starting_number": 1}
    sent |= {"number_width": 4, "error_correction": "M", "status": "active", "scan_limit": 1}

    answer = client.post(address("authcodes.batchrange", "add"), sent)

    assert "prefix" in errors(answer)
    assert not BatchRange.objects.exists()


@pytest.mark.parametrize("prefix", ["x" * 300, "a/b", "../"])
def test_prefix_is_checked_wherever_batches_are_made(brand, prefix):
    with pytest.raises(BatchRejected):
        factories.batch(brand, prefix=prefix)


@pytest.mark.parametrize("prefix", ["CON", "aux-", "-", "_" * 32, "con", "__"])
def test_odd_prefixes_become_files_that_every_system_takes(brand, prefix):
    batch = factories.batch(brand, prefix=prefix, quantity=2)

    run = finished(printed(batch, output="png"))

    rows = manifest(content(run.job))
    names = [row["file"] for row in rows]
    assert [row["payload"].rpartition("/")[2] for row in rows] == [batch.first_code, batch.last_code]
    assert names == sorted(names)
    assert not [name for name in names if name.startswith(("-", ".", "CON.", "AUX.")) or "/" in name]


# --- Logos -----------------------------------------------------------------------------------------------------------


def drawn(size, colour="navy", mode="RGB", kind="PNG", **more):
    file = io.BytesIO()
    Image.new(mode, size, colour).save(file, kind, **more)
    return file.getvalue()


LOGOS = {
    "one pixel": drawn((1, 1)),
    "very tall": drawn((1, 9000)),
    "very wide": drawn((9000, 1)),
    "nothing to be seen": drawn((50, 50), (0, 0, 0, 0), "RGBA"),
    "four colours of ink": drawn((50, 50), (9, 9, 9, 9), "CMYK", "JPEG"),
    "sixteen bits": drawn((50, 50), 9000, "I;16"),
    "also a script and an archive": drawn((9, 9)) + b"<script>alert(1)</script>PK\x03\x04",
}


@pytest.mark.parametrize("preset", ["letter-30", "grid-20"])
@pytest.mark.parametrize("logo", LOGOS)
def test_whatever_can_be_a_logo_is_one_still_picture_on_labels_that_scan(brand, batch, logo, preset):
    picture = pictures.store(brand=brand, drawn=pictures.logo(LOGOS[logo]))
    Brand.objects.filter(pk=brand.pk).update(logo=picture)

    run = finished(printed(batch, logo=True, preset=preset))

    data = content(run.job)
    [page] = PdfReader(io.BytesIO(data)).pages
    assert (run.job.status, run.read_back, run.pages_read) == ("done", 4, 1)
    assert len(page.images) == 1
    assert b"<script" not in bytes(picture.content) + data


# --- Files -----------------------------------------------------------------------------------------------------------


def test_files_are_for_the_brands_people_who_print(client, brand, batch):
    run = finished(printed(batch, output="png"))
    file = address("jobs.job", "download", run.job_id)

    assert client.get(file).status_code == 200
    assert browser(staff(brand, role="support")).get(file).status_code == 404  # support sees no print runs
    assert browser(staff(factories.brand())).get(file).status_code == 404
    assert "login" in Client().get(file)["Location"]
