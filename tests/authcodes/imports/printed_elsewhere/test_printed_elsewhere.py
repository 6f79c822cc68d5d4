"""Codes that another company printed: they become a batch, scan like any others, and can be taken back."""

from uuid import UUID

import pytest
from django.utils import timezone

from authcodes.codes import ranges
from authcodes.errors import BatchRejected
from authcodes.imports import commit
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.printing import checks
from authcodes.printing.qr import encoder
from authcodes.printing.request import PrintRequest
from authcodes.printing.selection import densest_codes_of, of_range
from authcodes.recalls import recalls
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from core.errors import Forbidden
from tests.authcodes.imports.printed_elsewhere.conftest import OLD, committed, member, run, uploaded
from tests.support import factories

pytestmark = pytest.mark.usefixtures("media")


def undone(upload):
    commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now())
    return run("undo-import", upload)


def scan_as(customer, text, **fields):
    context = ScanContext(at=timezone.now(), user_id=customer and customer.pk, **fields)
    return scan.scan(scanned=text, context=context)


def test_a_file_becomes_a_batch_with_its_settings_and_history(brand, product):
    campaign = factories.campaign(brand)
    upload = uploaded(
        brand,
        f"K7F3,{OLD},Shelf 1,first",
        "M2XW,,,",
        product=product,
        points_per_scan=7,
        scan_limit=3,
        campaign=campaign,
        after_campaign="nothing",
    )
    assert AuthCode.objects.count() == BatchRange.objects.count() == 0

    committed(upload)

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
        ("K7F3", OLD, "Shelf 1", "first", product.pk),
        ("M2XW", "M2XW", "", "", product.pk),
    ]
    change = CodeChange.objects.get()
    assert (change.kind, change.batch, change.codes, change.upload) == ("printed", batch, 2, upload)


def test_codes_scan_by_the_code_and_by_exactly_what_is_printed(brand, customer, deliver):
    committed(uploaded(brand, f"K7F3,{OLD},,", "M2XW,,,", scan_limit=None))

    assert scan_as(customer, "M2XW").reason == "accepted"
    by_payload = scan_as(customer, f" {OLD} ")

    assert (by_payload.reason, by_payload.snapshot.code) == ("accepted", "K7F3")
    assert scan.preview(scanned=OLD, context=ScanContext(at=timezone.now(), user_id=None)).snapshot.code == "K7F3"
    wrong = [OLD.upper(), OLD + "/", "K7F3.tag", "x" * 600]
    assert [scan_as(customer, text).reason for text in wrong] == ["unknown", "unknown", "bad_tag", "unknown"]
    deliver()
    assert factories.account(customer, brand).points > 0


def test_the_same_scan_by_payload_again_gets_the_same_answer(brand, customer):
    committed(uploaded(brand, f"K7F3,{OLD},,"))
    context = ScanContext(at=timezone.now(), user_id=customer.pk)
    key = scan_as(None, "nothing").scan_id.__class__(int=7)

    first, again = (scan.scan(scanned=OLD, context=context, scan_id=key) for _ in range(2))

    assert (first.scan_id, first.reason) == (again.scan_id, again.reason)
    assert AuthCode.objects.get().scan_count == 1


def test_the_same_scan_by_payload_again_says_that_its_code_was_recalled_since(brand, customer):
    committed(uploaded(brand, f"K7F3,{OLD},,"))
    context = ScanContext(at=timezone.now(), user_id=customer.pk)
    key = UUID(int=7)
    assert scan.scan(scanned=OLD, context=context, scan_id=key).reason == "accepted"
    recall_fields = {"recall_id": "R-7", "contact": "call us", "message": "Stop.", "reason": "Glass"}
    recalls.recall_batch(batch=BatchRange.objects.get(), at=timezone.now(), **recall_fields)

    assert scan.scan(scanned=OLD, context=context, scan_id=key).reason == "recalled"


