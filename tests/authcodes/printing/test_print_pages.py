"""Printing in the portal: the form, its preview, the run, and the confirmation for codes printed before."""

import io
import re
import sys
from decimal import Decimal

import pytest
from django.utils import timezone
from pypdf import PdfReader

from authcodes.models.prints import Printer, PrintRun
from authcodes.printing import runs
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import symbol
from authcodes.printing.qr.verification import Unreadable
from authcodes.printing.request import PrintRequest
from authcodes.recalls import recalls
from brands.models.audit import AuditLogEntry
from jobs.models import Job
from tests.authcodes.printing.print_pages import SHEET, form_errors, post_form, preview_image, print_url
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, links, print_run_of, staff, text
from tests.support.print_jobs import SCHEME, decode_image, decode_pages, finished, manifest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def owner(brand):
    return staff(brand, email="ann@example.com")


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, range_name="Spring")


# --- From the batch to the file --------------------------------------------------------------------------------------


def test_batch_links_to_its_print_page_for_all_its_codes(client, batch):
    page = text(client.get(address("authcodes.batchrange", "change", batch.pk)))

    assert print_url(batch) in links(page)
    form = client.get(print_url(batch)).context["form"]
    assert (form["first"].value(), form["last"].value()) == ("AB-0001", "AB-0010")


def test_edit_previews_the_print_and_starts_nothing(client, batch):
    answer = post_form(client, batch, "edit", first="3", start="4")

    page_text = text(answer)
    assert "8 labels, 1 page" in " ".join(page_text.split())
    assert "Print 8" in page_text
    assert f"{SCHEME}://{batch.brand.hostnames.get()}/s/AB-0003" in page_text
    assert (answer.context["pages"], answer.context["qr_mm"]) == (1, "21.5")
    assert preview_image(answer).count(b"scale(0.") == 8
    assert not PrintRun.objects.exists()


def test_opened_page_has_a_preview_and_no_errors(client, batch):
    answer = client.get(print_url(batch))

    assert preview_image(answer).count(b">AB-00") == 10
    assert [row.name for row in answer.context["rows"] if row.is_visible] == ["qr", "code", "title"]
    assert not answer.context["form"].errors


