"""Creating batches, generating their codes and changing a batch's settings."""

from datetime import timedelta
from threading import Barrier

import pytest
import time_machine
from django.db import IntegrityError
from django.utils import timezone

from authcodes.codes import batches, prefixes
from authcodes.codes.batches import BatchSettings
from authcodes.dashboard.filters import codes_with
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from tests.support import factories
from tests.support.concurrency import run_concurrently


def create(brand, **settings):
    defaults = {"range_name": "Spring", "quantity": 10, "prefix": "SP-", "number_width": 4, "signed": False}
    batch_settings = BatchSettings(**{**defaults, **settings})
    return batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())


def test_codes_are_sequential_padded_and_assigned(brand):
    batch = create(brand, quantity=3, starting_number=99, product=factories.product(brand))

    generated = batches.generate(batch_id=batch.pk, at=timezone.now())

    assert generated == 3
    codes = AuthCode.objects.order_by("code")
    assert [code.code for code in codes] == ["SP-0099", "SP-0100", "SP-0101"]
    assert {code.product_id for code in codes} == {batch.product_id}
    assert {code.brand_id for code in codes} == {brand.pk}


def test_generation_reports_progress_and_resumes_where_it_stopped(brand, settings):
    settings.GENERATION_CHUNK = 4
    batch, reported = create(brand), []

    class PowerCut(Exception):
        pass

    def stop_after_one(done, quantity):
        raise PowerCut

    with pytest.raises(PowerCut):
        batches.generate(batch_id=batch.pk, at=timezone.now(), progress=stop_after_one)
    batches.generate(batch_id=batch.pk, at=timezone.now(), progress=lambda done, of: reported.append((done, of)))

    assert reported == [(8, 10), (10, 10)]
    assert AuthCode.objects.count() == 10
    assert batches.generate(batch_id=batch.pk, at=timezone.now()) == 0


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"range_name": "  "}, "range_name"),
        ({"quantity": 0}, "quantity"),
        ({"quantity": 10**9}, "quantity"),
        ({"prefix": "a/b"}, "prefix"),
        ({"prefix": "a.b"}, "prefix"),
        ({"prefix": "x" * 33}, "prefix"),
        ({"prefix": "ü"}, "prefix"),
        ({"starting_number": -1}, "starting_number"),
        ({"starting_number": 9_995}, "number_width"),
        ({"number_width": 0}, "number_width"),
        ({"number_width": 19}, "number_width"),
        ({"scan_limit": 0}, "scan_limit"),
        ({"expiration_date": (timezone.now() - timedelta(days=2)).date()}, "expiration_date"),
    ],
)
def test_invalid_settings_are_rejected_by_field(brand, settings, field):
    with pytest.raises(BatchRejected) as error:
        create(brand, **settings)

    assert error.value.details == {"field": field}
    assert not BatchRange.objects.exists()


@pytest.mark.parametrize("relation", ["product", "campaign"])
def test_product_or_campaign_of_another_brand_is_rejected(brand, relation):
    foreign = getattr(factories, relation)(factories.brand())

    with pytest.raises(BatchRejected) as error:
        create(brand, **{relation: foreign})

    assert error.value.details == {"field": relation}


def test_overlap_with_another_batch_names_its_codes_and_range(brand):
    create(brand, range_name="Winter", starting_number=5)

    with pytest.raises(BatchRejected, match="SP-0005 to SP-0010 overlap with the range Winter"):
        create(brand, range_name="Spring")


def test_batch_settings_require_the_choice_of_protection():
    with pytest.raises(TypeError, match="signed"):
        BatchSettings(range_name="Spring", quantity=10)


def test_brand_may_require_protected_batches(db, settings):
    settings.CODE_TAG_SECRETS = {1: "s" * 40}
    brand = factories.brand(protected_batches_only=True)

    with pytest.raises(BatchRejected) as error:
        create(brand)

    assert error.value.details == {"field": "signed"}
    assert create(brand, signed=True).is_signed


def test_protected_batch_needs_a_tag_secret(brand, settings):
    settings.CODE_TAG_SECRETS = {}

    with pytest.raises(BatchRejected, match="CODE_TAG_SECRETS"):
        create(brand, signed=True)