def test_a_scan_of_a_code_of_ours_never_looks_for_a_payload(brand, customer, django_assert_num_queries):
    code = factories.code(brand, scan_limit=None)
    committed(uploaded(brand, f"K7F3,{OLD},,", scan_limit=None))
    scan_as(customer, code.code)

    with django_assert_num_queries(1):
        scan.preview(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    with django_assert_num_queries(2):  # nothing to read where there is no code, so the first is the payload's
        scan.preview(scanned=OLD, context=ScanContext(at=timezone.now(), user_id=customer.pk, token=None))


def test_a_batch_name_that_was_taken_meanwhile_stops_the_commit(brand):
    upload, faster = uploaded(brand, "A-1,,,"), uploaded(brand, "A-2,,,")
    committed(faster)

    job = committed(upload)

    assert (upload.status, job.status) == ("checked", "failed")
    assert "already has a range with this name" in job.log


def test_undone_codes_are_gone_and_may_come_again(brand):
    upload = uploaded(brand, f"K7F3,{OLD},,", "M2XW,,,")
    committed(upload)

    undone(upload)

    assert (upload.status, AuthCode.objects.count()) == ("undone", 0)
    assert (upload.batch.quantity, upload.batch.generated_count) == (0, 0)
    assert list(CodeChange.objects.order_by("pk").values_list("kind", "codes")) == [
        ("printed", 2),
        ("import_undone", 2),
    ]
    again = uploaded(brand, f"K7F3,{OLD},,", "M2XW,,,")
    committed(again)
    assert (again.status, AuthCode.objects.count()) == ("committed", 2)


def test_nothing_is_undone_once_a_code_was_scanned_or_looked_up(brand, customer):
    upload = uploaded(brand, "K7F3,,,", "M2XW,,,", scan_limit=None)
    committed(upload)
    scan_as(customer, "K7F3")

    job = undone(upload)

    assert (upload.status, AuthCode.objects.count()) == ("committed", 2)
    assert "have been scanned" in job.log


def test_an_attempt_that_was_refused_keeps_the_codes_too(brand, customer):
    upload = uploaded(brand, "K7F3,,,")
    committed(upload)
    factories.deactivate(codes=AuthCode.objects.select_related("batch"), at=timezone.now())
    assert scan_as(customer, "K7F3").reason == "deactivated"

    undone(upload)

    assert (upload.status, AuthCode.objects.count()) == ("committed", 1)


@pytest.mark.parametrize("role", ["support", None])
def test_who_may_not_import_commits_and_undoes_nothing(brand, other, role):
    upload = uploaded(brand, "K7F3,,,")
    stranger = member(brand, role) if role else member(other)

    with pytest.raises(Forbidden):
        commit.commit(upload=upload, skip_bad=False, by=stranger)
    committed(upload)
    with pytest.raises(Forbidden):
        commit.undo(upload=upload, by=stranger, at=timezone.now())


def test_a_printer_sets_no_points(brand):
    with pytest.raises(BatchRejected, match="Only managers and owners"):
        uploaded(brand, "K7F3,,,", by=member(brand, "printer"), points_per_scan=5)


def test_a_brand_that_allows_only_protected_batches_takes_none(brand):
    brand.protected_batches_only = True
    brand.save()

    with pytest.raises(BatchRejected, match="only allows protected batches"):
        uploaded(brand, "K7F3,,,")


def test_all_codes_or_one_are_a_range_and_nothing_between(brand):
    upload = uploaded(brand, "K7F3,,,", "M2XW,,,", "ZZ-1,https://old.example/long/payload,,")
    committed(upload)
    batch = upload.batch

    whole = ranges.resolve_range(batch=batch, first="K7F3", last="ZZ-1")
    assert (whole.size, whole.codes.count()) == (3, 3)
    assert [(part.first, part.last, part.size) for part in whole.parts(2)] == [("K7F3", "M2XW", 2), ("ZZ-1", "ZZ-1", 1)]
    assert ranges.full_range(batch).size == 3
    assert ranges.resolve_range(batch=batch, first="M2XW", last="M2XW").size == 1
    for first, last in [("K7F3", "M2XW"), ("1", "3"), ("K7F4", "K7F4")]:
        with pytest.raises(BatchRejected, match="have no numbers"):
            ranges.resolve_range(batch=batch, first=first, last=last)


def test_a_print_is_checked_with_the_densest_symbol(brand):
    """38 digits take fewer modules than the 30 characters of an address."""
    digits, address = "9" * 38, "https://old.example/abcdefghij"
    upload = uploaded(brand, f"A-1,{digits},,", f"A-2,{address},,", "A-3,https://old.example/a,,", "A-4,12,,")
    committed(upload)

    codes = densest_codes_of(upload.batch)

    assert {code.payload for code in codes} == {digits, address}
    assert encoder.side(address) > encoder.side(digits)
    assert checks.densest_of(of_range(ranges.full_range(upload.batch)), PrintRequest()).payload == address


def test_some_codes_of_such_a_batch_are_switched_off_with_their_history(brand):
    upload = uploaded(brand, "K7F3,,,", "M2XW,,,", "Z5,,,")
    committed(upload)

    codes = AuthCode.objects.filter(code__in=["K7F3", "Z5"]).select_related("batch")
    factories.deactivate(codes=codes, at=timezone.now())

    change = CodeChange.objects.get(kind="deactivated")
    assert (change.first_code, change.last_code, change.codes) == ("K7F3", "Z5", 2)
    assert ranges.spans_more(change, upload.batch)


@pytest.mark.parametrize(
    ("lines", "sequential"),
    [(["A1,,,", "A2,,,", "A3,,,", "A4,,,"], True), (["K7F3,,,", "M2XW,,,", "Z5,,,", "A1,,,"], False)],
)
def test_codes_that_follow_each_other_are_called_sequential(brand, lines, sequential):
    assert uploaded(brand, *lines).is_sequential is sequential


@pytest.mark.parametrize("text", ["K7F3", OLD])
def test_apps_verify_scan_and_validate_by_either(api, brand, customer, text):
    committed(uploaded(brand, f"K7F3,{OLD},,", scan_limit=None))
    customer_api = api.as_customer(customer)

    looked = customer_api.post("auth-codes/validate", {"code": text})
    answers = [customer_api.verify(text), customer_api.post("auth-codes/scan", {"code": text})]

    assert looked.json()["valid"] is True
    assert [answer.json()["status"] for answer in answers] == ["success", "success"]
    assert AuthCode.objects.get().scan_count == 2
