"""Print runs: what comes out of a job says what the API accepts, is recorded, and is offered whole or not at all."""

import hashlib
import io
import zipfile
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.db.models import Count, Max, Min
from django.utils import timezone
from PIL import Image

from authcodes.codes import ranges
from authcodes.codes.ranges import full_range
from authcodes.models.codes import AuthCode
from authcodes.models.prints import PrintRun
from authcodes.printing import checks, selection
from authcodes.printing import runs as prints
from authcodes.printing.documents import settings_of
from authcodes.printing.labels import design
from authcodes.printing.labels.presets import PRESETS, Sheet
from authcodes.printing.qr import archive, verification
from authcodes.printing.request import PrintRequest
from authcodes.recalls import recalls
from brands.models.tenants import Brand, BrandHostname
from brands.scanned import MAX_CODE_LENGTH, read
from brands.tenants import pictures
from core.errors import Invalid
from jobs import runner
from jobs.models import Job
from portal.base.job_panel import is_on_offer
from tests.support import factories
from tests.support.portal import staff
from tests.support.print_jobs import SCHEME, content, decode_image, decode_pages, finished, manifest, start

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
GTIN = "4006381333931"


@pytest.fixture
def brand(db):
    return factories.brand(hostname="tea.example.com")


def recall(batch):
    words = {"recall_id": "R-1", "contact": "x", "message": "x", "reason": "x"}
    return recalls.recall_batch(batch=batch, at=timezone.now(), **words)


def selection_of(batch):
    return selection.of_range(full_range(batch))


def list_of(brand):
    codes = AuthCode.objects.filter(brand=brand)
    found = codes.aggregate(first=Min("code"), last=Max("code"), count=Count("pk"))
    return selection.Selection(brand, codes, **found)


# --- What comes out --------------------------------------------------------------------------------------------------


def test_images_of_a_batch_say_its_addresses(brand):
    batch = factories.batch(brand, prefix="AB-", quantity=7)

    run = finished(start(batch, what="png", by=staff(brand)))

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


def test_lines_instead_of_pixels(brand):
    batch = factories.batch(brand, prefix="AB-", quantity=3)

    data = content(finished(start(batch, what="svg", payload="code")).job)

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

    run = finished(start(batch, what="png", first="3", last="5"))

    assert [row["code"] for row in manifest(content(run.job))] == ["AB-0003", "AB-0004", "AB-0005"]
    assert (run.first_code, run.last_code, run.codes) == ("AB-0003", "AB-0005", 3)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("payload", ["address", "code", "gs1"])
def test_whatever_is_printed_is_what_the_api_reads(brand, payload, signed, settings):
    settings.CODE_TAG_SECRETS = {1: "s" * 32}
    batch = factories.batch(brand, prefix="A", quantity=2, signed=signed, product=factories.product(brand, gtin=GTIN))

    data = content(finished(start(batch, what="png", payload=payload)).job)

    archive = zipfile.ZipFile(io.BytesIO(data))
    for row in manifest(data):
        found = read(decode_image(archive.read(row["file"])))
        assert found.code == row["code"]
        assert len(found.tag) == (11 if signed else 0)


def test_digital_link_has_the_gtin_in_fourteen_digits(brand):
    batch = factories.batch(brand, prefix="A", product=factories.product(brand, gtin=GTIN))

    (row,) = manifest(content(finished(start(batch, what="png", payload="gs1")).job))

    assert row["payload"] == f"{SCHEME}://tea.example.com/01/04006381333931/21/A0001"


def test_label_has_what_was_asked_for(brand):
    product = factories.product(brand, title="Green tea", sku="GT-1")
    code = factories.code(brand, product=product, expiration_date=date(2099, 12, 31))

    bare = selection.label_of(code, PrintRequest(title=False), "h")
    full = selection.label_of(code, PrintRequest(sku=True, expiry=True), "h")

    assert bare.details == []
    assert (full.text, *full.details) == (code.code, "Green tea", "GT-1", "Expires 31 Dec 2099")


# --- What is refused, and what is told -------------------------------------------------------------------------------


def test_recalled_batch_is_not_printed(brand):
    batch = factories.batch(brand)
    recall(batch)

    with pytest.raises(Invalid, match="Recalled codes"):
        start(batch)

    assert not PrintRun.objects.exists()
    assert not Job.objects.filter(kind="print-batch").exists()


def test_recall_before_the_worker_comes_stops_it(brand):
    batch = factories.batch(brand)
    run = start(batch, what="png")
    recall(batch)

    run = finished(run)

    assert (run.job.status, run.job.result.name, run.sha256) == ("failed", "", "")
    assert "Recalled codes" in run.job.log


def test_deactivated_codes_are_told_of(brand):
    batch = factories.batch(brand, quantity=3)
    factories.deactivate(codes=[batch.codes.first()], at=timezone.now())

    assert checks.warnings(selection_of(batch), PrintRequest()) == [
        "1 of these codes are deactivated. They will be printed but scan as not valid."
    ]


