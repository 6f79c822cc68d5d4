"""Print runs: what comes out of a job says what the API accepts, and is offered whole or not at all."""

import hashlib
import io
import zipfile
from datetime import date, timedelta

import pytest
from django.utils import timezone, translation
from PIL import Image

from authcodes.printing import runs as prints
from authcodes.printing import selection
from authcodes.printing.documents import settings_of
from authcodes.printing.labels import design
from authcodes.printing.qr import archive, verification
from authcodes.printing.request import PrintRequest
from brands.models.tenants import Brand
from brands.scanned import MAX_CODE_LENGTH, read
from brands.tenants import pictures
from jobs import runner
from jobs.models import Job
from portal.base.job_panel import is_on_offer
from tests.authcodes.printing.print_helpers import GTIN
from tests.support import factories
from tests.support.portal import staff
from tests.support.print_jobs import SCHEME, content, decode_image, decode_pages, finished, manifest, start

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def brand(db):
    return factories.brand(hostname="tea.example.com")


# --- What comes out --------------------------------------------------------------------------------------------------


def test_images_of_a_batch_say_its_addresses(brand):
    batch = factories.batch(brand, prefix="AB-", quantity=7)

    run = finished(start(batch, output="png", by=staff(brand)))

    data = content(run.job)
    rows = manifest(data)
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert [row["code"] for row in rows] == [f"AB-000{number}" for number in range(1, 8)]
    assert [decode_image(archive.read(row["file"])) for row in rows] == [
        f"{SCHEME}://tea.example.com/s/{row['code']}" for row in rows
    ]
    assert run.job.result_name == "png-AB-0001-AB-0007.zip"
    assert (run.sha256, run.codes, run.read_back) == (hashlib.sha256(data).hexdigest(), 7, 7)
    assert run.manifest_sha256 == hashlib.sha256(archive.read("manifest.csv")).hexdigest()
    assert "7 codes were read back" in run.job.log


@pytest.mark.parametrize(
    ("language", "count", "message"),
    [
        (
            "en",
            1,
            "1 label on 1 page. 1 code was read back and matches. 1 page of the finished file was read back.",
        ),
        (
            "en",
            2,
            "2 labels on 2 pages. 2 codes were read back and match. 2 pages of the finished file were read back.",
        ),
        (
            "ar",
            2,
            "ملصقان، صفحتان. قُرئ رمزان مجددًا وتطابقا. قُرئت مجددًا صفحتان من الملف المكتمل.",
        ),
    ],
)
def test_the_outcome_is_right_for_one_label_too(language, count, message):
    with translation.override(language):
        assert prints.outcome_message(dict.fromkeys(["codes", "pages", "read_back", "pages_read"], count)) == message


def test_lines_instead_of_pixels(brand):
    batch = factories.batch(brand, prefix="AB-", quantity=3)

    data = content(finished(start(batch, output="svg", payload="code")).job)

    archive = zipfile.ZipFile(io.BytesIO(data))
    assert [verification.read_svg(archive.read(row["file"])) for row in manifest(data)] == [
        "AB-0001",
        "AB-0002",
        "AB-0003",
    ]


def test_sheets_of_labels_say_every_code_page_by_page(brand, tmp_path):
    batch = factories.batch(brand, prefix="AB-", quantity=40, product=factories.product(brand, title="Green tea"))

    run = finished(start(batch, start=6, expiry=True, sku=True))

    first, second = decode_pages(content(run.job), tmp_path)
    assert first == [f"{SCHEME}://tea.example.com/s/AB-{number:04d}" for number in range(1, 26)]
    assert second == [f"{SCHEME}://tea.example.com/s/AB-{number:04d}" for number in range(26, 41)]
    assert (run.pages, run.codes, run.read_back) == (2, 40, 40)
    assert run.job.result_name == "labels-AB-0001-AB-0040.pdf"


def test_range_of_a_batch_is_printed_alone(brand):
    batch = factories.batch(brand, prefix="AB-", quantity=9)

    run = finished(start(batch, output="png", first="3", last="5"))

    assert [row["code"] for row in manifest(content(run.job))] == ["AB-0003", "AB-0004", "AB-0005"]
    assert (run.first_code, run.last_code, run.codes) == ("AB-0003", "AB-0005", 3)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("payload", ["address", "code", "gs1"])
def test_whatever_is_printed_is_what_the_api_reads(brand, payload, signed, settings):
    settings.CODE_TAG_SECRETS = {1: "s" * 32}
    batch = factories.batch(brand, prefix="A", quantity=2, signed=signed, product=factories.product(brand, gtin=GTIN))

    data = content(finished(start(batch, output="png", payload=payload)).job)

    archive = zipfile.ZipFile(io.BytesIO(data))
    for row in manifest(data):
        found = read(decode_image(archive.read(row["file"])))
        assert found.code == row["code"]
        assert len(found.tag) == (11 if signed else 0)


