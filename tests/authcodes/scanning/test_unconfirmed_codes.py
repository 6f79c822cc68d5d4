"""Scans that wait for a confirmed address keep no code from anybody else, and lapse after thirty days."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.models.rollups import DayRollup
from authcodes.rollups import rollups
from authcodes.scanning import consistency
from brands.models.people import User
from brands.models.tenants import Brand
from events.models import Event
from loyalty.members import confirmations
from tests.authcodes.scanning.unconfirmed import confirm, points_of, statuses_of, waits
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(brand):
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=True)
    brand.refresh_from_db()
    return brand


@pytest.fixture
def confirmed(brand):
    return factories.customer(brand, email_verified_at=timezone.now())


def scan(caller, code):
    return caller.post("auth-codes/scan", {"code": str(code)})


# --- A code that an unconfirmed customer used up ---------------------------------------------------------------------


def test_buyers_claim_thirty_codes_that_an_unconfirmed_account_has_scanned(api, brand, customer, confirmed, deliver):
    codes = list(factories.batch(brand, quantity=30).codes.all())
    for code in codes:
        api.as_customer(customer).verify(code)
    deliver()

    answers = [statuses_of(api.as_customer(confirmed).verify(code)) for code in codes]
    deliver()
    confirm(customer, brand)
    deliver()

    assert answers == [("success", "accepted", "pending")] * 30
    assert (points_of(confirmed, brand), points_of(customer, brand)) == (300, 0)
    assert list(consistency.differences()) == []


def test_guests_and_other_unconfirmed_customers_wait_until_it_lapses(api, brand, customer, settings, time_machine):
    code, other = factories.code(brand), factories.customer(brand)
    api.as_customer(customer).verify(code)

    unconfirmed, guest = api.as_customer(other).verify(code), scan(api.guest(), code)
    time_machine.move_to(timezone.now() + timedelta(minutes=settings.GUEST_SCAN_MINUTES, seconds=1))
    late = scan(api.guest(), code)

    assert statuses_of(unconfirmed) == statuses_of(guest) == ("warning", "reserved", "not_eligible")
    assert unconfirmed.json()["message"].startswith("Someone else has just scanned this code. Confirm your e-mail")
    assert guest.json()["message"].startswith("Someone has just scanned this code but has not claimed it yet.")
    assert statuses_of(late) == ("success", "accepted", "guest")


def test_an_unconfirmed_customer_does_not_take_a_guests_scan_over(api, brand, customer):
    code = factories.code(brand)
    scan(api, code)

    assert statuses_of(api.as_customer(customer).verify(code)) == ("warning", "reserved", "not_eligible")


def test_a_guests_scan_that_an_unconfirmed_customer_adopts_still_gives_way(api, brand, customer, confirmed, deliver):
    code = factories.code(brand)
    answer = scan(api, code).json()
    adopt = {"scan_token": answer["scan_token"]}

    adopted = api.as_customer(customer).post(f"scans/{answer['scan_id']}/adopt", adopt)
    taken = api.as_customer(confirmed).verify(code)
    deliver()

    assert (adopted.status_code, waits(adopted.json())) == (200, True)
    assert statuses_of(taken)[2] == "pending"
    assert (points_of(confirmed, brand), points_of(customer, brand)) == (10, 0)
    assert list(consistency.differences()) == []


def test_what_is_adopted_earns_when_the_address_is_confirmed(api, brand, customer, deliver):
    answer = scan(api, factories.code(brand)).json()
    api.as_customer(customer).post(f"scans/{answer['scan_id']}/adopt", {"scan_token": answer["scan_token"]})
    deliver()
    confirm(customer, brand)
    deliver()

    assert points_of(customer, brand) == 10


def test_a_closed_day_whose_points_come_later_is_rolled_up_again(api, brand, customer, deliver, time_machine):
    start = timezone.now()
    api.as_customer(customer).verify(factories.code(brand))
    deliver()
    time_machine.move_to(start + timedelta(days=20))
    rollups.catch_up(brand=brand, at=timezone.now())
    confirm(customer, brand)
    deliver()

    rollups.catch_up(brand=brand, at=timezone.now())

    assert DayRollup.objects.get(brand=brand, day=start.date()).points == 10


# --- How long it waits -----------------------------------------------------------------------------------------------


def due_now():
    Event.objects.filter(status="pending").update(due_at=timezone.now() - timedelta(days=400))


def test_it_is_looked_at_each_day_and_is_over_after_thirty(api, brand, customer, deliver):
    answer = api.as_customer(customer).verify(factories.code(brand)).json()
    deliver()
    held = Event.objects.get(detail_type="scan-auth")
    assert (held.status, held.on_hold_for) == ("pending", customer.pk)
    assert timedelta(hours=23) < held.due_at - timezone.now() < timedelta(hours=25)

    due_now()
    deliver()
    assert Event.objects.get(pk=held.pk).status == "pending"
    Event.objects.filter(pk=held.pk).update(created_at=timezone.now() - timedelta(days=31))
    due_now()
    deliver()

    over = Event.objects.get(pk=held.pk)
    assert (over.status, over.outcome["error"]) == ("refused", "EMAIL_NOT_CONFIRMED")
    confirm(customer, brand)
    deliver()
    assert points_of(customer, brand) == 0
    assert waits(answer)


def test_after_thirty_days_the_customer_scans_the_code_again(api, brand, customer, deliver):
    customer_api, code = api.as_customer(customer), factories.code(brand)
    customer_api.verify(code)
    Event.objects.update(created_at=timezone.now() - timedelta(days=31))
    deliver()
    confirm(customer, brand)

    answer = customer_api.verify(code)
    deliver()

    assert statuses_of(answer) == ("success", "accepted", "pending")
    assert points_of(customer, brand) == 10


def test_an_address_confirmed_by_other_means_is_seen_at_the_daily_look(api, brand, customer, deliver):
    api.as_customer(customer).verify(factories.code(brand))
    deliver()
    User.objects.filter(pk=customer.pk).update(email_verified_at=timezone.now())
    due_now()
    deliver()

    assert points_of(customer, brand) == 10


def test_a_password_set_by_mail_confirms_the_address_too(api, brand, customer, deliver):
    api.as_customer(customer).verify(factories.code(brand))
    deliver()

    confirmations.verify_address(user=customer, at=timezone.now())
    deliver()

    assert points_of(customer, brand) == 10
