"""Prefixes of codes: each is one brand's, whoever asks first, and nobody learns another's."""

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
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, errors, staff, text

pytestmark = pytest.mark.django_db


def reserve(brand, prefix, **options):
    return prefixes.reserve(brand=brand, prefix=prefix, at=timezone.now(), **options)


def create(brand, prefix, **settings):
    batch_settings = BatchSettings(
        **{"range_name": "Spring", "quantity": 10, "signed": False, "prefix": prefix, **settings}
    )
    return batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())


def sent(brand, **fields):
    numbering = {"prefix": "BIS-", "starting_number": 501, "number_width": 8, "quantity": 1000}
    return {"brand": brand.pk, "range_name": "Autumn", **numbering, "scan_limit": 1, "signed": "plain", **fields}


def submit(person, brand, **fields):
    return browser(person).post(address("authcodes.batchrange", "add"), sent(brand, **fields))


def prefix_errors(person, brand, prefix):
    return errors(submit(person, brand, prefix=prefix)).get("prefix")


# --- Which prefixes collide ------------------------------------------------------------------------------------------

COLLIDING = [("BIS-", "BIS-"), ("A", "A1"), ("A1", "A"), ("", "42"), ("A", "A" + "1" * 17), ("A0", "A")]
APART = [("A1", "A2"), ("A", "A-"), ("A", "A1-"), ("A", "AB1"), ("A", "a"), ("", "A1"), ("A", "A" + "1" * 18)]


@pytest.mark.parametrize(("one", "other"), COLLIDING)
def test_prefix_that_could_write_anothers_codes_is_taken(one, other):
    reserve(factories.brand(), one)

    with pytest.raises(BatchRejected, match=r"^This prefix is taken. Choose another one.$"):
        reserve(factories.brand(), other)

    assert CodePrefix.objects.count() == 1


@pytest.mark.parametrize(("one", "other"), APART)
def test_prefix_that_could_not_is_free(one, other):
    reserve(factories.brand(), one)

    assert reserve(factories.brand(), other).prefix == other


@pytest.mark.parametrize(("one", "other"), COLLIDING)
def test_a_brands_own_prefixes_may_collide(brand, one, other):
    reserve(brand, one)

    assert reserve(brand, other).prefix == other


def test_database_says_collide_of_exactly_those_that_can_write_one_code():
    stems = ["", "A", "A-", "B", "0", "1", "01", "A1", "A10", "A2", "A-1", "A1-", "AB", "A0", "A" + "9" * 17]
    stems += ["A" + "9" * 18, "9" * 18, "9" * 17]

    def can_meet(one, other):
        every = [Numbering(one, 0, width, 10**width) for width in range(1, 19)]
        return any(shared(a, Numbering(other, 0, width, 10**width)) for a in every for width in range(1, 19))

    with connection.cursor() as cursor:
        for one, other in product(stems, stems):
            cursor.execute("SELECT prefixes_collide(%s, %s)", [one, other])
            assert cursor.fetchone()[0] is can_meet(one, other), (one, other)


# --- The database refuses --------------------------------------------------------------------------------------------


def row(brand, prefix, first="0001", last="0009"):
    numbering = {"first_code": prefix + first, "last_code": prefix + last, "starting_number": 1, "number_width": 4}
    return BatchRange(brand=brand, range_name=f"Any {prefix}", prefix=prefix, quantity=9, **numbering)


@pytest.mark.parametrize("reserved_by_other", [True, False])
def test_no_batch_is_stored_under_a_prefix_that_is_not_its_brands(brand, reserved_by_other):
    if reserved_by_other:
        reserve(factories.brand(), "BIS-")

    with pytest.raises(IntegrityError, match="has not reserved"), transaction.atomic():
        row(brand, "BIS-").save()


def test_batch_cannot_be_moved_under_anothers_prefix(brand):
    reserve(factories.brand(), "BIS-")
    batch = factories.batch(brand, prefix="OWN-")

    with pytest.raises(IntegrityError, match="has not reserved"), transaction.atomic():
        BatchRange.objects.filter(pk=batch.pk).update(prefix="BIS-")


def test_codes_that_another_brand_made_before_a_prefix_was_moved_stay_theirs(brand):
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


def attempts(brands, guard):
    """Two brands ask for prefixes that collide, at the same time, over and over."""
    requested = [(brands[number % 2], f"R{number // 2}-" + "1" * (number % 2)) for number in range(24)]

    def ask(each):
        with guard():
            return reserve(*each)

    return at_once(ask, requested)


