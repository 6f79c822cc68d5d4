"""Codes that another company printed: they become a batch, are scanned like any others, and can be undone."""

from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.admin.printing import preview
from authcodes.codes import ranges
from authcodes.errors import BatchRejected
from authcodes.imports import commit
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.printing import checks
from authcodes.printing.qr import encoder
from authcodes.printing.qr.encoder import TooLong
from authcodes.printing.request import PrintRequest
from authcodes.printing.selection import densest_codes_of, of_range
from authcodes.recalls import recalls
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from core.errors import Forbidden
from tests.authcodes.imports.printed_elsewhere.conftest import (
    OLD_URL,
    checked_import,
    run_commit,
    run_job,
    staff_member,
)
from tests.authcodes.printing import studio
from tests.authcodes.printing.print_pages import form_errors, post_form
from tests.support import factories
from tests.support.portal import address

pytestmark = pytest.mark.usefixtures("media")


def run_undo(upload):
    commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now())
    return run_job("undo-import", upload)


def scan_by(customer, text, **fields):
    context = ScanContext(at=timezone.now(), user_id=customer and customer.pk, **fields)
    return scan.scan(scanned=text, context=context)


def test_committed_file_becomes_a_batch_with_its_settings_and_history(brand, product):
    campaign = factories.campaign(brand)
    upload = checked_import(
        brand,
        f"K7F3,{OLD_URL},Shelf 1,first",
        "M2XW,,,",
        product=product,
        points_per_scan=7,
        scan_limit=3,
        campaign=campaign,
        after_campaign="nothing",
    )
    assert AuthCode.objects.count() == BatchRange.objects.count() == 0

    run_commit(upload)

    batch = upload.batch
    assert (batch.range_name, batch.product, batch.printed_elsewhere, batch.is_signed) == (
        "Old labels",
        product,
        True,
        False,
    )
    assert (batch.points_per_scan, batch.scan_limit, batch.campaign, batch.after_campaign) == (
        7,
        3,
        campaign,
        "nothing",
    )
    assert (batch.quantity, batch.generated_count, batch.first_code, batch.last_code) == (2, 2, "K7F3", "M2XW")
    assert list(
        batch.codes.order_by("code").values_list("code", "payload", "inventory_location", "notes", "product")
    ) == [
        ("K7F3", OLD_URL, "Shelf 1", "first", product.pk),
        ("M2XW", "M2XW", "", "", product.pk),
    ]
    change = CodeChange.objects.get()
    assert (change.kind, change.batch, change.codes, change.upload) == ("printed", batch, 2, upload)


def test_codes_are_scanned_by_code_or_by_the_exact_payload(brand, customer, deliver_events):
    run_commit(checked_import(brand, f"K7F3,{OLD_URL},,", "M2XW,,,", scan_limit=None))

    assert scan_by(customer, "M2XW").reason == "accepted"
    by_payload = scan_by(customer, f" {OLD_URL} ")

    assert (by_payload.reason, by_payload.snapshot.code) == ("accepted", "K7F3")
    assert scan.preview(scanned=OLD_URL, context=ScanContext(at=timezone.now(), user_id=None)).snapshot.code == "K7F3"
    other_texts = [OLD_URL.upper(), OLD_URL + "/", "K7F3.tag", "x" * 600]
    assert [scan_by(customer, text).reason for text in other_texts] == ["unknown", "unknown", "bad_tag", "unknown"]
    deliver_events()
    assert factories.account(customer, brand).points > 0


def test_repeated_scan_by_payload_returns_the_same_result(brand, customer):
    run_commit(checked_import(brand, f"K7F3,{OLD_URL},,"))
    context = ScanContext(at=timezone.now(), user_id=customer.pk)
    key = scan_by(None, "nothing").scan_id.__class__(int=7)

    first, repeated = (scan.scan(scanned=OLD_URL, context=context, scan_id=key) for _ in range(2))

    assert (first.scan_id, first.reason) == (repeated.scan_id, repeated.reason)
    assert AuthCode.objects.get().scan_count == 1


def test_repeated_scan_by_payload_reports_a_recall_since_the_first(brand, customer):
    run_commit(checked_import(brand, f"K7F3,{OLD_URL},,"))
    context = ScanContext(at=timezone.now(), user_id=customer.pk)
    key = UUID(int=7)
    assert scan.scan(scanned=OLD_URL, context=context, scan_id=key).reason == "accepted"
    recall_fields = {"recall_id": "R-7", "contact": "call us", "message": "Stop.", "reason": "Glass"}
    recalls.recall_batch(batch=BatchRange.objects.get(), at=timezone.now(), **recall_fields)

    assert scan.scan(scanned=OLD_URL, context=context, scan_id=key).reason == "recalled"


