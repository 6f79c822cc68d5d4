"""Prefixes of codes: each belongs to the brand that reserves it first, and no other brand learns whose it is."""

from contextlib import contextmanager, nullcontext
from itertools import product

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from authcodes.codes import batches, prefixes
from authcodes.codes.batches import BatchSettings
from authcodes.codes.numbering import Numbering, shared
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.prefixes import CodePrefix
from brands.models.audit import AuditLogEntry
from core.redis import rate_limits
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, errors, staff, text

pytestmark = pytest.mark.django_db


def reserve(brand, prefix, **options):
    return prefixes.reserve(brand=brand, prefix=prefix, at=timezone.now(), **options)


def create(brand, prefix, **settings):
    batch_settings = BatchSettings(
        **{"range_name": "Spring", "quantity": 10, "signed": False, "prefix": prefix, **settings}
    )
    return batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())


def form_data(brand, **fields):
    numbering = {"prefix": "BIS-", "starting_number": 501, "number_width": 8, "quantity": 1000}
    return {"brand": brand.pk, "range_name": "Autumn", **numbering, "scan_limit": 1, "signed": "plain", **fields}


def submit(user, brand, **fields):
    return browser(user).post(address("authcodes.batchrange", "add"), form_data(brand, **fields))


def prefix_errors(user, brand, prefix):
    return errors(submit(user, brand, prefix=prefix)).get("prefix")


# --- Which prefixes collide ------------------------------------------------------------------------------------------

COLLIDING = [("BIS-", "BIS-"), ("A", "A1"), ("A1", "A"), ("", "42"), ("A", "A" + "1" * 17), ("A0", "A")]
SEPARATE = [("A1", "A2"), ("A", "A-"), ("A", "A1-"), ("A", "AB1"), ("A", "a"), ("", "A1"), ("A", "A" + "1" * 18)]


@pytest.mark.parametrize(("prefix", "colliding_prefix"), COLLIDING)
def test_prefix_that_collides_with_another_brands_is_taken(prefix, colliding_prefix):
    reserve(factories.brand(), prefix)

    with pytest.raises(BatchRejected, match=r"^This prefix is taken. Choose another one.$"):
        reserve(factories.brand(), colliding_prefix)

    assert CodePrefix.objects.count() == 1


@pytest.mark.parametrize(("prefix", "other_prefix"), SEPARATE)
def test_prefix_that_does_not_collide_is_free(prefix, other_prefix):
    reserve(factories.brand(), prefix)

    assert reserve(factories.brand(), other_prefix).prefix == other_prefix


@pytest.mark.parametrize(("prefix", "colliding_prefix"), COLLIDING)
def test_prefixes_of_one_brand_may_collide(brand, prefix, colliding_prefix):
    reserve(brand, prefix)

    assert reserve(brand, colliding_prefix).prefix == colliding_prefix


def test_database_detects_exactly_the_prefixes_that_can_share_a_code():
    candidates = ["", "A", "A-", "B", "0", "1", "01", "A1", "A10", "A2", "A-1", "A1-", "AB", "A0", "A" + "9" * 17]
    candidates += ["A" + "9" * 18, "9" * 18, "9" * 17]

    def can_share_a_code(one, other):
        runs = [Numbering(one, 0, width, 10**width) for width in range(1, 19)]
        return any(shared(run, Numbering(other, 0, width, 10**width)) for run in runs for width in range(1, 19))

    with connection.cursor() as cursor:
        for one, other in product(candidates, candidates):
            cursor.execute("SELECT prefixes_collide(%s, %s)", [one, other])
            assert cursor.fetchone()[0] is can_share_a_code(one, other), (one, other)


# --- Constraints of the database -------------------------------------------------------------------------------------


def new_batch(brand, prefix, first="0001", last="0009"):
    numbering = {"first_code": prefix + first, "last_code": prefix + last, "starting_number": 1, "number_width": 4}
    return BatchRange(brand=brand, range_name=f"Any {prefix}", prefix=prefix, quantity=9, **numbering)


@pytest.mark.parametrize("reserved_by_other", [True, False])
def test_batch_with_a_prefix_its_brand_has_not_reserved_is_rejected(brand, reserved_by_other):
    if reserved_by_other:
        reserve(factories.brand(), "BIS-")

    with pytest.raises(IntegrityError, match="has not reserved"), transaction.atomic():
        new_batch(brand, "BIS-").save()


def test_batch_cannot_be_moved_to_another_brands_prefix(brand):
    reserve(factories.brand(), "BIS-")
    batch = factories.batch(brand, prefix="OWN-")

    with pytest.raises(IntegrityError, match="has not reserved"), transaction.atomic():
        BatchRange.objects.filter(pk=batch.pk).update(prefix="BIS-")


