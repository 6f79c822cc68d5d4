"""Printing with malicious input: it gives an error or 404, never a server error or a partial file."""

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
from tests.support.portal import address, browser, errors, print_run_of, staff, text
from tests.support.print_jobs import content, finished, manifest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
LENGTHS = (
    *("size_amount", "page_width", "page_height", "left", "top"),
    *("label_width", "label_height", "pitch_x", "pitch_y", "columns", "rows", "start"),
)
INVALID_NUMBERS = ["NaN", "sNaN", "-Infinity", "1e400", "1e9999999999", "1e-400", "9" * 5000, "0x10", "1;2", "<b>"]


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=4)


def print_url(batch, page="batch"):
    return address("authcodes.printrun", page, batch.pk)


def form_data(batch, **fields):
    defaults = {"output": "labels", "payload": "address", "sheet": "letter-30", "start": "1"}
    return {**defaults, "first": batch.first_code, "last": batch.last_code, **fields}


def nothing_was_started():
    return not PrintRun.objects.exists() and not Job.objects.filter(kind__startswith="print").exists()


# --- Data sent to the form and to its previews -----------------------------------------------------------------------


@pytest.mark.parametrize("number", INVALID_NUMBERS)
def test_invalid_numbers_are_reported_at_every_field(client, batch, number):
    data = form_data(batch, sheet="custom", size="custom", **dict.fromkeys(LENGTHS, number))

    answer = client.post(print_url(batch), {**data, "confirm": "1"})
    preview = client.get(print_url(batch, "preview"), data)

    assert set(LENGTHS) <= set(answer.context["form"].errors)
    assert (preview.status_code, preview.context.get("picture")) == (200, None)
    assert client.get(address("authcodes.printrun", "calibration"), data).status_code == 404
    assert nothing_was_started()


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
def test_tampered_preview_data_gives_an_error_and_no_picture(client, batch, tampered):
    data = form_data(batch, **tampered)

    preview = client.get(print_url(batch, "preview"), data)

    assert client.post(print_url(batch), {**data, "test": "1"})["Content-Type"].startswith("text/html")
    assert (preview.status_code, preview.context.get("picture")) == (200, None)
    assert 'role="alert"' in text(preview)


@pytest.mark.parametrize("listed", ["batch__id__exact=9e9", "product__id__exact=x", "q=a%00b", "status=%00"])
def test_tampered_list_filters_give_an_error_and_no_picture(client, brand, batch, listed):
    data = {**form_data(batch), "brand": brand.pk, "list": listed}

    preview = client.get(address("authcodes.printrun", "codes_preview"), data)

    assert (preview.status_code, preview.context.get("picture")) == (200, None)
    assert 'role="alert"' in text(preview)


@pytest.mark.parametrize("listed", ["brand__name__startswith=a", "batch__recall__reason__startswith=a"])
def test_lookups_that_are_not_list_filters_are_rejected(client, brand, batch, listed):
    data = {**form_data(batch), "brand": brand.pk}

    preview = client.get(address("authcodes.printrun", "codes_preview"), {**data, "list": listed})
    assert preview.status_code == 200
    assert preview.context.get("picture") is None
    assert (
        client.post(f"{address('authcodes.printrun', 'codes')}?{listed}", {**data, "confirm": "1"}).status_code == 400
    )
    assert nothing_was_started()


def test_null_characters_in_a_query_are_rejected(client, batch):
    assert client.get(print_url(batch, "preview"), form_data(batch, note="a\0b")).status_code == 400


@pytest.mark.parametrize("again", ["x", "-1", "9" * 50, ""])
def test_invalid_reprint_confirmation_starts_nothing(client, batch, again):
    print_run_of(batch)

    answer = client.post(print_url(batch), {**form_data(batch), "confirm": "1", "again": again})

    assert "printed before" in text(answer)
    assert PrintRun.objects.count() == 1


# --- Prefixes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["x" * 300, "a/b", "../../etc/", "a\\b", "a b", "a.b", "<b>", "é", "\u202e"])
def test_prefix_unusable_in_file_names_or_urls_is_rejected(client, brand, prefix):
    data = {"brand": brand.pk, "range_name": "Bad", "prefix": prefix, "quantity": 3, "starting_number": 1}
    data |= {"number_width": 4, "error_correction": "M", "status": "active", "scan_limit": 1}

    answer = client.post(address("authcodes.batchrange", "add"), data)

    assert "prefix" in errors(answer)
    assert not BatchRange.objects.exists()


@pytest.mark.parametrize("prefix", ["x" * 300, "a/b", "../"])
def test_invalid_prefix_is_rejected_outside_the_form_too(brand, prefix):
    with pytest.raises(BatchRejected):
        factories.batch(brand, prefix=prefix)


@pytest.mark.parametrize("prefix", ["CON", "aux-", "-", "_" * 32, "con", "__"])
def test_unusual_prefixes_give_portable_file_names(brand, prefix):
    batch = factories.batch(brand, prefix=prefix, quantity=2)

    run = finished(print_run_of(batch, output="png"))

    rows = manifest(content(run.job))
    names = [row["file"] for row in rows]
    assert [row["payload"].rpartition("/")[2] for row in rows] == [batch.first_code, batch.last_code]
    assert names == sorted(names)
    assert not [name for name in names if name.startswith(("-", ".", "CON.", "AUX.")) or "/" in name]


# --- Logos -----------------------------------------------------------------------------------------------------------


def image_bytes(size, colour="navy", mode="RGB", kind="PNG", **options):
    file = io.BytesIO()
    Image.new(mode, size, colour).save(file, kind, **options)
    return file.getvalue()


LOGOS = {
    "one pixel": image_bytes((1, 1)),
    "very tall": image_bytes((1, 9000)),
    "very wide": image_bytes((9000, 1)),
    "nothing to be seen": image_bytes((50, 50), (0, 0, 0, 0), "RGBA"),
    "four colours of ink": image_bytes((50, 50), (9, 9, 9, 9), "CMYK", "JPEG"),
    "sixteen bits": image_bytes((50, 50), 9000, "I;16"),
    "also a script and an archive": image_bytes((9, 9)) + b"<script>alert(1)</script>PK\x03\x04",
}


@pytest.mark.parametrize("preset", ["letter-30", "grid-20"])
@pytest.mark.parametrize("logo", LOGOS)
def test_unusual_logos_are_printed_as_one_image_on_readable_labels(brand, batch, logo, preset):
    picture = pictures.store(brand=brand, encoded=pictures.logo(LOGOS[logo]))
    Brand.objects.filter(pk=brand.pk).update(logo=picture)

    run = finished(print_run_of(batch, logo=True, preset=preset))

    data = content(run.job)
    [page] = PdfReader(io.BytesIO(data)).pages
    assert (run.job.status, run.read_back, run.pages_read) == ("done", 4, 1)
    assert len(page.images) == 1
    assert b"<script" not in bytes(picture.content) + data


# --- Files -----------------------------------------------------------------------------------------------------------


def test_print_files_are_only_for_the_brands_staff_who_may_print(client, brand, batch):
    run = finished(print_run_of(batch, output="png"))
    file = address("jobs.job", "download", run.job_id)

    assert client.get(file).status_code == 200
    assert browser(staff(brand, role="support")).get(file).status_code == 404  # support sees no print runs
    assert browser(staff(factories.brand())).get(file).status_code == 404
    assert "login" in Client().get(file)["Location"]
