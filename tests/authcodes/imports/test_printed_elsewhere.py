"""Codes that another company printed: they become a batch, scan like any others, and no brand takes another's."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.core.files.base import ContentFile
from django.db import IntegrityError, connection
from django.utils import timezone

from authcodes.codes import batches, prefixes, ranges
from authcodes.codes.batches import BatchSettings
from authcodes.errors import BatchRejected, ImportRejected
from authcodes.imports import commit, printed_elsewhere, uploads
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import, ImportRow
from authcodes.printing.selection import longest_of
from authcodes.recalls import recalls
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from brands.models.tenants import BrandHostname
from core.errors import Forbidden
from jobs import runner
from jobs.models import Job
from tests.support import factories

pytestmark = pytest.mark.usefixtures("media")

HEADER = "auth_code,payload,inventory_location,notes"
CANNOT = "This code or its payload cannot be used."


@pytest.fixture
def product(brand):
    return factories.product(brand, sku="SKU-A")


@pytest.fixture
def other(db):
    return factories.brand()


def member(brand, role="owner"):
    person = factories.user(is_staff=True)
    StaffRole.objects.create(user=person, brand=brand, role=role)
    return person


def uploaded(brand, *lines, by=None, name="Old labels", content=None, **settings):
    """An import whose check has run."""
    product = settings.pop("product", None) or factories.product(brand)
    made = uploads.upload(
        brand=brand,
        kind="printed",
        product=product,
        file=ContentFile(content if content is not None else "\n".join([HEADER, *lines, ""]).encode()),
        name="codes.csv",
        by=by or member(brand),
        batch_settings=BatchSettings(name, 1, signed=False, **settings),
    )
    run("check-import", made)
    return made


def run(kind, upload):
    job = Job.objects.filter(kind=kind, parameters__import_id=upload.pk).latest("pk")
    runner.run(job.pk)
    job.refresh_from_db()
    upload.refresh_from_db()
    return job


def committed(upload, *, skip_bad=False):
    commit.commit(upload=upload, skip_bad=skip_bad, by=upload.uploaded_by)
    return run("commit-import", upload)


def undone(upload):
    commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now())
    return run("undo-import", upload)


def errors(upload):
    return {
        row.line: (row.error_column, row.problem) for row in ImportRow.objects.filter(upload=upload).exclude(error="")
    }


def scan_as(customer, text, **about):
    about = ScanContext(at=timezone.now(), user_id=customer and customer.pk, **about)
    return scan.scan(scanned=text, about=about)


OLD = "https://old.example/p/K7F3"


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
    assert scan.preview(scanned=OLD, about=ScanContext(at=timezone.now(), user_id=None)).snapshot.code == "K7F3"
    wrong = [OLD.upper(), OLD + "/", "K7F3.tag", "x" * 600]
    assert [scan_as(customer, text).reason for text in wrong] == ["unknown", "unknown", "bad_tag", "unknown"]
    deliver()
    assert factories.account(customer, brand).points > 0


def test_the_same_scan_by_payload_again_gets_the_same_answer(brand, customer):
    committed(uploaded(brand, f"K7F3,{OLD},,"))
    about = ScanContext(at=timezone.now(), user_id=customer.pk)
    key = scan_as(None, "nothing").scan_id.__class__(int=7)

    first, again = (scan.scan(scanned=OLD, about=about, scan_id=key) for _ in range(2))

    assert (first.scan_id, first.reason) == (again.scan_id, again.reason)
    assert AuthCode.objects.get().scan_count == 1


def test_the_same_scan_by_payload_again_says_that_its_code_was_recalled_since(brand, customer):
    committed(uploaded(brand, f"K7F3,{OLD},,"))
    about = ScanContext(at=timezone.now(), user_id=customer.pk)
    key = UUID(int=7)
    assert scan.scan(scanned=OLD, about=about, scan_id=key).reason == "accepted"
    told = {"recall_id": "R-7", "contact": "call us", "message": "Stop.", "reason": "Glass"}
    recalls.recall_batch(batch=BatchRange.objects.get(), at=timezone.now(), **told)

    assert scan.scan(scanned=OLD, about=about, scan_id=key).reason == "recalled"


def test_a_scan_of_a_code_of_ours_never_looks_for_a_payload(brand, customer, django_assert_num_queries):
    code = factories.code(brand, scan_limit=None)
    committed(uploaded(brand, f"K7F3,{OLD},,", scan_limit=None))
    scan_as(customer, code.code)

    with django_assert_num_queries(1):
        scan.preview(scanned=code.code, about=ScanContext(at=timezone.now(), user_id=customer.pk))
    with django_assert_num_queries(2):  # nothing to read where there is no code, so the first is the payload's
        scan.preview(scanned=OLD, about=ScanContext(at=timezone.now(), user_id=customer.pk, token=None))


ROWS = {
    "no code": (",x,,", ("auth_code", "The code is missing.")),
    "dot": ("A.B,,,", ("auth_code", "A code has at most 64")),
    "slash": ("A/B,,,", ("auth_code", "A code has at most 64")),
    "formula": ("=cmd|' /C calc'!A0,,,", ("auth_code", "A code has at most 64")),
    "Unicode digits": ("\u0661\u0662\u0663,,,", ("auth_code", "A code has at most 64")),
    "long code": ("A" * 65 + ",,,", ("auth_code", "A code has at most 64")),
    "long payload": (f"A1,{'x' * 501},,", ("payload", "A payload has at most 500")),
    "invisible payload": ("A1,a\u202eb,,", ("payload", "A payload has at most 500")),
    "broken address": ("A1,https://[x/s/1,,", ("payload", "This address cannot be read.")),
    "port": ("A1,https://x.example:99999/s/1,,", ("payload", "This address cannot be read.")),
    "protected": ("A1,B1.tag,,", ("payload", "A payload cannot look like a protected code")),
    "short row": ("A1,x", ("", "Invalid CSV format: this row has 2 cells")),
    "long place": (f"A1,,{'x' * 121},", ("inventory_location", "A location has at most 120")),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_cannot_be_is_named(brand, name):
    line, (column, message) = ROWS[name]

    upload = uploaded(brand, "GOOD1,,,", line)

    found = errors(upload)
    assert list(found) == [3]
    assert found[3][0] == column
    assert found[3][1].startswith(message)
    with pytest.raises(ImportRejected):
        commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)
    committed(upload, skip_bad=True)
    assert list(AuthCode.objects.values_list("code", flat=True)) == ["GOOD1"]


def test_repeats_in_a_file_name_the_line_that_has_it(brand):
    upload = uploaded(brand, "A1,p1,,", "A1,p2,,", "A2,p1,,", "A3,A2,,", "A4,https://old.example/s/A1,,")

    twice = "This payload is already on line {}, or says the code of that line."
    assert errors(upload) == {
        3: ("auth_code", "This code is already on line 2."),
        4: ("payload", twice.format(2)),
        5: ("payload", twice.format(4)),
        6: ("payload", twice.format(2)),
    }


UNREADABLE = {
    "PNG": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "NUL": f"{HEADER}\nA1,\0,,\n".encode(),
    "no payload": b"auth_code\nA",
    "no rows": f"{HEADER}\n".encode(),
    "20 KB payload": f"{HEADER}\nA1,{'x' * 20_000},,\n".encode(),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_file_writes_nothing(brand, name):
    assert uploaded(brand, content=UNREADABLE[name]).status == "refused"
    assert (ImportRow.objects.count(), BatchRange.objects.count()) == (0, 0)


def test_own_codes_payloads_and_codes_about_to_be_generated_are_told(brand):
    factories.batch(brand, quantity=2, prefix="A", number_width=4)
    pending = BatchSettings("Pending", 5, prefix="B", number_width=4, signed=False)
    batches.create_batch(brand=brand, batch_settings=pending, at=timezone.now())
    committed(uploaded(brand, f"K7F3,{OLD},,"))

    upload = uploaded(
        brand, "A0001,,,", "B0003,,,", f"N1,{OLD},,", "N2,A0002,,", "N3,https://x.example/s/A0002,,", name="More"
    )

    assert errors(upload) == dict.fromkeys(range(2, 7), ("auth_code", "The brand already has this code or payload."))


@pytest.fixture
def taken(other):
    """What another brand has: codes, a prefix without any, a hostname, and codes printed elsewhere."""
    factories.batch(other, quantity=1, prefix="ALP", number_width=4)
    prefixes.reserve(brand=other, prefix="ZED-", at=timezone.now())
    BrandHostname.objects.create(brand=other, hostname="shop.other.example")
    committed(uploaded(other, "Q9ZD-X,https://elsewhere.example/p/1,,"))


TAKEN = {
    "code": "ALP0001,,,",
    "code to come": "ALP9999,,,",
    "prefix alone": "ZED-1,,,",
    "payload says a code": "N1,ALP0001,,",
    "payload leads to a code": "N1,https://old.example/s/ALP0001,,",
    "GS1 payload": "N1,https://old.example/01/09506000134352/21/ALP0001,,",
    "payload of a code to come": "N1,ZED-77,,",
    "host": "N1,https://shop.other.example/p/1,,",
    "host with port and capitals": "N1,https://SHOP.other.example:8443/p/1,,",
    "host with user": "N1,https://me@shop.other.example./p/1,,",
    "printed code": "Q9ZD-X,,,",
    "printed payload": "N1,https://elsewhere.example/p/1,,",
    "payload says a printed code": "N1,Q9ZD-X,,",
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_another_brand_has_or_may_have_gets_one_answer(brand, taken, name):
    upload = uploaded(brand, "GOOD1,https://old.example/s/GOOD1,,", TAKEN[name])

    assert errors(upload) == {3: ("auth_code", CANNOT)}


def test_the_other_brand_itself_may_use_its_hostname_and_prefix(other, taken):
    assert errors(uploaded(other, "ZED-1,https://shop.other.example/p/1,,", name="More")) == {}


def test_a_file_names_only_a_few_codes_of_others_and_each_such_file_is_a_try(brand, other, settings):
    factories.batch(other, quantity=30, prefix="ALP", number_width=4)
    many = [f"ALP{number:04d},,," for number in range(1, 22)]

    upload = uploaded(brand, *many)

    assert upload.status == "refused"
    assert "More than 20 of these codes" in upload.problem
    assert ImportRow.objects.filter(upload=upload).count() == 0
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "prefix": "2/hour"}
    by = member(brand)
    found = [uploaded(brand, f"ALP{number:04d},,,", by=by, name=str(number)) for number in range(1, 4)]
    assert [each.status for each in found] == ["checked", "checked", "refused"]
    assert "Too many files" in found[-1].problem
    tried = AuditLogEntry.objects.filter(brand=brand, action="Requested codes that are already in use")
    assert tried.count() == 4


def test_another_brand_generates_no_codes_that_were_brought_in(brand, other):
    committed(uploaded(brand, "XYZ0005,XYZ0007,,"))

    for start in (1, 7):
        wanted = BatchSettings("Mine", 5, prefix="XYZ", number_width=4, starting_number=start, signed=False)
        with pytest.raises(BatchRejected, match="Some of these codes are taken"):
            batches.create_batch(brand=other, batch_settings=wanted, at=timezone.now())
    wanted = BatchSettings("Mine", 5, prefix="XYZ", number_width=4, starting_number=12, signed=False)
    batches.create_batch(brand=other, batch_settings=wanted, at=timezone.now())


def test_the_brand_itself_generates_none_of_them_either(brand):
    committed(uploaded(brand, "XYZ0005,,,"))

    wanted = BatchSettings("Mine", 5, prefix="XYZ", number_width=4, signed=False)
    with pytest.raises(BatchRejected, match="XYZ0005 was printed elsewhere"):
        batches.create_batch(brand=brand, batch_settings=wanted, at=timezone.now())


def test_a_prefix_that_another_brand_reserved_after_the_check_stops_the_commit(brand, other):
    upload = uploaded(brand, "XYZ5,,,", "GOOD-A,,,")
    prefixes.reserve(brand=other, prefix="XYZ", at=timezone.now())

    committed(upload)

    assert (upload.status, AuthCode.objects.count(), errors(upload)) == ("checked", 0, {2: ("auth_code", CANNOT)})


def test_a_commit_tells_no_more_of_what_others_took_than_a_check(brand, other):
    many = [f"XYZ{number},,," for number in range(30)]
    upload = uploaded(brand, *many, "GOOD-A,,,")
    prefixes.reserve(brand=other, prefix="XYZ", at=timezone.now())

    job = committed(upload)

    assert (job.status, upload.status, AuthCode.objects.count()) == ("failed", "refused", 0)
    assert "More than 20 of these codes" in upload.problem
    assert ImportRow.objects.filter(upload=upload).count() == 0
    assert AuditLogEntry.objects.filter(brand=brand, action="Requested codes that are already in use").count() == 0


def test_a_batch_name_that_was_taken_meanwhile_stops_the_commit(brand):
    upload, faster = uploaded(brand, "A-1,,,"), uploaded(brand, "A-2,,,")
    committed(faster)

    job = committed(upload)

    assert (upload.status, job.status) == ("checked", "failed")
    assert "already has a range of this name" in job.log


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
    assert longest_of(batch).payload == "https://old.example/long/payload"


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


@pytest.mark.django_db(transaction=True)
def test_of_two_brands_that_bring_in_the_same_codes_at_once_one_wins(brand, other):
    imports = [uploaded(each, "K7F3,,,", "M2XW,,,") for each in (brand, other)]
    for each in imports:
        commit.commit(upload=each, skip_bad=False, by=each.uploaded_by)

    def work(upload):
        try:
            run("commit-import", Import.objects.get(pk=upload.pk))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, imports))

    for each in imports:
        each.refresh_from_db()
    assert sorted(each.status for each in imports) == ["checked", "committed"]
    winner = next(each for each in imports if each.status == "committed")
    assert set(AuthCode.objects.values_list("brand", flat=True)) == {winner.brand_id}
    loser = next(each for each in imports if each.status == "checked")
    assert errors(loser) == {2: ("auth_code", CANNOT), 3: ("auth_code", CANNOT)}
    # The control: what decides is the database, where the look before finds nothing.
    with pytest.raises(IntegrityError):
        printed_elsewhere.INSERT_PRINTED_CODES.run(
            upload=_unmarked(loser).pk, brand=loser.brand_id, batch=winner.batch_id, product=None, at=timezone.now()
        )


def _unmarked(upload):
    ImportRow.objects.filter(upload=upload).update(error="")
    return upload


@pytest.mark.parametrize("text", ["K7F3", OLD])
def test_apps_verify_scan_and_validate_by_either(api, brand, customer, text):
    committed(uploaded(brand, f"K7F3,{OLD},,", scan_limit=None))
    mine = api.as_customer(customer)

    looked = mine.post("auth-codes/validate", {"code": text})
    answers = [mine.verify(text), mine.post("auth-codes/scan", {"code": text})]

    assert looked.json()["valid"] is True
    assert [answer.json()["status"] for answer in answers] == ["success", "success"]
    assert AuthCode.objects.get().scan_count == 2


def test_another_brands_app_gets_nothing_of_a_payload(api, brand, other, customer):
    committed(uploaded(other, f"K7F3,{OLD},,"))

    answer = api.as_customer(customer).verify(OLD)

    assert answer.json()["status"] != "success"
    assert AuthCode.objects.get().scan_count == 0