@pytest.mark.parametrize(
    ("gtin", "prefix", "words"),
    [
        ("", "A", "have no product with a GTIN"),
        ("4006381333932", "A", "4006381333932 has a wrong check digit"),
        (GTIN, "SEVENTEEN-LETTERS", "at most 20 characters"),
    ],
)
def test_digital_links_need_a_real_gtin_and_a_short_serial(brand, gtin, prefix, words):
    batch = factories.batch(brand, prefix=prefix, product=factories.product(brand, gtin=gtin))

    with pytest.raises(Invalid, match=words) as refused:
        start(batch, payload="gs1")

    assert refused.value.details == {"field": "payload"}


def test_brand_without_a_hostname_prints_bare_codes_only(brand):
    batch = factories.batch(brand)
    BrandHostname.objects.all().delete()

    with pytest.raises(Invalid, match="no hostname"):
        start(batch)

    assert start(batch, payload="code").codes == 1


def test_modules_that_may_not_scan_are_told_of(brand):
    batch = factories.batch(brand, prefix="A-LONG-PREFIX-THAT-NEEDS-ROOM-")
    small = PrintRequest(what="png", level="H", size_mm=Decimal(20))

    (warning,) = checks.warnings(selection_of(batch), small)

    assert "Codes below 0.396 mm" in warning
    assert checks.warnings(selection_of(batch), PrintRequest(what="png")) == []


@pytest.mark.parametrize("what", ["png", "labels"])
def test_densest_symbol_of_a_list_is_the_one_that_is_told_of(brand, what):
    factories.batch(brand, prefix="A-")
    dense = factories.batch(brand, prefix="A-LONG-PREFIX-THAT-NEEDS-ROOM-", error_correction="H")
    factories.batch(brand, prefix="B-")
    listed = list_of(brand)
    small = PrintRequest(what=what, size_mm=Decimal(20))

    (warning,) = checks.warnings(listed, small)

    assert checks.densest_of(listed, small).batch == dense
    assert "0.396 mm" in warning
    assert checks.warnings(listed, small, thorough=False) == []
    assert checks.warnings(listed, replace(small, level="L", payload="code")) == []


def test_every_batch_of_a_list_must_fit_a_digital_link(brand):
    product = factories.product(brand, gtin=GTIN)
    factories.batch(brand, prefix="A", product=product)
    factories.batch(brand, prefix="SEVENTEEN-LETTERS", product=product)

    with pytest.raises(Invalid, match="at most 20 characters"):
        checks.check(list_of(brand), PrintRequest(payload="gs1"))


@pytest.mark.parametrize("batches_listed", [1, 30])
def test_looking_at_every_batch_costs_no_more_queries(brand, batches_listed, django_assert_num_queries):
    for _ in range(batches_listed):
        factories.batch(brand)
    listed = list_of(brand)

    with django_assert_num_queries(2):
        checks.densest_of(listed, PrintRequest())


def test_size_wins_over_the_number_of_labels(brand):
    wanted = PrintRequest(size_mm=Decimal("50.8"))

    (warning,) = checks.warnings(selection_of(factories.batch(brand)), wanted)

    assert wanted.design().sheet == PRESETS["grid-20"].sheet
    assert "will be printed instead" in warning


@pytest.mark.parametrize(("size", "preset"), [("20", "letter-30"), ("33", "grid-30"), ("40", "grid-20")])
def test_sheet_has_as_many_labels_as_the_size_allows(size, preset):
    assert PrintRequest(size_mm=Decimal(size)).fitting.name == preset


def test_settings_are_stored_as_they_were():
    sheet = Sheet(*(Decimal(number) for number in ("210", "297", "5.5", "5", "60", "60", "60", "60")), 3, 4)
    wanted = PrintRequest(what="labels", size_mm=Decimal("33.3"), sheet=sheet, start=4, offset_x=Decimal("-0.5"))

    assert PrintRequest.read(wanted.stored()) == wanted


# --- What was printed before -----------------------------------------------------------------------------------------


def test_earlier_runs_are_those_that_share_a_code(brand):
    batch, other = factories.batch(brand, quantity=9), factories.batch(brand, quantity=9)
    runs = {
        "before": start(batch, first="1", last="3"),
        "within": start(batch, first="5", last="5"),
        "cancelled": start(batch, first="4", last="6"),
        "failed": start(batch, first="4", last="6"),
        "other": start(other),
    }
    Job.objects.filter(print_run=runs["cancelled"]).update(status="cancelled")
    Job.objects.filter(print_run=runs["failed"]).update(status="failed")
    asked = selection.of_range(ranges.resolve_range(batch=batch, first="4", last="6"))

    assert list(prints.earlier(asked)) == [runs["within"]]
    assert list(prints.earlier(selection_of(batch))) == [runs["within"], runs["before"]]


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
    assert PrintRequest.read(run.settings).logo_sha256 == sha256
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
    run = start(factories.batch(brand, quantity=5), what="png")
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

    run = finished(start(batch, what="png"))

    assert len(run.first_code) == 50 <= MAX_CODE_LENGTH
    assert run.job.status == "done"