def test_scan_of_a_generated_code_does_not_query_payloads(brand, customer, django_assert_num_queries):
    code = factories.code(brand, scan_limit=None)
    run_commit(checked_import(brand, f"K7F3,{OLD_URL},,", scan_limit=None))
    scan_by(customer, code.code)

    with django_assert_num_queries(1):
        scan.preview(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    with django_assert_num_queries(2):  # this URL contains no code, so the first query is for the payload
        scan.preview(scanned=OLD_URL, context=ScanContext(at=timezone.now(), user_id=customer.pk, token=None))


def test_commit_fails_if_the_batch_name_was_taken_since_the_check(brand):
    upload, committed_first = checked_import(brand, "A-1,,,"), checked_import(brand, "A-2,,,")
    run_commit(committed_first)

    job = run_commit(upload)

    assert (upload.status, job.status) == ("checked", "failed")
    assert "already has a range with this name" in job.log


def test_undo_deletes_the_codes_and_they_can_be_imported_again(brand):
    upload = checked_import(brand, f"K7F3,{OLD_URL},,", "M2XW,,,")
    run_commit(upload)

    run_undo(upload)

    assert (upload.status, AuthCode.objects.count()) == ("undone", 0)
    assert (upload.batch.quantity, upload.batch.generated_count) == (0, 0)
    assert list(CodeChange.objects.order_by("pk").values_list("kind", "codes")) == [
        ("printed", 2),
        ("import_undone", 2),
    ]
    second_import = checked_import(brand, f"K7F3,{OLD_URL},,", "M2XW,,,")
    run_commit(second_import)
    assert (second_import.status, AuthCode.objects.count()) == ("committed", 2)


def test_undo_fails_once_a_code_was_scanned(brand, customer):
    upload = checked_import(brand, "K7F3,,,", "M2XW,,,", scan_limit=None)
    run_commit(upload)
    scan_by(customer, "K7F3")

    job = run_undo(upload)

    assert (upload.status, AuthCode.objects.count()) == ("committed", 2)
    assert "have been scanned" in job.log


def test_undo_fails_once_a_code_was_looked_up(api, brand):
    upload = checked_import(brand, "K7F3,,,", "M2XW,,,")
    run_commit(upload)
    assert api.post("auth-codes/validate", {"code": "K7F3"}).json()["valid"] is True

    job = run_undo(upload)

    assert (upload.status, AuthCode.objects.count(), job.status) == ("committed", 2, "failed")
    assert AuthCode.objects.filter(scan_count=0).count() == 2
    assert "Nothing was undone: some of the codes have been scanned, looked up or reported as fakes." in job.log


def test_undo_fails_once_a_code_was_changed(brand):
    upload = checked_import(brand, "K7F3,,,", "M2XW,,,")
    run_commit(upload)
    stolen = AuthCode.objects.select_related("batch").filter(code="M2XW")
    factories.deactivate(codes=stolen, at=timezone.now(), reason="Stolen")

    job = run_undo(upload)

    assert (upload.status, AuthCode.objects.count()) == ("committed", 2)
    assert "changed since then" in job.log


def test_undo_fails_once_a_scan_was_rejected(brand, customer):
    upload = checked_import(brand, "K7F3,,,")
    run_commit(upload)
    factories.deactivate(codes=AuthCode.objects.select_related("batch"), at=timezone.now())
    assert scan_by(customer, "K7F3").reason == "deactivated"

    run_undo(upload)

    assert (upload.status, AuthCode.objects.count()) == ("committed", 1)


@pytest.mark.parametrize("role", ["support", None])
def test_commit_and_undo_require_permission_to_import(brand, other_brand, role):
    upload = checked_import(brand, "K7F3,,,")
    unauthorised = staff_member(brand, role) if role else staff_member(other_brand)

    with pytest.raises(Forbidden):
        commit.commit(upload=upload, skip_bad=False, by=unauthorised)
    run_commit(upload)
    with pytest.raises(Forbidden):
        commit.undo(upload=upload, by=unauthorised, at=timezone.now())


def test_a_printer_cannot_set_points(brand):
    with pytest.raises(BatchRejected, match="Only managers and owners"):
        checked_import(brand, "K7F3,,,", by=staff_member(brand, "printer"), points_per_scan=5)


def test_brand_with_protected_batches_only_cannot_import_printed_codes(brand):
    brand.protected_batches_only = True
    brand.save()

    with pytest.raises(BatchRejected, match="only allows protected batches"):
        checked_import(brand, "K7F3,,,")


def test_a_range_is_either_the_whole_batch_or_a_single_code(brand):
    upload = checked_import(brand, "K7F3,,,", "M2XW,,,", "ZZ-1,https://old.example/long/payload,,")
    run_commit(upload)
    batch = upload.batch

    whole = ranges.resolve_range(batch=batch, first="K7F3", last="ZZ-1")
    assert (whole.size, whole.codes.count()) == (3, 3)
    assert [(part.first, part.last, part.size) for part in whole.parts(2)] == [("K7F3", "M2XW", 2), ("ZZ-1", "ZZ-1", 1)]
    assert ranges.full_range(batch).size == 3
    assert ranges.resolve_range(batch=batch, first="M2XW", last="M2XW").size == 1
    for first, last in [("K7F3", "M2XW"), ("1", "3"), ("K7F4", "K7F4")]:
        with pytest.raises(BatchRejected, match="have no numbers"):
            ranges.resolve_range(batch=batch, first=first, last=last)


def test_print_checks_use_the_densest_symbol(brand):
    """A symbol of 38 digits has fewer modules than one of a URL with 30 characters."""
    digits, address = "9" * 38, "https://old.example/abcdefghij"
    upload = checked_import(brand, f"A-1,{digits},,", f"A-2,{address},,", "A-3,https://old.example/a,,", "A-4,12,,")
    run_commit(upload)

    codes = densest_codes_of(upload.batch)

    assert {code.payload for code in codes} == {digits, address}
    assert encoder.side(address) > encoder.side(digits)
    assert checks.densest_of(of_range(ranges.full_range(upload.batch)), PrintRequest()).payload == address


@pytest.mark.parametrize("fields", [{"layout": ""}, {"output": "png"}, {"qr_left": "60"}])
def test_payload_too_long_for_the_level_is_reported_in_the_print_studio(client, brand, fields):
    upload = checked_import(brand, "A-1," + "\u6f22" * 450 + ",,")
    run_commit(upload)

    answer = client.get(studio.print_url(upload.batch, "preview"), studio.form_data(upload.batch, level="H", **fields))

    assert form_errors(answer)["level"] == [TooLong.default_message]
    with pytest.raises(TooLong):
        checks.check(of_range(ranges.full_range(upload.batch)), PrintRequest(level="H"))


def test_deactivating_some_codes_is_recorded_in_the_history(brand):
    upload = checked_import(brand, "K7F3,,,", "M2XW,,,", "Z5,,,")
    run_commit(upload)

    codes = AuthCode.objects.filter(code__in=["K7F3", "Z5"]).select_related("batch")
    factories.deactivate(codes=codes, at=timezone.now())

    change = CodeChange.objects.get(kind="deactivated")
    assert (change.first_code, change.last_code, change.codes) == ("K7F3", "Z5", 2)
    assert ranges.spans_more(change, upload.batch)


def test_history_of_a_code_counts_no_codes_of_its_batch(client, brand):
    upload = checked_import(brand, "K7F3,,,", "M2XW,,,", "Z5,,,")
    run_commit(upload)
    codes = list(AuthCode.objects.select_related("batch").order_by("code"))
    for changed in (codes, codes[:2], codes[::2]):
        factories.deactivate(codes=changed, at=timezone.now())
        AuthCode.objects.update(deactivated_at=None)

    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address("authcodes.authcode", "change", codes[0].pk))

    entries = answer.context["timeline"]["entries"]
    assert [entry.is_partial for entry in entries] == [True, False, False, False]
    counts = [query["sql"] for query in queries if "COUNT(" in query["sql"] and "BETWEEN" in query["sql"]]
    assert counts == []


