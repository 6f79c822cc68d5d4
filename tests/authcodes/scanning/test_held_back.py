"""A used-up code whose points a limit held back stays its customer's: scanned again later, it earns them."""

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
def limited(brand, customer):
    """The customer has had all the points of today."""
    brand.daily_point_limit = 50
    brand.save()
    factories.points(customer, brand, 50)
    return brand


@pytest.fixture
def as_customer(api, customer):
    """The customer's own calls; their token is new, whatever the day."""
    return lambda: api.as_customer(customer)


@pytest.fixture
def tomorrow(time_machine):
    return lambda: time_machine.move_to(timezone.now() + timedelta(days=1))


def hold_back(limited, as_customer, deliver, count=1):
    """Codes that the customer used up today, for no points."""
    codes = [factories.code(limited) for _ in range(count)]
    for code in codes:
        as_customer().verify(code)
    deliver()
    return codes


def state(caller, answer):
    return caller.get(f"scans/{answer['scan_id']}").json()


def credited(codes):
    lines = LoyaltyTransaction.objects.filter(reason_id__in=[code.code for code in codes])
    return list(lines.values_list("points_earned", flat=True))


def differences():
    with connection.cursor() as cursor:
        for check, statement in consistency.CHECKS.items():
            cursor.execute(statement)
            yield from ((check, *found) for found in cursor.fetchall())


def test_the_next_day_it_earns(limited, as_customer, deliver, tomorrow, customer):
    [code] = hold_back(limited, as_customer, deliver)
    first = Scan.objects.get()
    tomorrow()

    answer = as_customer().verify(code).json()
    waiting = state(as_customer(), answer)
    deliver()

    assert (answer["status"], answer["reason"], answer["points_status"]) == ("success", "accepted", "pending")
    assert (answer["points_awarded"], answer["first_scan"], answer["scan_count"]) == (10, False, 1)
    assert (answer["scan_id"], waiting["points_status"]) == (str(first.pk), "pending")
    end = state(as_customer(), answer)
    assert (end["points_status"], end["points_awarded"]) == ("awarded", 10)
    assert factories.account(customer, limited).points == 60
    assert AuthCode.objects.get().scan_count == 1
    assert list(differences()) == []


def test_once_it_has_earned_it_is_claimed(limited, as_customer, deliver, tomorrow):
    [code] = hold_back(limited, as_customer, deliver)
    tomorrow()
    as_customer().verify(code)
    deliver()

    answer = as_customer().verify(code).json()

    assert (answer["status"], answer["points_status"]) == ("warning", "already_claimed")
    assert deliver() == 0


def test_the_same_day_it_is_limited_again_and_stays_theirs(limited, as_customer, deliver, tomorrow):
    [code] = hold_back(limited, as_customer, deliver)

    answer = as_customer().verify(code).json()
    deliver()
    end = state(as_customer(), answer)
    tomorrow()
    as_customer().verify(code)
    deliver()

    assert (answer["points_status"], end["points_status"]) == ("pending", "limited")
    assert credited([code]) == [10]


def test_scanned_twice_in_a_row_it_earns_once(limited, as_customer, deliver, tomorrow):
    [code] = hold_back(limited, as_customer, deliver)
    tomorrow()

    answers = [as_customer().verify(code).json() for _ in range(2)]
    events = Event.objects.filter(detail_type="scan-auth", status="pending").count()
    deliver()

    assert (answers[0], events) == (answers[1], 1)
    assert credited([code]) == [10]


def test_a_repeated_key_gets_the_same_answer(limited, as_customer, deliver, tomorrow):
    [code] = hold_back(limited, as_customer, deliver)
    tomorrow()
    first = as_customer().having(idempotency_key="k1").verify(code)
    deliver()

    again = as_customer().having(idempotency_key="k1").verify(code)

    assert again.content == first.content
    assert Scan.objects.count() == 2


def test_several_earn_together_where_the_limit_is_gone(limited, as_customer, deliver):
    codes = hold_back(limited, as_customer, deliver, count=3)
    limited.daily_point_limit = None
    limited.save()

    answers = [as_customer().verify(code).json() for code in codes]
    deliver()

    assert [state(as_customer(), answer)["points_status"] for answer in answers] == ["awarded"] * 3
    assert credited(codes) == [10] * 3


def test_a_first_scan_that_could_not_earn_does_not_keep_the_points(limited, as_customer, deliver, tomorrow, customer):
    code = factories.code(limited, scan_limit=2)
    UserPoints.objects.update(status="blocked")
    as_customer().verify(code)
    UserPoints.objects.update(status="active")
    as_customer().verify(code)
    deliver()
    tomorrow()

    answer = as_customer().verify(code).json()
    deliver()

    assert state(as_customer(), answer)["points_status"] == "awarded"
    assert credited([code]) == [10]


def test_refused_meanwhile_it_waits_no_longer_and_may_be_asked_again(limited, as_customer, deliver, tomorrow):
    [code] = hold_back(limited, as_customer, deliver)
    tomorrow()
    answer = as_customer().verify(code).json()
    UserPoints.objects.update(status="blocked")
    deliver()
    refused, blocked = state(as_customer(), answer), as_customer().verify(code).json()
    UserPoints.objects.update(status="active")

    as_customer().verify(code)
    deliver()

    assert refused["points_status"] == "not_eligible"
    assert (blocked["status"], blocked["points_status"]) == ("warning", "not_eligible")
    assert credited([code]) == [10]


def test_validate_tells_that_it_would_earn(limited, as_customer, deliver, tomorrow):
    [code] = hold_back(limited, as_customer, deliver)
    tomorrow()

    body = as_customer().post("auth-codes/validate", {"code": str(code)}).json()

    assert (body["valid"], body["points_awarded"], body["first_scan"]) == (True, 10, False)
    assert Scan.objects.count() == 1


def test_to_everybody_else_it_is_used_up(limited, as_customer, api, deliver):
    [code] = hold_back(limited, as_customer, deliver)
    other = api.as_customer(factories.customer(limited))

    answers = [caller.post("auth-codes/scan", {"code": str(code)}).json() for caller in (other, api)]

    assert [(answer["status"], answer["points_status"]) for answer in answers] == [("warning", "not_eligible")] * 2
    assert deliver() == 0


def test_a_code_that_no_limit_held_back_is_used_up_for_its_customer_too(brand, as_customer, deliver):
    code = factories.code(brand)
    as_customer().verify(code)

    answer = as_customer().verify(code).json()

    assert (answer["status"], answer["points_status"]) == ("warning", "not_eligible")
    assert deliver() > 0
    assert Event.objects.filter(detail_type="scan-auth").count() == 1