def test_states_are_derived_from_fields_of_codes(brand, customer):
    fresh, expired = factories.code(brand), factories.expired_code(brand)

    assert list(AuthCode.objects.filter(codes_with("expired", brands=[brand]))) == [expired]
    assert set(AuthCode.objects.unscanned()) == {fresh, expired}
    assert not AuthCode.objects.scanned().exists()


@pytest.mark.parametrize(("time_zone_name", "expired"), [("Pacific/Kiritimati", True), ("Pacific/Pago_Pago", False)])
def test_expiration_date_ends_at_midnight_in_the_brands_time_zone(db, time_zone_name, expired):
    noon = timezone.now().replace(year=2030, month=6, day=2, hour=10, minute=30)
    brand = factories.brand(time_zone=time_zone_name)
    code = factories.code(brand, expiration_date=noon.replace(day=1).date())

    with time_machine.travel(noon):
        assert AuthCode.objects.filter(codes_with("expired", brands=[brand])).exists() is expired
    assert code.batch.expiration_date.isoformat() == "2030-06-01"


@pytest.mark.django_db(transaction=True)
def test_only_one_of_concurrent_overlapping_batches_is_created():
    brand = factories.brand()

    results = run_concurrently(lambda number: create(brand, range_name=f"Range {number}"), range(12))

    assert [type(result) for result in results].count(BatchRange) == 1


@pytest.mark.django_db(transaction=True)
def test_only_one_of_concurrent_batches_with_the_same_name_is_created():
    brand = factories.brand()

    results = run_concurrently(lambda number: create(brand, starting_number=100 * number), range(12))

    assert sorted({type(result).__name__ for result in results}) == ["BatchRange", "BatchRejected"]
    assert BatchRange.objects.count() == 1


@pytest.fixture
def race_past_check(monkeypatch):
    """Return a function that takes the lock away and makes 12 threads wait until all of them have passed a check."""
    barrier = Barrier(12)

    def replace(name):
        original = getattr(batches, name)

        def check_then_wait(*arguments, **named):
            original(*arguments, **named)
            barrier.wait()

        monkeypatch.setattr(batches, name, check_then_wait)
        monkeypatch.setattr(prefixes, "lock_prefixes", lambda _brand: None)

    return replace


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_a_name_is_taken_between_check_and_insert(race_past_check):
    brand = factories.brand()
    prefixes.reserve(brand=brand, prefix="SP-", at=timezone.now())
    race_past_check("check")

    results = run_concurrently(lambda number: create(brand, starting_number=100 * number), range(12))

    assert IntegrityError in {type(result) for result in results}


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_several_overlapping_batches_are_created(race_past_check):
    brand = factories.brand()
    prefixes.reserve(brand=brand, prefix="SP-", at=timezone.now())
    race_past_check("check_overlap")

    results = run_concurrently(lambda number: create(brand, range_name=f"Range {number}"), range(12))

    assert [type(result) for result in results].count(BatchRange) > 1


def test_generation_is_in_the_history_once_the_last_code_is_generated(brand, owner, settings):
    settings.GENERATION_CHUNK = 4
    batch_settings = BatchSettings(
        range_name="Spring", quantity=10, prefix="SP-", signed=False, product=factories.product(brand)
    )
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now(), by=owner)

    batches.generate(batch_id=batch.pk, at=timezone.now())

    change = batch.changes.get()
    assert (change.kind, change.codes, change.product, change.changed_by) == ("generated", 10, batch.product, owner)
    assert (change.first_code, change.last_code) == (batch.first_code, batch.last_code)


def test_changed_settings_are_in_the_history_with_their_old_values(brand, owner):
    batch = factories.batch(brand)
    changed = {"scan_limit": None, "points_per_scan": 4, "range_name": batch.range_name}
    batches.change_batch(batch=batch, changed=changed, by=owner, at=timezone.now())

    batch.refresh_from_db()
    assert (batch.scan_limit, batch.points_per_scan) == (None, 4)
    change = batch.changes.get(kind="edited")
    assert change.detail == "scan limit: 1 \u2192 empty\npoints per scan: empty \u2192 4"
