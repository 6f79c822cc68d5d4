"""Scanning and confirming an address at once: points are given once, and a code to one of two people."""

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
from tests.support.concurrency import at_once, while_uncommitted

pytestmark = pytest.mark.django_db(transaction=True)


def points_of(customer, brand):
    return factories.account(customer, brand).points


@pytest.fixture
def racing_brand(transactional_db):
    made = factories.brand(requires_confirmed_email=True)
    factories.level(made)
    return made


def confirmed_while_scanning(brand):
    """The points of a customer who scans and confirms, twice, at the same time as workers deliver."""
    customer, code = factories.customer(brand), factories.code(brand)
    mail = confirmations.begin_verification(user=customer, brand=brand, at=timezone.now())
    again = confirmations.begin_verification(user=customer, brand=brand, at=timezone.now())

    def confirm_with(made):
        return confirmations.verify_address(user=User.objects.get(pk=made.user_id), at=timezone.now())

    deeds = [
        lambda: scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk)),
        lambda: confirm_with(mail),
        lambda: confirm_with(again),
        worker.drain,
        worker.drain,
    ]
    at_once(lambda deed: deed(), deeds)
    worker.drain()
    worker.drain()
    return points_of(customer, brand)


def test_scanning_and_confirming_at_once_earns_once(racing_brand):
    assert [confirmed_while_scanning(racing_brand) for _ in range(10)] == [10] * 10

    assert LoyaltyTransaction.objects.count() == 10
    assert list(consistency.differences()) == []


def read_before(brand, *, still_holds=None):
    """A customer, the delivery of their scan's event, and what an attempt wishes that has read them unconfirmed."""
    customer, code = factories.customer(brand), factories.code(brand)
    scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    [delivery] = leases.claim(limit=1)
    with pytest.raises(messages.OnHold) as raised:
        scan_events.on_scan_auth(delivery)
    wish = raised.value
    return (
        customer,
        delivery,
        messages.OnHold(wish.error, user_id=wish.user_id, still_holds=still_holds or wish.still_holds),
    )


def test_no_confirmation_falls_between_reading_and_waiting(racing_brand):
    customer, delivery, wish = read_before(racing_brand)

    def confirm():
        confirmations.verify_address(user=customer, at=timezone.now())

    assert while_uncommitted(confirm, lambda: holds.hold(delivery, wish)) == "later"
    worker.drain()
    assert points_of(customer, racing_brand) == 10


def test_a_confirmation_that_comes_while_an_event_begins_to_wait_releases_it(racing_brand):
    customer, delivery, wish = read_before(racing_brand)

    def confirm():
        with transaction.atomic():
            confirmations.verify_address(user=customer, at=timezone.now())

    while_uncommitted(lambda: holds.hold(delivery, wish), confirm)
    worker.drain()
    assert points_of(customer, racing_brand) == 10


def test_control_without_the_lock_on_the_person_the_event_waits_for_a_day(racing_brand):
    customer, delivery, wish = read_before(racing_brand, still_holds=lambda: True)

    confirmations.verify_address(user=customer, at=timezone.now())
    holds.hold(delivery, wish)
    worker.drain()
    assert points_of(customer, racing_brand) == 0


def claimed_at_once(brand):
    """How many have the points of a single-use code: its unconfirmed scanner confirms while a buyer scans it."""
    customer = factories.customer(brand)
    buyer = factories.customer(brand, email_verified_at=timezone.now())
    code = factories.code(brand)
    scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    worker.drain()
    confirmations.verify_address(user=customer, at=timezone.now())

    def buy():
        return scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=buyer.pk))

    at_once(lambda deed: deed(), [worker.drain, buy])
    for _ in range(3):
        worker.drain()
    return LoyaltyTransaction.objects.filter(reason_id=code.code).count()


def test_the_code_of_an_unconfirmed_scan_is_claimed_or_taken_over_never_both(racing_brand):
    assert [claimed_at_once(racing_brand) for _ in range(20)] == [1] * 20

    assert list(consistency.differences()) == []


def test_control_without_the_claim_on_the_reservation_both_have_it(racing_brand, monkeypatch):
    monkeypatch.setattr(scan, "renew_reservation", lambda **_: None)

    assert any(claimed_at_once(racing_brand) > 1 for _ in range(60))
