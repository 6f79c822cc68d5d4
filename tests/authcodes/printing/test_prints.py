"""Print runs: printed codes are those the API accepts, and a file is offered only when it is complete."""

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
from tests.authcodes.printing.studio import print_url
from tests.support import factories
from tests.support.portal import browser, staff
from tests.support.print_jobs import SCHEME, content, decode_image, decode_pages, finished, manifest, start

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def brand(db):
    return factories.brand(hostname="tea.example.com")


# --- Files -----------------------------------------------------------------------------------------------------------


def test_images_of_a_batch_contain_the_urls_of_its_codes(brand):
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
def test_outcome_message_uses_the_right_plural_forms(language, count, message):
    with translation.override(language):
        assert prints.outcome_message(dict.fromkeys(["codes", "pages", "read_back", "pages_read"], count)) == message


def test_svg_images_contain_the_codes(brand):
    batch = factories.batch(brand, prefix="AB-", quantity=3)

    data = content(finished(start(batch, output="svg", payload="code")).job)

    archive = zipfile.ZipFile(io.BytesIO(data))
    assert [verification.read_svg(archive.read(row["file"])) for row in manifest(data)] == [
        "AB-0001",
        "AB-0002",
        "AB-0003",
    ]


def test_label_sheets_contain_every_code_page_by_page(brand, tmp_path):
    batch = factories.batch(brand, prefix="AB-", quantity=40, product=factories.product(brand, title="Green tea"))

    run = finished(start(batch, start=6, expiry=True, sku=True))

    first, second = decode_pages(content(run.job), tmp_path)
    assert first == [f"{SCHEME}://tea.example.com/s/AB-{number:04d}" for number in range(1, 26)]
    assert second == [f"{SCHEME}://tea.example.com/s/AB-{number:04d}" for number in range(26, 41)]
    assert (run.pages, run.codes, run.read_back) == (2, 40, 40)
    assert run.job.result_name == "labels-AB-0001-AB-0040.pdf"


def test_only_the_requested_range_of_a_batch_is_printed(brand):
    batch = factories.batch(brand, prefix="AB-", quantity=9)

    run = finished(start(batch, output="png", first="3", last="5"))

    assert [row["code"] for row in manifest(content(run.job))] == ["AB-0003", "AB-0004", "AB-0005"]
    assert (run.first_code, run.last_code, run.codes) == ("AB-0003", "AB-0005", 3)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("payload", ["address", "code", "gs1"])
def test_printed_payloads_are_read_back_as_their_codes(brand, payload, signed, settings):
    settings.CODE_TAG_SECRETS = {1: "s" * 32}
    batch = factories.batch(brand, prefix="A", quantity=2, signed=signed, product=factories.product(brand, gtin=GTIN))

    data = content(finished(start(batch, output="png", payload=payload)).job)

    archive = zipfile.ZipFile(io.BytesIO(data))
    for row in manifest(data):
        parsed = read(decode_image(archive.read(row["file"])))
        assert parsed.code == row["code"]
        assert len(parsed.tag) == (11 if signed else 0)


def test_digital_link_has_the_gtin_in_fourteen_digits(brand):
    batch = factories.batch(brand, prefix="A", product=factories.product(brand, gtin=GTIN))

    (row,) = manifest(content(finished(start(batch, output="png", payload="gs1")).job))

    assert row["payload"] == f"{SCHEME}://tea.example.com/01/04006381333931/21/A0001"


def test_label_has_the_requested_details(brand):
    product = factories.product(brand, title="Green tea", sku="GT-1")
    code = factories.code(brand, product=product, expiration_date=date(2099, 12, 31))

    label_without_details = selection.label_of(code, PrintRequest(title=False), "h")
    label_with_details = selection.label_of(code, PrintRequest(sku=True, expiry=True), "h")

    assert label_without_details.details == []
    assert (label_with_details.text, *label_with_details.details) == (
        code.code,
        "Green tea",
        "GT-1",
        "Expires 31 Dec 2099",
    )


# --- The logo --------------------------------------------------------------------------------------------------------


