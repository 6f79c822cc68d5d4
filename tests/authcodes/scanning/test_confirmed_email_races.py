"""Concurrent scans and confirmations: points are awarded once, and a code is given to one of two customers."""

import pytest
from django.db import transaction
from django.utils import timezone

from authcodes.scanning import consistency, scan, scan_events
from authcodes.scanning.types import ScanContext
from brands.models.people import User
from events import holds, leases, messages, worker
from loyalty.members import confirmations
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_during_transaction

pytestmark = pytest.mark.django_db(transaction=True)


def points_of(customer, brand):
    return factories.account(customer, brand).points


@pytest.fixture
def racing_brand(transactional_db):
    brand = factories.brand(requires_confirmed_email=True)
    factories.level(brand)
    return brand


def points_after_confirming_while_scanning(brand):
    """The points of a customer who scans and confirms twice while two workers deliver events."""
    customer, code = factories.customer(brand), factories.code(brand)
    first_verification = confirmations.begin_verification(user=customer, brand=brand, at=timezone.now())
    second_verification = confirmations.begin_verification(user=customer, brand=brand, at=timezone.now())

    def confirm_with(verification):
        return confirmations.verify_address(user=User.objects.get(pk=verification.user_id), at=timezone.now())

    actions = [
        lambda: scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk)),
        lambda: confirm_with(first_verification),
        lambda: confirm_with(second_verification),
        worker.drain,
        worker.drain,
    ]
    run_concurrently(lambda action: action(), actions)
    worker.drain()
    worker.drain()
    return points_of(customer, brand)


def test_concurrent_scan_and_confirmations_earn_once(racing_brand):
    assert [points_after_confirming_while_scanning(racing_brand) for _ in range(10)] == [10] * 10

    assert LoyaltyTransaction.objects.count() == 10
    assert list(consistency.differences()) == []


def read_as_unconfirmed(brand, *, still_holds=None):
    """A customer, the delivery of their scan's event, and the hold of an attempt that read them as unconfirmed."""
    customer, code = factories.customer(brand), factories.code(brand)
    scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    [delivery] = leases.claim(limit=1)
    with pytest.raises(messages.OnHold) as raised:
        scan_events.on_scan_auth(delivery)
    on_hold = raised.value
    return (
        customer,
        delivery,
        messages.OnHold(on_hold.error, user_id=on_hold.user_id, still_holds=still_holds or on_hold.still_holds),
    )


def test_confirmation_between_reading_and_holding_leads_to_a_retry(racing_brand):
    customer, delivery, on_hold = read_as_unconfirmed(racing_brand)

    def confirm():
        confirmations.verify_address(user=customer, at=timezone.now())

    assert run_during_transaction(confirm, lambda: holds.hold(delivery, on_hold)) == "later"
    worker.drain()
    assert points_of(customer, racing_brand) == 10


def test_confirmation_while_an_event_is_put_on_hold_releases_it(racing_brand):
    customer, delivery, on_hold = read_as_unconfirmed(racing_brand)

    def confirm():
        with transaction.atomic():
            confirmations.verify_address(user=customer, at=timezone.now())

    run_during_transaction(lambda: holds.hold(delivery, on_hold), confirm)
    worker.drain()
    assert points_of(customer, racing_brand) == 10


def test_control_without_the_lock_on_the_user_the_event_stays_on_hold(racing_brand):
    customer, delivery, on_hold = read_as_unconfirmed(racing_brand, still_holds=lambda: True)

    confirmations.verify_address(user=customer, at=timezone.now())
    holds.hold(delivery, on_hold)
    worker.drain()
    assert points_of(customer, racing_brand) == 0


def count_awards_of_one_code(brand):
    """How often a single-use code earns when its unconfirmed customer confirms and another customer scans it."""
    customer = factories.customer(brand)
    buyer = factories.customer(brand, email_verified_at=timezone.now())
    code = factories.code(brand)
    scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    worker.drain()
    confirmations.verify_address(user=customer, at=timezone.now())

    def buy():
        return scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=buyer.pk))

    run_concurrently(lambda action: action(), [worker.drain, buy])
    for _ in range(3):
        worker.drain()
    return LoyaltyTransaction.objects.filter(reason_id=code.code).count()


def test_code_of_an_unconfirmed_scan_gives_points_to_exactly_one_customer(racing_brand):
    assert [count_awards_of_one_code(racing_brand) for _ in range(20)] == [1] * 20

    assert list(consistency.differences()) == []


def test_control_without_renewing_the_reservation_both_get_the_points(racing_brand, monkeypatch):
    monkeypatch.setattr(scan, "renew_reservation", lambda **_: None)

    assert any(count_awards_of_one_code(racing_brand) > 1 for _ in range(60))