def test_page_has_no_inline_scripts_and_only_embedded_images(client, batch):
    answer = post_form(client, batch, "edit")

    assert "img-src 'self' data:" in answer["Content-Security-Policy"]
    page_text = text(answer)
    assert not re.findall(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", page_text)
    assert set(re.findall(r'<img[^>]*src="([a-z]+):', page_text)) == {"data"}


def test_confirmed_print_is_started_and_recorded_in_the_audit_log(client, owner, batch):
    answer = post_form(client, batch, "confirm", output="png")

    run = PrintRun.objects.get()
    assert answer["Location"] == address("authcodes.printrun", "change", run.pk)
    assert (run.batch, run.output, run.codes, run.started_by) == (batch, "png", 10, owner)
    assert (run.job.kind, run.job.total) == ("print-batch", 10)
    actions = AuditLogEntry.objects.filter(kind="authcodes.batchrange", row_id=str(batch.pk)).values_list(
        "action", flat=True
    )
    assert "Printed: AB-0001 … AB-0010" in actions


def test_page_of_a_run_follows_the_job_and_then_offers_the_file(client, batch):
    post_form(client, batch, "confirm")
    run = PrintRun.objects.get()
    page = address("authcodes.printrun", "change", run.pk)
    file, cancel = (address("jobs.job", action, run.job_id) for action in ("download", "cancel"))

    waiting_page = text(client.get(page))
    finished(run)
    finished_page = text(client.get(page))

    assert "PDF with 10 labels" in waiting_page
    assert f'data-job="{run.job_id}"' in waiting_page
    assert (cancel in links(waiting_page), file in links(waiting_page)) == (True, False)
    assert "10 labels on 1 page. 10 codes were read back and match." in finished_page
    assert "print it at 100 %" in finished_page
    assert "data-job=" not in finished_page
    assert {file, address("authcodes.batchrange", "change", batch.pk)} <= links(finished_page)
    assert cancel not in links(finished_page)


def test_page_of_a_failed_run_gives_the_reason(client, batch):
    run = print_run_of(batch, output="png")
    Job.objects.filter(pk=run.job_id).update(status="failed", log="12:00:00 The logo has changed.\n")

    page = text(client.get(address("authcodes.printrun", "change", run.pk)))

    assert "ZIP with 10 images" in page
    assert "The logo has changed." in page
    assert address("jobs.job", "download", run.job_id) not in links(page)


def test_cancelling_a_print_redirects_to_its_run(client, batch):
    post_form(client, batch, "confirm")
    run = PrintRun.objects.get()
    page, cancel = address("authcodes.printrun", "change", run.pk), address("jobs.job", "cancel", run.job_id)

    assert f'href="{page}"' in text(client.get(cancel))
    assert client.post(cancel)["Location"] == page
    assert client.get(address("jobs.job", "download", run.job_id))["Location"] == page


def test_file_is_downloaded_through_its_job(client, batch):
    post_form(client, batch, "confirm", output="png")
    run = finished(PrintRun.objects.get())

    answer = client.get(address("jobs.job", "download", run.job_id))

    data = b"".join(answer.streaming_content)
    assert answer["Content-Type"] == "application/zip"
    assert [row["code"] for row in manifest(data)] == [f"AB-{number:04d}" for number in range(1, 11)]
    assert address("authcodes.printrun", "change", run.pk) in links(
        text(client.get(address("jobs.job", "change", run.job_id)))
    )


def test_run_is_listed_with_its_state_and_has_a_checksum_and_cover_sheet(client, batch):
    run = finished(print_run_of(batch, output="png"))

    assert "To print" in text(client.get(address("authcodes.printrun")))
    page = text(client.get(address("authcodes.printrun", "change", run.pk)))
    assert run.sha256 in page
    assert address("authcodes.printrun", "cover", run.pk) in links(page)


def test_test_page_has_the_first_labels_and_is_marked_as_a_test(client, batch, tmp_path):
    answer = post_form(client, batch, "test", start="30")

    assert answer["Content-Type"] == "application/pdf"
    assert decode_pages(answer.content, tmp_path) == [[f"{SCHEME}://{batch.brand.hostnames.get()}/s/AB-0001"]]
    assert "TEST" in text(answer)
    assert not PrintRun.objects.exists()


@pytest.mark.parametrize(("output", "kind"), [("png", "image/png"), ("svg", "image/svg+xml")])
def test_test_print_of_images_is_the_first_image(client, batch, output, kind):
    answer = post_form(client, batch, "test", output=output, payload="code")

    assert (answer["Content-Type"], answer["Content-Disposition"]) == (kind, f'attachment; filename="code-1.{output}"')
    if output == "png":
        assert decode_image(answer.content) == "AB-0001"


def test_test_page_with_a_wrong_code_is_not_returned(client, batch, monkeypatch):
    monkeypatch.setattr(images, "symbol", lambda text, level: symbol(f"{text[:-1]}X", level))

    answer = post_form(client, batch, "test")

    assert answer["Content-Type"].startswith("text/html")
    assert "AB-0001 contains something else" in text(answer)


@pytest.mark.parametrize("output", ["png", "svg"])
def test_first_image_with_a_wrong_code_is_not_returned(client, batch, output, monkeypatch):
    monkeypatch.setattr(images, "symbol", lambda text, level: symbol(f"{text[:-1]}X", level))

    with pytest.raises(Unreadable, match="AB-0001 contains something else"):
        post_form(client, batch, "test", output=output)


def test_calibration_page_has_the_size_of_the_sheet(client):
    answer = client.get(address("authcodes.printrun", "calibration"))

    (page,) = PdfReader(io.BytesIO(answer.content)).pages
    assert [round(float(side)) for side in page.mediabox[2:]] == [612, 792]


def test_edit_retains_the_entered_values(client, batch):
    form = post_form(client, batch, "edit", first="3", level="H").context["form"]

    assert (form["first"].value(), form["level"].value()) == ("3", "H")


def test_next_print_starts_with_the_settings_and_printer_of_the_last(client, batch):
    printer = Printer.objects.create(brand=batch.brand, name="Left", offset_x="-0.5", scale="1.005")
    post_form(client, batch, "confirm", start="9", printer=printer.pk, note="Keep dry", **SHEET, first="1")

    form = client.get(print_url(batch)).context["form"]

    assert (form["printer"].value(), form["note"].value(), form["start"].value()) == (printer.pk, "Keep dry", 1)
    print_request = PrintRequest.from_json(PrintRun.objects.get().settings)
    assert (print_request.printer, print_request.offset_x, print_request.offset_y, print_request.scale) == (
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
        ({"size": "custom", "size_amount": "1.1811", "size_unit": "in"}, "29.9999"),
        ({"size": "custom", "size_amount": "33.3", "size_unit": "mm"}, "33.3"),
        ({"size": "40"}, "40"),
        ({}, None),
    ],
)
def test_size_can_be_entered_in_inches_or_millimetres(client, batch, fields, size):
    post_form(client, batch, "confirm", output="png", **fields)

    print_request = PrintRequest.from_json(PrintRun.objects.get().settings)
    assert print_request.size_mm == (Decimal(size) if size else None)