@pytest.mark.django_db(transaction=True)
def test_of_two_brands_that_ask_at_once_one_gets_the_prefix():
    results = attempts([factories.brand(), factories.brand()], nullcontext)

    assert [type(result) for result in results].count(CodePrefix) == 12
    assert sum(isinstance(result, BatchRejected) for result in results) == 12


@pytest.mark.django_db(transaction=True)
def test_control_without_the_trigger_both_get_it():
    results = attempts([factories.brand(), factories.brand()], without_triggers)

    assert [type(result) for result in results].count(CodePrefix) == 24


# --- Nobody is blocked, nobody is told -------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["owner", "manager", "printer"])
def test_nobody_of_another_brand_takes_a_brands_next_range(brand, role):
    other = factories.brand()
    factories.batch(other, prefix="BIS-", number_width=8, quantity=500)

    refused = submit(staff(brand, role=role), brand)

    assert list(errors(refused)) == ["prefix"]
    made = submit(staff(other), other, starting_number=501)
    assert made.status_code == 302


def test_taken_is_said_in_one_way_whether_or_not_there_are_codes(brand):
    other = factories.brand(name="Zebra")
    factories.batch(other, prefix="BIS-", number_width=8, starting_number=501, quantity=77, range_name="Zebra range")
    reserve(other, "EMP-")
    owner = staff(brand)

    with_codes, without = (submit(owner, brand, prefix=prefix) for prefix in ("BIS-", "EMP-"))

    assert errors(with_codes) == errors(without) == {"prefix": ["This prefix is taken. Choose another one."]}
    for foreign_text in ("Zebra", "BIS-00000577", "00000501"):
        assert foreign_text not in text(with_codes)


def test_the_panel_answers_for_anothers_prefix_as_for_a_free_one(brand):
    other = factories.brand(name="Zebra")
    factories.batch(other, prefix="BIS-", number_width=8, starting_number=501, quantity=77)
    reserve(other, "EMP-")
    client = browser(staff(brand))

    def panel(prefix):
        answer = client.get(address("authcodes.batchrange", "summary"), sent(brand, prefix=prefix))
        return text(answer).replace(prefix, "")

    assert panel("BIS-") == panel("EMP-") == panel("NEW-")
    assert not AuditLogEntry.objects.exists()


def test_asking_is_limited_per_person_and_brand_and_stands_in_the_trail(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "prefix": "3/hour"}
    other = factories.brand()
    for prefix in "PQRS":
        reserve(other, prefix)
    owner, colleague = staff(brand), staff(brand)
    for person in (owner, colleague):  # a database made anew counts ids from one, and Redis remembers
        rate_limits.limiter().clear(rate_limits.limit("prefix"), "prefix", str(person.pk), str(brand.pk))

    answers = [prefix_errors(owner, brand, prefix) for prefix in "PQRS"]

    assert answers[:3] == [["This prefix is taken. Choose another one."]] * 3
    assert "too many" in answers[3][0]
    assert "too many" in prefix_errors(owner, brand, "FREE-")[0]
    trail = AuditLogEntry.objects.filter(brand=brand, user=owner).order_by("id")
    assert [(entry.action, entry.changes["prefix"][1]) for entry in trail] == [
        *(("Requested codes that are already in use", prefix) for prefix in "PQR"),
        *(("Tried too many code prefixes", prefix) for prefix in ("S", "FREE-")),
    ]
    assert not AuditLogEntry.objects.filter(brand=other).exists()
    assert prefix_errors(colleague, brand, "P") == ["This prefix is taken. Choose another one."]


def test_people_whom_an_owner_makes_ask_no_more_than_their_brand(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "prefix": "2/hour", "prefix_brand": "3/hour"}
    other, people = factories.brand(), [staff(brand, role="owner") for _ in range(3)]
    for each in (brand, other):
        rate_limits.limiter().clear(rate_limits.limit("prefix_brand"), "prefix_brand", str(each.pk))
        for person in people:
            rate_limits.limiter().clear(rate_limits.limit("prefix"), "prefix", str(person.pk), str(each.pk))
    reserve(factories.brand(), "P")

    answers = [prefix_errors(person, brand, "P")[0] for person in people for _ in range(2)]

    assert ["too many" in answer for answer in answers] == [False] * 3 + [True] * 3
    assert "too many" not in prefix_errors(staff(other), other, "P")[0]


