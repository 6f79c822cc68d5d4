"""A used-up code whose points were limited remains its customer's, who earns them by scanning it again later."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.scanning import consistency
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories


@pytest.fixture
def limited_brand(brand, customer):
    """A brand with a daily point limit that the customer has reached."""
    brand.daily_point_limit = 50
    brand.save()
    factories.points(customer, brand, 50)
    return brand


@pytest.fixture
def as_customer(api, customer):
    """A function that returns the customer's API with a new token, valid after a change of the date."""
    return lambda: api.as_customer(customer)


@pytest.fixture
def move_to_tomorrow(time_machine):
    return lambda: time_machine.move_to(timezone.now() + timedelta(days=1))


def use_up_codes(limited_brand, as_customer, deliver, count=1):
    """Codes that the customer used up today without earning points."""
    codes = [factories.code(limited_brand) for _ in range(count)]
    for code in codes:
        as_customer().verify(code)
    deliver()
    return codes


def scan_state(caller, answer):
    return caller.get(f"scans/{answer['scan_id']}").json()


def credited_points(codes):
    lines = LoyaltyTransaction.objects.filter(reason_id__in=[code.code for code in codes])
    return list(lines.values_list("points_earned", flat=True))


def differences():
    with connection.cursor() as cursor:
        for check, statement in consistency.CHECKS.items():
            cursor.execute(statement)
            yield from ((check, *row) for row in cursor.fetchall())


def test_code_scanned_again_the_next_day_earns_its_points(
    limited_brand, as_customer, deliver_events, move_to_tomorrow, customer
):
    [code] = use_up_codes(limited_brand, as_customer, deliver_events)
    first = Scan.objects.get()
    move_to_tomorrow()

    answer = as_customer().verify(code).json()
    pending_state = scan_state(as_customer(), answer)
    deliver_events()

    assert (answer["status"], answer["reason"], answer["points_status"]) == ("success", "accepted", "pending")
    assert (answer["points_awarded"], answer["first_scan"], answer["scan_count"]) == (10, False, 1)
    assert (answer["scan_id"], pending_state["points_status"]) == (str(first.pk), "pending")
    final_state = scan_state(as_customer(), answer)
    assert (final_state["points_status"], final_state["points_awarded"]) == ("awarded", 10)
    assert factories.account(customer, limited_brand).points == 60
    assert AuthCode.objects.get().scan_count == 1
    assert list(differences()) == []


def test_code_is_claimed_once_it_has_earned_its_points(limited_brand, as_customer, deliver_events, move_to_tomorrow):
    [code] = use_up_codes(limited_brand, as_customer, deliver_events)
    move_to_tomorrow()
    as_customer().verify(code)
    deliver_events()

    answer = as_customer().verify(code).json()

    assert (answer["status"], answer["points_status"]) == ("warning", "already_claimed")
    assert deliver_events() == 0


def test_code_scanned_again_the_same_day_is_limited_and_earns_later(
    limited_brand, as_customer, deliver_events, move_to_tomorrow
):
    [code] = use_up_codes(limited_brand, as_customer, deliver_events)

    answer = as_customer().verify(code).json()
    deliver_events()
    final_state = scan_state(as_customer(), answer)
    move_to_tomorrow()
    as_customer().verify(code)
    deliver_events()

    assert (answer["points_status"], final_state["points_status"]) == ("pending", "limited")
    assert credited_points([code]) == [10]


def test_code_scanned_twice_the_next_day_earns_once(limited_brand, as_customer, deliver_events, move_to_tomorrow):
    [code] = use_up_codes(limited_brand, as_customer, deliver_events)
    move_to_tomorrow()

    answers = [as_customer().verify(code).json() for _ in range(2)]
    events = Event.objects.filter(detail_type="scan-auth", status="pending").count()
    deliver_events()

    assert (answers[0], events) == (answers[1], 1)
    assert credited_points([code]) == [10]


def test_repeated_idempotency_key_gets_the_same_answer(limited_brand, as_customer, deliver_events, move_to_tomorrow):
    [code] = use_up_codes(limited_brand, as_customer, deliver_events)
    move_to_tomorrow()
    first = as_customer().with_headers(idempotency_key="k1").verify(code)
    deliver_events()

    repeated = as_customer().with_headers(idempotency_key="k1").verify(code)

    assert repeated.content == first.content
    assert Scan.objects.count() == 2


def test_several_codes_earn_after_the_limit_is_removed(limited_brand, as_customer, deliver_events):
    codes = use_up_codes(limited_brand, as_customer, deliver_events, count=3)
    limited_brand.daily_point_limit = None
    limited_brand.save()

    answers = [as_customer().verify(code).json() for code in codes]
    deliver_events()

    assert [scan_state(as_customer(), answer)["points_status"] for answer in answers] == ["awarded"] * 3
    assert credited_points(codes) == [10] * 3


def test_earlier_scan_that_could_not_earn_does_not_block_the_points(
    limited_brand, as_customer, deliver_events, move_to_tomorrow, customer
):
    code = factories.code(limited_brand, scan_limit=2)
    UserPoints.objects.update(status="blocked")
    as_customer().verify(code)
    UserPoints.objects.update(status="active")
    as_customer().verify(code)
    deliver_events()
    move_to_tomorrow()

    answer = as_customer().verify(code).json()
    deliver_events()

    assert scan_state(as_customer(), answer)["points_status"] == "awarded"
    assert credited_points([code]) == [10]


def test_code_rejected_while_blocked_earns_when_scanned_again(
    limited_brand, as_customer, deliver_events, move_to_tomorrow
):
    [code] = use_up_codes(limited_brand, as_customer, deliver_events)
    move_to_tomorrow()
    answer = as_customer().verify(code).json()
    UserPoints.objects.update(status="blocked")
    deliver_events()
    after_rejection, blocked_answer = scan_state(as_customer(), answer), as_customer().verify(code).json()
    UserPoints.objects.update(status="active")

    as_customer().verify(code)
    deliver_events()

    assert after_rejection["points_status"] == "not_eligible"
    assert (blocked_answer["status"], blocked_answer["points_status"]) == ("warning", "not_eligible")
    assert credited_points([code]) == [10]


def test_validate_reports_that_the_code_would_earn(limited_brand, as_customer, deliver_events, move_to_tomorrow):
    [code] = use_up_codes(limited_brand, as_customer, deliver_events)
    move_to_tomorrow()

    body = as_customer().post("auth-codes/validate", {"code": str(code)}).json()

    assert (body["valid"], body["points_awarded"], body["first_scan"]) == (True, 10, False)
    assert Scan.objects.count() == 1


def test_code_is_used_up_for_other_customers_and_guests(limited_brand, as_customer, api, deliver_events):
    [code] = use_up_codes(limited_brand, as_customer, deliver_events)
    other_customer_api = api.as_customer(factories.customer(limited_brand))

    answers = [caller.post("auth-codes/scan", {"code": str(code)}).json() for caller in (other_customer_api, api)]

    assert [(answer["status"], answer["points_status"]) for answer in answers] == [("warning", "not_eligible")] * 2
    assert deliver_events() == 0


def test_code_with_unlimited_points_is_used_up_for_its_customer_too(brand, as_customer, deliver_events):
    code = factories.code(brand)
    as_customer().verify(code)

    answer = as_customer().verify(code).json()

    assert (answer["status"], answer["points_status"]) == ("warning", "not_eligible")
    assert deliver_events() > 0
    assert Event.objects.filter(detail_type="scan-auth").count() == 1