@pytest.mark.parametrize("inches", ["1.1811", "0.7874"])
def test_page_opens_with_the_size_in_inches_of_the_last_print(client, batch, inches):
    post_form(client, batch, "confirm", output="png", size="custom", size_amount=inches, size_unit="in")

    answer = client.get(print_url(batch))

    assert not answer.context["form"].errors
    assert answer.context["picture"]


def test_batch_still_being_generated_cannot_be_printed(client, brand):
    batch = factories.batch(brand)
    type(batch).objects.filter(pk=batch.pk).update(generated_count=0)

    answer = client.get(print_url(batch))

    assert answer["Location"] == address("authcodes.batchrange", "change", batch.pk)


def test_recalled_batch_is_rejected_and_has_no_print_button(client, batch):
    recall_fields = {"recall_id": "R-1", "contact": "x", "message": "x", "reason": "x"}
    recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)

    page = text(client.get(address("authcodes.batchrange", "change", batch.pk)))
    answer = post_form(client, batch, "confirm")

    assert print_url(batch) not in links(page)
    assert "Recalled codes are not printed." in form_errors(answer)["__all__"][0]


# --- Printed before --------------------------------------------------------------------------------------------------


def test_printing_codes_again_must_be_confirmed(client, batch):
    earlier_run = print_run_of(batch, by=staff(batch.brand, email="bob@example.com"))

    confirmation = post_form(client, batch, "confirm", first="9")

    assert PrintRun.objects.get() == earlier_run
    assert "printed before" in text(confirmation)
    assert "bob@example.com" in text(confirmation)
    assert address("authcodes.printrun", "change", earlier_run.pk) in links(text(confirmation))
    second_press = post_form(client, batch, "confirm", first="9", again=earlier_run.pk)
    assert second_press.status_code == 302
    assert PrintRun.objects.count() == 2


def test_confirmation_based_on_an_older_run_must_be_repeated(client, batch):
    older_run = print_run_of(batch)
    print_run_of(batch)

    answer = post_form(client, batch, "confirm", again=older_run.pk)

    assert answer.status_code == 200
    assert PrintRun.objects.count() == 2


def runs_started_by_concurrent_confirmations(batch):
    """How many runs start when several users confirm the same print at the same moment."""
    clients = [browser(staff(batch.brand)) for _ in range(4)]
    answers = run_concurrently(lambda client: post_form(client, batch, "confirm").status_code, clients)
    assert answers.count(302) == PrintRun.objects.count()
    assert set(answers) <= {200, 302}
    return answers.count(302)


@pytest.mark.django_db(transaction=True)
def test_concurrent_confirmations_start_one_run(batch):
    assert runs_started_by_concurrent_confirmations(batch) == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_concurrent_confirmations_start_several_runs(batch, monkeypatch):
    monkeypatch.setattr(runs, "lock_batches", lambda _brand: None)

    assert runs_started_by_concurrent_confirmations(batch) > 1


# --- Documents -------------------------------------------------------------------------------------------------------


def test_cover_sheet_and_the_posters_of_a_recall_are_offered(client, brand, batch):
    run = finished(print_run_of(batch, output="png"))
    recall_fields = {"recall_id": "R-77", "contact": "x", "message": "x", "reason": "x"}
    recall = recalls.recall_batch(batch=factories.batch(brand), at=timezone.now(), **recall_fields)
    poster = address("authcodes.printrun", "poster", recall.pk)

    assert run.first_code in text(client.get(address("authcodes.printrun", "cover", run.pk)))
    posters = {f"{poster}?language={language}" for language in ("ar", "de", "en")}
    assert posters <= set(links(text(client.get(address("authcodes.recall", "change", recall.pk)))))
    assert "R-77" in text(client.get(poster))


def test_run_without_a_file_has_no_cover_sheet(client, batch):
    run = print_run_of(batch)

    answer = client.get(address("authcodes.printrun", "cover", run.pk))

    assert answer["Location"] == address("authcodes.printrun", "change", run.pk)


def test_missing_libraries_are_reported_on_the_page(client, batch, monkeypatch):
    run = finished(print_run_of(batch, output="png"))
    monkeypatch.setitem(sys.modules, "weasyprint", None)

    answer = client.get(address("authcodes.printrun", "cover", run.pk), follow=True)

    assert "libpango-1.0-0" in text(answer)
