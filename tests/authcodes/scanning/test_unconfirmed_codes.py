"""Scans that wait for a confirmed address do not block confirmed customers, and lapse after thirty days."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.models.rollups import DayRollup
from authcodes.models.scans import Scan
from authcodes.rollups import rollups
from authcodes.scanning import consistency
from brands.models.people import User
from brands.models.tenants import Brand
from events.models import Event
from loyalty.members import confirmations
from tests.authcodes.scanning.unconfirmed import confirm, points_of, statuses_of, waits_for_confirmation
from tests.loyalty.notifications.conftest import box, work
from tests.support import factories

__all__ = ["box", "work"]

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


def test_confirmed_customer_claims_thirty_codes_of_an_unconfirmed_one(api, brand, customer, confirmed, deliver_events):
    codes = list(factories.batch(brand, quantity=30).codes.all())
    for code in codes:
        api.as_customer(customer).verify(code)
    deliver_events()

    answers = [statuses_of(api.as_customer(confirmed).verify(code)) for code in codes]
    deliver_events()
    confirm(customer, brand)
    deliver_events()

    assert answers == [("success", "accepted", "pending")] * 30
    assert (points_of(confirmed, brand), points_of(customer, brand)) == (300, 0)
    assert list(consistency.differences()) == []


def test_code_is_reserved_against_guests_and_unconfirmed_customers(api, brand, customer, settings, time_machine):
    code, second_customer = factories.code(brand), factories.customer(brand)
    api.as_customer(customer).verify(code)

    unconfirmed_answer, guest_answer = api.as_customer(second_customer).verify(code), scan(api.guest(), code)
    time_machine.move_to(timezone.now() + timedelta(minutes=settings.GUEST_SCAN_MINUTES, seconds=1))
    late_scan = scan(api.guest(), code)

    assert statuses_of(unconfirmed_answer) == statuses_of(guest_answer) == ("warning", "reserved", "not_eligible")
    assert unconfirmed_answer.json()["message"].startswith(
        "Someone else has just scanned this code. Confirm your e-mail"
    )
    assert guest_answer.json()["message"].startswith("Someone has just scanned this code but has not claimed it yet.")
    assert statuses_of(late_scan) == ("success", "accepted", "guest")


def test_unconfirmed_customer_does_not_take_over_a_guest_scan(api, brand, customer):
    code = factories.code(brand)
    scan(api, code)

    assert statuses_of(api.as_customer(customer).verify(code)) == ("warning", "reserved", "not_eligible")
    assert Scan.objects.earliest("pk").user is None


def test_guest_scan_adopted_by_an_unconfirmed_customer_can_be_taken_over(
    api, brand, customer, confirmed, deliver_events
):
    code = factories.code(brand)
    answer = scan(api, code).json()
    adopt = {"scan_token": answer["scan_token"]}

    adopted = api.as_customer(customer).post(f"scans/{answer['scan_id']}/adopt", adopt)
    takeover = api.as_customer(confirmed).verify(code)
    deliver_events()

    assert (adopted.status_code, waits_for_confirmation(adopted.json())) == (200, True)
    assert statuses_of(takeover)[2] == "pending"
    assert (points_of(confirmed, brand), points_of(customer, brand)) == (10, 0)
    assert list(consistency.differences()) == []


def test_adopted_scan_earns_points_when_the_address_is_confirmed(api, brand, customer, deliver_events):
    answer = scan(api, factories.code(brand)).json()
    api.as_customer(customer).post(f"scans/{answer['scan_id']}/adopt", {"scan_token": answer["scan_token"]})
    deliver_events()
    confirm(customer, brand)
    deliver_events()

    assert points_of(customer, brand) == 10


def test_closed_day_is_rolled_up_again_when_its_points_are_awarded(api, brand, customer, deliver_events, time_machine):
    start = timezone.now()
    api.as_customer(customer).verify(factories.code(brand))
    deliver_events()
    time_machine.move_to(start + timedelta(days=20))
    rollups.catch_up(brand=brand, at=timezone.now())
    confirm(customer, brand)
    deliver_events()

    rollups.catch_up(brand=brand, at=timezone.now())

    assert DayRollup.objects.get(brand=brand, day=start.date()).points == 10


# --- Waiting time ----------------------------------------------------------------------------------------------------


def make_events_due():
    Event.objects.filter(status="pending").update(due_at=timezone.now() - timedelta(days=400))


def test_waiting_event_is_retried_daily_and_ends_after_thirty_days(api, brand, customer, deliver_events):
    answer = api.as_customer(customer).verify(factories.code(brand)).json()
    deliver_events()
    waiting_event = Event.objects.get(detail_type="scan-auth")
    assert (waiting_event.status, waiting_event.on_hold_for) == ("pending", customer.pk)
    assert timedelta(hours=23) < waiting_event.due_at - timezone.now() < timedelta(hours=25)

    make_events_due()
    deliver_events()
    assert Event.objects.get(pk=waiting_event.pk).status == "pending"
    Event.objects.filter(pk=waiting_event.pk).update(created_at=timezone.now() - timedelta(days=31))
    make_events_due()
    deliver_events()

    ended_event = Event.objects.get(pk=waiting_event.pk)
    assert (ended_event.status, ended_event.outcome["error"]) == ("refused", "EMAIL_NOT_CONFIRMED")
    confirm(customer, brand)
    deliver_events()
    assert points_of(customer, brand) == 0
    assert waits_for_confirmation(answer)


def test_customer_earns_by_scanning_again_after_thirty_days(api, brand, customer, deliver_events):
    customer_api, code = api.as_customer(customer), factories.code(brand)
    customer_api.verify(code)
    Event.objects.update(created_at=timezone.now() - timedelta(days=31))
    deliver_events()
    confirm(customer, brand)

    answer = customer_api.verify(code)
    deliver_events()

    assert statuses_of(answer) == ("success", "accepted", "pending")
    assert points_of(customer, brand) == 10


def test_address_confirmed_by_other_means_is_noticed_by_the_daily_retry(api, brand, customer, deliver_events):
    api.as_customer(customer).verify(factories.code(brand))
    deliver_events()
    User.objects.filter(pk=customer.pk).update(email_verified_at=timezone.now())
    make_events_due()
    deliver_events()

    assert points_of(customer, brand) == 10


def test_verifying_the_address_releases_the_points(api, brand, customer, deliver_events):
    api.as_customer(customer).verify(factories.code(brand))
    deliver_events()
    assert points_of(customer, brand) == 0

    confirmations.verify_address(user=customer, at=timezone.now())
    deliver_events()

    assert points_of(customer, brand) == 10


def test_setting_a_password_by_a_mailed_link_releases_the_points(api, brand, customer, deliver_events, box, work):
    """The link proves the address, as it reached the customer by mail."""
    api.as_customer(customer).verify(factories.code(brand))
    deliver_events()
    api.post("auth/password/forgot", {"email": customer.email, "brand_id": brand.pk})
    work()
    assert points_of(customer, brand) == 0
    [mail] = box.mails
    [token] = re.findall(r"/password/new/(\S+)", mail.get_body(("plain",)).get_content())

    answer = api.post("auth/password/reset", {"token": token, "password": "another long pass phrase"})
    deliver_events()

    assert (answer.status_code, points_of(customer, brand)) == (200, 10)
    assert User.objects.get(pk=customer.pk).email_verified_at