@pytest.mark.parametrize(
    ("lines", "sequential"),
    [(["A1,,,", "A2,,,", "A3,,,", "A4,,,"], True), (["K7F3,,,", "M2XW,,,", "Z5,,,", "A1,,,"], False)],
)
def test_consecutive_codes_are_marked_as_sequential(brand, lines, sequential):
    assert checked_import(brand, *lines).is_sequential is sequential


@pytest.mark.parametrize("text", ["K7F3", OLD_URL])
def test_apps_verify_scan_and_validate_by_code_or_payload(api, brand, customer, text):
    run_commit(checked_import(brand, f"K7F3,{OLD_URL},,", scan_limit=None))
    customer_api = api.as_customer(customer)

    validated = customer_api.post("auth-codes/validate", {"code": text})
    answers = [customer_api.verify(text), customer_api.post("auth-codes/scan", {"code": text})]

    assert validated.json()["valid"] is True
    assert [answer.json()["status"] for answer in answers] == ["success", "success"]
    assert AuthCode.objects.get().scan_count == 2


@pytest.mark.parametrize(("button", "output"), [("edit", "labels"), ("confirm", "labels"), ("confirm", "png")])
def test_payload_too_long_for_the_error_correction_is_reported(client, brand, button, output):
    upload = checked_import(brand, "A-1,A-1,,", f"A-2,{'क' * 500},,")
    run_commit(upload)

    too_long = post_form(client, upload.batch, button, output=output, level="H")

    assert "too long for a QR code" in str(form_errors(too_long)["level"])
    assert post_form(client, upload.batch, "confirm", output=output, level="M").status_code == 302


def test_payload_too_long_is_reported_before_all_codes_are_checked(client, brand, monkeypatch):
    monkeypatch.setattr(preview, "MAX_COUNTED", 1)
    upload = checked_import(brand, "A-1,A-1,,", f"A-2,{'क' * 500},,")
    run_commit(upload)

    too_long = post_form(client, upload.batch, "edit", level="H")

    assert "too long for a QR code" in str(form_errors(too_long)["level"])