def test_digital_link_has_the_gtin_in_fourteen_digits(brand):
    batch = factories.batch(brand, prefix="A", product=factories.product(brand, gtin=GTIN))

    (row,) = manifest(content(finished(start(batch, output="png", payload="gs1")).job))

    assert row["payload"] == f"{SCHEME}://tea.example.com/01/04006381333931/21/A0001"


def test_label_has_what_was_asked_for(brand):
    product = factories.product(brand, title="Green tea", sku="GT-1")
    code = factories.code(brand, product=product, expiration_date=date(2099, 12, 31))

    bare = selection.label_of(code, PrintRequest(title=False), "h")
    full = selection.label_of(code, PrintRequest(sku=True, expiry=True), "h")

    assert bare.details == []
    assert (full.text, *full.details) == (code.code, "Green tea", "GT-1", "Expires 31 Dec 2099")


# --- The logo --------------------------------------------------------------------------------------------------------


def give_logo(brand, colour):
    drawn = io.BytesIO()
    Image.new("RGB", (60, 20), colour).save(drawn, "PNG")
    picture = pictures.store(brand=brand, drawn=pictures.logo(drawn.getvalue()))
    Brand.objects.filter(pk=brand.pk).update(logo=picture)
    return hashlib.sha256(picture.content).hexdigest()


def test_run_tells_which_logo_it_prints(brand):
    sha256 = give_logo(brand, "navy")

    run = finished(start(factories.batch(brand, quantity=2), logo=True))

    assert run.job.status == "done"
    assert PrintRequest.from_json(run.settings).logo_sha256 == sha256
    assert ("Logo", f"Yes, SHA-256 {sha256[:12]}…") in settings_of(run)


def test_another_logo_than_was_looked_at_is_not_printed(brand):
    give_logo(brand, "navy")
    run = start(factories.batch(brand, quantity=2), logo=True)
    give_logo(brand, "red")

    run = finished(run)

    assert (run.job.status, run.job.result.name, run.sha256) == ("failed", "", "")
    assert "logo changed" in run.job.log


# --- The job ---------------------------------------------------------------------------------------------------------


def test_codes_are_read_in_portions(brand, django_assert_num_queries):
    batch = factories.batch(brand, quantity=5)

    with django_assert_num_queries(4):
        found = [(it.code, it.batch, it.product) for it in selection.streamed(batch.codes.all(), portion=2)]

    assert [code for code, _, _ in found] == sorted(batch.codes.values_list("code", flat=True))


class Killed(BaseException):
    """As the kernel ends a process: nothing else is done."""


class Dying(runner.Run):
    """A worker that is killed when everything is made and nothing is recorded."""

    def progress(self, done, total):
        if done == total:
            raise Killed
        super().progress(done, total)


def test_killed_job_offers_no_file_and_prints_when_it_is_taken_up_again(brand):
    run = start(factories.batch(brand, quantity=5), output="png")
    job = runner._take(run.job_id)

    with pytest.raises(Killed):
        prints.run_batch(Dying(job))

    job.refresh_from_db()
    run.refresh_from_db()
    assert (job.status, is_on_offer(job), run.sha256) == ("running", False, "")
    Job.objects.filter(pk=job.pk).update(alive_at=timezone.now() - timedelta(hours=1))
    run = finished(run)
    assert (run.job.status, run.job.attempts, run.read_back) == ("done", 2, 5)
    assert run.sha256 == hashlib.sha256(content(run.job)).hexdigest()


def test_cancelled_job_leaves_no_file(brand):
    run = start(factories.batch(brand, quantity=5))
    Job.objects.filter(pk=run.job_id).update(cancel_requested=True)

    run = finished(run)

    assert (run.job.status, run.job.result.name, run.sha256) == ("cancelled", "", "")


def test_last_of_many_labels_is_read_again_too(monkeypatch):
    monkeypatch.setattr(archive, "ALL_VERIFIED", 3)
    monkeypatch.setattr(archive, "VERIFIED_EVERY", 10)
    proof = prints.VerificationProgress()

    texts = [f"CODE-{number:03d}" for number in range(25)]
    labels = list(proof.of(design.Label(text, text) for text in texts))

    assert [label.payload for label in labels] == texts
    assert (proof.drawn, proof.read) == (25, 6)  # 0, 1, 2, 10, 20 and 24


def test_longest_code_is_a_good_file_name(brand):
    batch = factories.batch(brand, prefix="P" * 32, number_width=18)

    run = finished(start(batch, output="png"))

    assert len(run.first_code) == 50 <= MAX_CODE_LENGTH
    assert run.job.status == "done"
