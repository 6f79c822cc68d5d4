"""Erased at one brand: customers of others stay theirs, and nothing leads from the pseudonym to them."""

import json

import pytest
from django.utils import timezone

from authcodes.scanning import consistency
from events import messages, worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from tests.loyalty.members.erasure.conftest import EMAIL, FIRST, LAST, PHONE, deliver_all, erase, lives, traces
from tests.support import factories


@pytest.mark.django_db(transaction=True)
def test_customer_elsewhere_stays_there_and_a_pseudonym_stands_here(api, person, brand, deliver):
    other = factories.brand(name="Elsewhere")
    factories.accounts.enrol(user_id=person.pk, brand_id=other.pk, at=timezone.now())
    factories.points(person, other, 70)
    lives(api, person, brand, deliver)

    result = erase(person, brand)
    deliver_all()

    person.refresh_from_db()
    assert result.stays_elsewhere and result.pseudonym_id != person.pk
    assert (person.email, person.is_active, person.registered_brand) == (EMAIL, True, other)
    assert UserPoints.objects.get(brand=other).user == person
    assert UserPoints.objects.get(brand=brand).user_id == result.pseudonym_id
    assert {table for table, _word in traces(EMAIL, FIRST, LAST, PHONE)} == {"brands_user", "brands_customerword"}
    assert not person.search_words.filter(brand=brand).exists()
    assert not person.scans.filter(brand=brand).exists()
    assert list(consistency.differences()) == []


@pytest.mark.parametrize("signed", [False, True], ids=["their code", "a code that lost its tag"])
def test_scanning_another_brands_code_hands_nobody_over_to_that_brand(api, person, brand, signed):
    other = factories.brand(name="Elsewhere")
    customer_api = api.as_customer(person)
    customer_api.verify(factories.code(other, signed=signed).code, latitude=46.9, longitude=7.4)
    person.scans.update(device="Phone 5")

    result = erase(person, brand)

    person.refresh_from_db()
    assert not result.stays_elsewhere and not person.is_active
    assert person.registered_brand == brand and traces(EMAIL, FIRST, LAST) == []
    assert list(person.scans.values("brand", "latitude", "longitude", "device")) == [
        {"brand": other.pk, "latitude": None, "longitude": None, "device": ""}
    ]


def test_who_used_another_brands_app_without_enrolling_stays_there(api, person, brand):
    other = factories.brand(name="Elsewhere", auto_enroll=False)
    api.as_customer(person, of=other).verify(factories.code(other))

    assert erase(person, brand).stays_elsewhere


def test_nothing_leads_from_the_pseudonym_back_to_a_customer_elsewhere(api, person, brand, deliver):
    factories.accounts.enrol(user_id=person.pk, brand_id=factories.brand().pk, at=timezone.now())
    lives(api, person, brand, deliver)

    erase(person, brand)
    deliver_all()

    here = Event.objects.filter(brand=brand).values_list("detail", flat=True)
    assert [detail for detail in here if f'"user_id": {person.pk}' in json.dumps(detail)] == []
    assert [detail for detail in here if f'"of": {person.pk}' in json.dumps(detail)] == []


@pytest.mark.django_db(transaction=True)
def test_what_somebody_does_here_after_their_erasure_is_a_new_customers(api, person, brand, deliver):
    factories.accounts.enrol(user_id=person.pk, brand_id=factories.brand().pk, at=timezone.now())
    lives(api, person, brand, deliver)
    erase(person, brand)
    customer_api = api.as_customer(person)  # a new login: the erasure ended those from before
    customer_api.verify(factories.code(brand))
    deliver()
    customer_api.verify(factories.code(brand))
    new = Event.objects.filter(detail_type="scan-auth").order_by("-id")[:2]
    before = list(new.values("status", "detail", "outcome"))

    worker.drain_slow(lane=messages.lane_of("erase-events"))

    assert [event["status"] for event in before] == ["pending", "done"]
    assert list(new.values("status", "detail", "outcome")) == before
    deliver()
    assert factories.account(person, brand).points == 20
    assert list(consistency.differences()) == []


def test_others_keep_what_is_theirs(api, brand, person, deliver):
    neighbour = factories.customer(brand, email="other@example.com", first_name="Other")
    lives(api, person, brand, deliver)
    factories.points(neighbour, brand, 5)
    erase(person, brand)
    deliver_all()

    neighbour.refresh_from_db()
    assert (neighbour.email, neighbour.first_name, neighbour.is_active) == ("other@example.com", "Other", True)
    assert factories.account(neighbour, brand).points == 5
