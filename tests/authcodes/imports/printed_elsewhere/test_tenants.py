"""Codes printed elsewhere: brands cannot take each other's codes, and learn little about them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, connection
from django.utils import timezone

from authcodes.codes import batches, prefixes
from authcodes.codes.batches import BatchSettings
from authcodes.errors import BatchRejected
from authcodes.imports import commit, printed_elsewhere
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import, ImportRow
from brands.models.audit import AuditLogEntry
from brands.models.tenants import BrandHostname
from tests.authcodes.imports.printed_elsewhere.conftest import (
    OLD_URL,
    checked_import,
    row_errors,
    run_commit,
    run_job,
    staff_member,
)
from tests.support import factories

pytestmark = pytest.mark.usefixtures("media")


NOT_USABLE = "This code or its payload cannot be used."


@pytest.fixture
def other_brands_codes(other_brand):
    """Another brand's codes, a prefix without codes, a hostname and codes printed elsewhere."""
    factories.batch(other_brand, quantity=1, prefix="ALP", number_width=4)
    prefixes.reserve(brand=other_brand, prefix="ZED-", at=timezone.now())
    BrandHostname.objects.create(brand=other_brand, hostname="shop.other.example")
    run_commit(checked_import(other_brand, "Q9ZD-X,https://elsewhere.example/p/1,,"))


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
def test_codes_of_another_brand_existing_or_reserved_get_the_same_error(brand, other_brands_codes, name):
    upload = checked_import(brand, "GOOD1,https://old.example/s/GOOD1,,", TAKEN[name])

    assert row_errors(upload) == {3: ("auth_code", NOT_USABLE)}


def test_the_other_brand_itself_may_use_its_hostname_and_prefix(other_brand, other_brands_codes):
    assert row_errors(checked_import(other_brand, "ZED-1,https://shop.other.example/p/1,,", name="More")) == {}


def test_probing_for_codes_of_other_brands_is_limited_per_file_and_per_hour(brand, other_brand, settings):
    factories.batch(other_brand, quantity=30, prefix="ALP", number_width=4)
    many = [f"ALP{number:04d},,," for number in range(1, 22)]

    upload = checked_import(brand, *many)

    assert upload.status == "refused"
    assert "More than 20 of these codes" in upload.problem
    assert ImportRow.objects.filter(upload=upload).count() == 0
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "prefix": "2/hour"}
    by = staff_member(brand)
    uploads = [checked_import(brand, f"ALP{number:04d},,,", by=by, name=str(number)) for number in range(1, 4)]
    assert [each.status for each in uploads] == ["checked", "checked", "refused"]
    assert "Too many files" in uploads[-1].problem
    attempts = AuditLogEntry.objects.filter(brand=brand, action="Requested codes that are already in use")
    assert attempts.count() == 4


def test_another_brand_cannot_generate_imported_codes(brand, other_brand):
    run_commit(checked_import(brand, "XYZ0005,XYZ0007,,"))

    for start in (1, 7):
        batch_settings = BatchSettings("Mine", 5, prefix="XYZ", number_width=4, starting_number=start, signed=False)
        with pytest.raises(BatchRejected, match="Some of these codes are taken"):
            batches.create_batch(brand=other_brand, batch_settings=batch_settings, at=timezone.now())
    batch_settings = BatchSettings("Mine", 5, prefix="XYZ", number_width=4, starting_number=12, signed=False)
    batches.create_batch(brand=other_brand, batch_settings=batch_settings, at=timezone.now())


def test_the_brand_itself_cannot_generate_imported_codes(brand):
    run_commit(checked_import(brand, "XYZ0005,,,"))

    batch_settings = BatchSettings("Mine", 5, prefix="XYZ", number_width=4, signed=False)
    with pytest.raises(BatchRejected, match="XYZ0005 was printed elsewhere"):
        batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())


def test_the_brand_itself_cannot_generate_codes_that_are_printed_as_payloads(brand):
    run_commit(checked_import(brand, "K7F3,XYZ0005,,"))

    batch_settings = BatchSettings("Mine", 5, prefix="XYZ", number_width=4, signed=False)
    with pytest.raises(BatchRejected, match="XYZ0005 was printed elsewhere"):
        batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())


def test_commit_fails_if_another_brand_reserved_the_prefix_since_the_check(brand, other_brand):
    upload = checked_import(brand, "XYZ5,,,", "GOOD-A,,,")
    prefixes.reserve(brand=other_brand, prefix="XYZ", at=timezone.now())

    run_commit(upload)

    assert (upload.status, AuthCode.objects.count(), row_errors(upload)) == (
        "checked",
        0,
        {2: ("auth_code", NOT_USABLE)},
    )


def test_commit_reveals_no_more_about_codes_of_other_brands_than_a_check(brand, other_brand):
    many = [f"XYZ{number},,," for number in range(30)]
    upload = checked_import(brand, *many, "GOOD-A,,,")
    prefixes.reserve(brand=other_brand, prefix="XYZ", at=timezone.now())

    job = run_commit(upload)

    assert (job.status, upload.status, AuthCode.objects.count()) == ("failed", "refused", 0)
    assert "More than 20 of these codes" in upload.problem
    assert ImportRow.objects.filter(upload=upload).count() == 0
    assert AuditLogEntry.objects.filter(brand=brand, action="Requested codes that are already in use").count() == 0


@pytest.mark.django_db(transaction=True)
def test_concurrent_imports_of_the_same_codes_by_two_brands_commit_once(brand, other_brand):
    imports = [checked_import(each, "K7F3,,,", "M2XW,,,") for each in (brand, other_brand)]
    for each in imports:
        commit.commit(upload=each, skip_bad=False, by=each.uploaded_by)

    def commit_import(upload):
        try:
            run_job("commit-import", Import.objects.get(pk=upload.pk))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(commit_import, imports))

    for each in imports:
        each.refresh_from_db()
    assert sorted(each.status for each in imports) == ["checked", "committed"]
    winner = next(each for each in imports if each.status == "committed")
    assert set(AuthCode.objects.values_list("brand", flat=True)) == {winner.brand_id}
    loser = next(each for each in imports if each.status == "checked")
    assert row_errors(loser) == {2: ("auth_code", NOT_USABLE), 3: ("auth_code", NOT_USABLE)}
    # The control: without the check before, the database still rejects the codes.
    with pytest.raises(IntegrityError):
        printed_elsewhere.INSERT_PRINTED_CODES.run(
            upload=_without_errors(loser).pk,
            brand=loser.brand_id,
            batch=winner.batch_id,
            product=None,
            at=timezone.now(),
        )


def _without_errors(upload):
    ImportRow.objects.filter(upload=upload).update(error="")
    return upload


def test_payload_is_unknown_to_another_brands_app(api, brand, other_brand, customer):
    run_commit(checked_import(other_brand, f"K7F3,{OLD_URL},,"))

    answer = api.as_customer(customer).verify(OLD_URL)

    assert answer.json()["status"] != "success"
    assert AuthCode.objects.get().scan_count == 0
