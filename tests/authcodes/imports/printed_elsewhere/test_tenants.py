"""Codes printed elsewhere: no brand takes another's, and learns little of what others have."""

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
from tests.authcodes.imports.printed_elsewhere.conftest import OLD, committed, errors, member, run, uploaded
from tests.support import factories

pytestmark = pytest.mark.usefixtures("media")


CANNOT = "This code or its payload cannot be used."


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
        batch_settings = BatchSettings("Mine", 5, prefix="XYZ", number_width=4, starting_number=start, signed=False)
        with pytest.raises(BatchRejected, match="Some of these codes are taken"):
            batches.create_batch(brand=other, batch_settings=batch_settings, at=timezone.now())
    batch_settings = BatchSettings("Mine", 5, prefix="XYZ", number_width=4, starting_number=12, signed=False)
    batches.create_batch(brand=other, batch_settings=batch_settings, at=timezone.now())


def test_the_brand_itself_generates_none_of_them_either(brand):
    committed(uploaded(brand, "XYZ0005,,,"))

    batch_settings = BatchSettings("Mine", 5, prefix="XYZ", number_width=4, signed=False)
    with pytest.raises(BatchRejected, match="XYZ0005 was printed elsewhere"):
        batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())


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


def test_another_brands_app_gets_nothing_of_a_payload(api, brand, other, customer):
    committed(uploaded(other, f"K7F3,{OLD},,"))

    answer = api.as_customer(customer).verify(OLD)

    assert answer.json()["status"] != "success"
    assert AuthCode.objects.get().scan_count == 0