def test_codes_made_before_a_prefix_was_moved_stay_with_their_brand(brand):
    factories.batch(brand, prefix="OLD-", quantity=100)
    other = factories.brand()
    prefixes.move(reserved=CodePrefix.objects.get(prefix="OLD-"), brand=other)

    with pytest.raises(BatchRejected, match=r"^Some of these codes are taken"):
        create(other, "OLD-", starting_number=50, number_width=4)

    assert create(other, "OLD-", starting_number=101, number_width=4).first_code == "OLD-0101"
    with pytest.raises(BatchRejected, match="This prefix is taken"):
        create(brand, "OLD-", starting_number=200, number_width=4)


@contextmanager
def without_triggers():
    with connection.as_owner():
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET session_replication_role")


def reserve_concurrently(brands, context):
    """Two brands repeatedly reserve colliding prefixes at the same time. Returns the results."""
    requested = [(brands[number % 2], f"R{number // 2}-" + "1" * (number % 2)) for number in range(24)]

    def reserve_in_context(brand_and_prefix):
        with context():
            return reserve(*brand_and_prefix)

    return run_concurrently(reserve_in_context, requested)


@pytest.mark.django_db(transaction=True)
def test_only_one_of_two_concurrent_brands_gets_the_prefix():
    results = reserve_concurrently([factories.brand(), factories.brand()], nullcontext)

    pairs = zip(results[::2], results[1::2], strict=True)
    assert [{type(result) for result in pair} for pair in pairs] == [{CodePrefix, BatchRejected}] * 12


@pytest.mark.django_db(transaction=True)
def test_control_without_the_trigger_both_brands_get_the_prefix():
    results = reserve_concurrently([factories.brand(), factories.brand()], without_triggers)

    assert [type(result) for result in results].count(CodePrefix) == 24


# --- Prefixes of other brands ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["owner", "manager", "printer"])
def test_another_brand_cannot_use_up_the_next_code_range(brand, role):
    other = factories.brand()
    factories.batch(other, prefix="BIS-", number_width=8, quantity=500)

    response = submit(staff(brand, role=role), brand)

    assert list(errors(response)) == ["prefix"]
    created = submit(staff(other), other, starting_number=501)
    assert created.status_code == 302


def test_taken_prefix_gets_the_same_error_with_or_without_codes(brand):
    other = factories.brand(name="Zebra")
    factories.batch(other, prefix="BIS-", number_width=8, starting_number=501, quantity=77, range_name="Zebra range")
    reserve(other, "EMP-")
    owner = staff(brand)

    with_codes, without_codes = (submit(owner, brand, prefix=prefix) for prefix in ("BIS-", "EMP-"))

    assert errors(with_codes) == errors(without_codes) == {"prefix": ["This prefix is taken. Choose another one."]}
    for foreign_text in ("Zebra", "BIS-00000577", "00000501"):
        assert foreign_text not in text(with_codes)


def test_summary_is_the_same_for_a_taken_and_a_free_prefix(brand):
    other = factories.brand(name="Zebra")
    factories.batch(other, prefix="BIS-", number_width=8, starting_number=501, quantity=77)
    reserve(other, "EMP-")
    client = browser(staff(brand))

    def summary_of(prefix):
        answer = client.get(address("authcodes.batchrange", "summary"), form_data(brand, prefix=prefix))
        return text(answer).replace(prefix, "")

    assert summary_of("BIS-") == summary_of("EMP-") == summary_of("NEW-")
    assert not AuditLogEntry.objects.exists()


def test_prefix_requests_are_limited_per_user_and_brand_and_logged(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "prefix": "3/hour"}
    other = factories.brand()
    for prefix in "PQRS":
        reserve(other, prefix)
    owner, colleague = staff(brand), staff(brand)
    for user in (owner, colleague):  # ids start from one in a new database, but Redis still has the old counts
        rate_limits.limiter().clear(rate_limits.limit("prefix"), "prefix", str(user.pk), str(brand.pk))

    answers = [prefix_errors(owner, brand, prefix) for prefix in "PQRS"]

    assert answers[:3] == [["This prefix is taken. Choose another one."]] * 3
    assert "too many" in answers[3][0]
    assert "too many" in prefix_errors(owner, brand, "FREE-")[0]
    log_entries = AuditLogEntry.objects.filter(brand=brand, user=owner).order_by("id")
    assert [(entry.action, entry.changes["prefix"][1]) for entry in log_entries] == [
        *(("Requested codes that are already in use", prefix) for prefix in "PQR"),
        *(("Tried too many code prefixes", prefix) for prefix in ("S", "FREE-")),
    ]
    assert not AuditLogEntry.objects.filter(brand=other).exists()
    assert prefix_errors(colleague, brand, "P") == ["This prefix is taken. Choose another one."]