def test_own_prefixes_are_not_counted(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "prefix": "1/hour"}
    reserve(brand, "OWN-")
    owner = staff(brand)

    made = [submit(owner, brand, prefix="OWN-", range_name=f"No. {n}", starting_number=n * 1000) for n in range(4)]

    assert [answer.status_code for answer in made] == [302] * 4


def test_printers_use_the_brands_prefixes_and_reserve_none(brand):
    reserve(brand, "OWN-")
    printer = staff(brand, role="printer")

    refused = submit(printer, brand, prefix="NEW-")

    assert errors(refused) == {"prefix": ["Choose one of the brand's prefixes. Managers and owners reserve new ones."]}
    assert submit(printer, brand, prefix="OWN-").status_code == 302
    assert browser(printer).get(address("authcodes.codeprefix", "add")).status_code == 403


def test_form_suggests_the_brands_own_prefixes(brand):
    reserve(brand, "OWN-")
    reserve(factories.brand(), "ZEBRA-")

    shown = text(browser(staff(brand)).get(address("authcodes.batchrange", "add")))

    assert '<option value="OWN-">' in shown
    assert "ZEBRA-" not in shown


# --- How many, and whose ---------------------------------------------------------------------------------------------


def test_a_brand_reserves_no_more_than_the_operator_lets_it(brand, settings):
    settings.CODE_PREFIXES_PER_BRAND = 2
    for prefix in ("A", "B", "A"):
        reserve(brand, prefix)

    with pytest.raises(BatchRejected, match="has reserved the maximum of 2 prefixes"):
        reserve(brand, "C")

    assert reserve(brand, "C", by=factories.user(is_staff=True, is_superuser=True)).brand == brand


@pytest.mark.django_db(transaction=True)
def test_no_more_than_that_are_reserved_at_once(settings):
    settings.CODE_PREFIXES_PER_BRAND = 5
    brand = factories.brand()

    at_once(lambda number: reserve(brand, f"N{number}-"), range(20))

    assert CodePrefix.objects.count() == 5


def test_reserving_a_prefix_survives_its_batches(brand):
    factories.batch(brand, prefix="OLD-")
    with without_triggers(), connection.cursor() as cursor:
        for table in ("codechange", "authcode", "batchrange"):
            cursor.execute(f"DELETE FROM authcodes_{table}")

    with pytest.raises(BatchRejected):
        reserve(factories.brand(), "OLD-")


def test_operators_move_and_free_prefixes(brand):
    client = browser(factories.user(is_staff=True, is_superuser=True))
    other, used, unused = factories.brand(), factories.batch(brand, prefix="USED-"), reserve(brand, "UNUSED-")
    reserved = CodePrefix.objects.get(prefix="USED-")

    moved = client.post(address("authcodes.codeprefix", "change", reserved.pk), {"brand": other.pk})
    freed = client.post(address("authcodes.codeprefix", "delete", unused.pk), {"post": "yes"})

    assert (moved.status_code, freed.status_code) == (302, 302)
    assert CodePrefix.objects.get().brand == other
    assert BatchRange.objects.get() == used
    trail = AuditLogEntry.objects.filter(kind="authcodes.codeprefix", row_id=str(reserved.pk)).order_by("id")
    assert [(entry.brand, entry.action, entry.changes) for entry in trail] == [
        (brand, "Released by the operator", {}),
        (other, "Reserved by the operator", {}),
    ]


def test_a_prefix_with_batches_is_not_freed(brand):
    factories.batch(brand, prefix="USED-")

    with pytest.raises(BatchRejected, match="Batches use this prefix"):
        prefixes.free(reserved=CodePrefix.objects.get(prefix="USED-"))


def test_owner_reserves_a_prefix_on_its_page(brand):
    reserve(factories.brand(), "BIS-")
    client = browser(staff(brand))

    def add(prefix):
        return client.post(address("authcodes.codeprefix", "add"), {"brand": brand.pk, "prefix": prefix})

    assert errors(add("BIS-")) == errors(add("BIS-1")) == {"prefix": ["This prefix is taken. Choose another one."]}
    assert errors(add("a/b"))["prefix"]
    assert add("OWN-").status_code == 302
    assert CodePrefix.objects.get(brand=brand).prefix == "OWN-"