def set_logo(brand, colour):
    image_file = io.BytesIO()
    Image.new("RGB", (60, 20), colour).save(image_file, "PNG")
    picture = pictures.store(brand=brand, encoded=pictures.logo(image_file.getvalue()))
    Brand.objects.filter(pk=brand.pk).update(logo=picture)
    return hashlib.sha256(picture.content).hexdigest()


def test_run_records_which_logo_it_prints(brand):
    sha256 = set_logo(brand, "navy")

    run = finished(start(factories.batch(brand, quantity=2), logo=True))

    assert run.job.status == "done"
    assert PrintRequest.from_json(run.settings).logo_sha256 == sha256
    assert ("Logo", f"Yes, SHA-256 {sha256[:12]}…") in settings_of(run)


def test_print_fails_if_the_logo_changed_after_the_request(brand):
    set_logo(brand, "navy")
    run = start(factories.batch(brand, quantity=2), logo=True)
    set_logo(brand, "red")

    run = finished(run)

    assert (run.job.status, run.job.result.name, run.sha256) == ("failed", "", "")
    assert "logo changed" in run.job.log


# --- The job ---------------------------------------------------------------------------------------------------------


def test_codes_are_read_in_portions(brand, django_assert_num_queries):
    batch = factories.batch(brand, quantity=5)

    with django_assert_num_queries(4):
        codes_read = [(it.code, it.batch, it.product) for it in selection.streamed(batch.codes.all(), portion=2)]

    assert [code for code, _, _ in codes_read] == sorted(batch.codes.values_list("code", flat=True))


class ProcessKilled(BaseException):
    """Stands for a process that the kernel kills: no handler of ours runs."""


class KilledRun(runner.Run):
    """A run whose process is killed when all codes are drawn and nothing is recorded."""

    def progress(self, done, total):
        if done == total:
            raise ProcessKilled
        super().progress(done, total)


def test_killed_job_offers_no_file_and_prints_at_its_next_attempt(brand):
    run = start(factories.batch(brand, quantity=5), output="png")
    job = runner._take(run.job_id)

    with pytest.raises(ProcessKilled):
        prints.run_batch(KilledRun(job))

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


def test_verification_of_a_sample_includes_the_last_label(monkeypatch):
    monkeypatch.setattr(archive, "ALL_VERIFIED", 3)
    monkeypatch.setattr(archive, "VERIFIED_EVERY", 10)
    progress = prints.VerificationProgress()

    texts = [f"CODE-{number:03d}" for number in range(25)]
    labels = list(progress.of(design.Label(text, text) for text in texts))

    assert [label.payload for label in labels] == texts
    assert (progress.drawn, progress.read) == (25, 6)  # 0, 1, 2, 10, 20 and 24


def test_longest_code_gives_a_valid_file_name(brand):
    batch = factories.batch(brand, prefix="P" * 32, number_width=18)

    run = finished(start(batch, output="png"))

    assert len(run.first_code) == 50 <= MAX_CODE_LENGTH
    assert run.job.status == "done"


def test_run_with_a_sheet_that_no_longer_exists_fails_with_a_message_and_is_listed(brand):
    run = start(factories.batch(brand, quantity=2), by=staff(brand))
    run.settings = {**run.settings, "preset": "a4-99"}
    run.save(update_fields=["settings"])

    runner.run(run.job_id)

    job = Job.objects.get()
    assert (job.status, "The sheet “a4-99” no longer exists. Choose another one." in job.log) == ("failed", True)
    assert ("Sheet", "a4-99") in settings_of(run)


def test_studio_begins_with_a_known_sheet_if_that_of_the_last_print_no_longer_exists(brand):
    batch, owner = factories.batch(brand, quantity=2), staff(brand)
    run = start(batch, by=owner)
    run.settings = {**run.settings, "preset": "a4-99", "note": "Scan me"}
    run.save(update_fields=["settings"])

    form = browser(owner).get(print_url(batch)).context["form"]

    assert (form["sheet"].value(), form["note"].value()) == ("letter-30", "Scan me")