def test_prefix_requests_of_all_users_count_towards_the_brands_limit(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "prefix": "2/hour", "prefix_brand": "3/hour"}
    other, users = factories.brand(), [staff(brand, role="owner") for _ in range(3)]
    for limited_brand in (brand, other):
        rate_limits.limiter().clear(rate_limits.limit("prefix_brand"), "prefix_brand", str(limited_brand.pk))
        for user in users:
            rate_limits.limiter().clear(rate_limits.limit("prefix"), "prefix", str(user.pk), str(limited_brand.pk))
    reserve(factories.brand(), "P")

    answers = [prefix_errors(user, brand, "P")[0] for user in users for _ in range(2)]

    assert ["too many" in answer for answer in answers] == [False] * 3 + [True] * 3
    assert "too many" not in prefix_errors(staff(other), other, "P")[0]


def test_use_of_own_prefixes_is_not_limited(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "prefix": "1/hour"}
    reserve(brand, "OWN-")
    owner = staff(brand)

    answers = [submit(owner, brand, prefix="OWN-", range_name=f"No. {n}", starting_number=n * 1000) for n in range(4)]

    assert [answer.status_code for answer in answers] == [302] * 4


def test_printers_may_use_but_not_reserve_prefixes(brand):
    reserve(brand, "OWN-")
    printer = staff(brand, role="printer")

    response = submit(printer, brand, prefix="NEW-")

    assert errors(response) == {"prefix": ["Choose one of the brand's prefixes. Managers and owners reserve new ones."]}
    assert submit(printer, brand, prefix="OWN-").status_code == 302
    assert browser(printer).get(address("authcodes.codeprefix", "add")).status_code == 403


def test_form_suggests_only_prefixes_of_the_brand(brand):
    reserve(brand, "OWN-")
    reserve(factories.brand(), "ZEBRA-")

    html = text(browser(staff(brand)).get(address("authcodes.batchrange", "add")))

    assert '<option value="OWN-">' in html
    assert "ZEBRA-" not in html


# --- Limit and changes by staff --------------------------------------------------------------------------------------


def test_brand_cannot_reserve_more_prefixes_than_configured(brand, settings):
    settings.CODE_PREFIXES_PER_BRAND = 2
    for prefix in ("A", "B", "A"):
        reserve(brand, prefix)

    with pytest.raises(BatchRejected, match="has reserved the maximum of 2 prefixes"):
        reserve(brand, "C")

    assert reserve(brand, "C", by=factories.user(is_staff=True, is_superuser=True)).brand == brand


@pytest.mark.django_db(transaction=True)
def test_concurrent_reservations_do_not_exceed_the_limit(settings):
    settings.CODE_PREFIXES_PER_BRAND = 5
    brand = factories.brand()

    run_concurrently(lambda number: reserve(brand, f"N{number}-"), range(20))

    assert CodePrefix.objects.count() == 5


def test_prefix_stays_reserved_after_its_batches_are_deleted(brand):
    factories.batch(brand, prefix="OLD-")
    with without_triggers(), connection.cursor() as cursor:
        for table in ("codechange", "authcode", "batchrange"):
            cursor.execute(f"DELETE FROM authcodes_{table}")

    with pytest.raises(BatchRejected):
        reserve(factories.brand(), "OLD-")


def test_operators_can_move_and_release_prefixes(brand):
    client = browser(factories.user(is_staff=True, is_superuser=True))
    other, used, unused = factories.brand(), factories.batch(brand, prefix="USED-"), reserve(brand, "UNUSED-")
    reserved = CodePrefix.objects.get(prefix="USED-")

    moved = client.post(address("authcodes.codeprefix", "change", reserved.pk), {"brand": other.pk})
    freed = client.post(address("authcodes.codeprefix", "delete", unused.pk), {"post": "yes"})

    assert (moved.status_code, freed.status_code) == (302, 302)
    assert CodePrefix.objects.get().brand == other
    assert BatchRange.objects.get() == used
    log_entries = AuditLogEntry.objects.filter(kind="authcodes.codeprefix", row_id=str(reserved.pk)).order_by("id")
    assert [(entry.brand, entry.action, entry.changes) for entry in log_entries] == [
        (brand, "Released by the operator", {}),
        (other, "Reserved by the operator", {}),
    ]


def test_prefix_with_batches_cannot_be_released(brand):
    factories.batch(brand, prefix="USED-")

    with pytest.raises(BatchRejected, match="Batches use this prefix"):
        prefixes.release(reserved=CodePrefix.objects.get(prefix="USED-"))


def test_owner_can_reserve_a_prefix_in_the_portal(brand):
    reserve(factories.brand(), "BIS-")
    client = browser(staff(brand))

    def add(prefix):
        return client.post(address("authcodes.codeprefix", "add"), {"brand": brand.pk, "prefix": prefix})

    assert errors(add("BIS-")) == errors(add("BIS-1")) == {"prefix": ["This prefix is taken. Choose another one."]}
    assert errors(add("a/b"))["prefix"]
    assert add("OWN-").status_code == 302
    assert CodePrefix.objects.get(brand=brand).prefix == "OWN-"
